#include "train_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "failure.h"
#include "number_range.h"
#include "tierup/training.h"

namespace tierup::cli {

void TrainingChoice::add_to(CLI::App& command, const char* columns_option) {
  command.add_option("--data", data, "Columns as tensors [N, ...] (.safetensors)");
  command.add_option(columns_option, inputs,
                     "Columns for forward's arguments (default: by their names)");
  command.add_option("--target", target, "Column of the targets (default: target)");
  command.add_option("--loss", loss,
                     fmt::format("{} (what forward gives)", fmt::join(v1::loss_names(), ", ")));
  command.add_option("--optimizer", optimizer,
                     "sgd, adam, adamw, rmsprop, adagrad, adadelta, nadam, radam, adamax");
  command.add_option("--lr", lr, "Learning rate (default: the optimizer's)")->check(factor_range());
  command.add_option("--settings", settings,
                     "Other settings of the optimizer in JSON: '{\"momentum\": 0.9}'");
  command.add_option("--clip-norm", clip_norm, "Clip gradients to this norm")
      ->check(factor_range());
  command
      .add_option("--only", only,
                  "Train the parameters whose names match, like 'head.*'; repeatable")
      ->expected(1);
}

std::vector<std::string> TrainingChoice::columns(const v1::Module& module) const {
  std::vector<std::string> columns = inputs;
  if (columns.empty()) {
    for (const v1::ValueSpec& argument : module.signature().inputs) {
      if (!argument.default_value) columns.push_back(argument.name);
    }
  }
  if (!model_gives_loss()) columns.push_back(target);
  return columns;
}

v1::Optimizer TrainingChoice::make_optimizer(const v1::Module& module) const {
  v1::Optimizer::Group group;
  if (!settings.empty()) group.settings = read_settings("--settings", settings);
  if (lr >= 0) {
    std::erase_if(group.settings, [](const auto& setting) { return setting.first == "lr"; });
    group.settings.emplace_back("lr", lr);
  }
  group.parameters = parameters(module);
  return {optimizer, std::vector{std::move(group)}};
}

v1::NamedTensors TrainingChoice::parameters(const v1::Module& module) const {
  v1::NamedTensors trainable = module.parameters();
  std::erase_if(trainable, [](const auto& named) { return !v1::requires_grad(named.second); });
  require(!trainable.empty(), v1::ErrorCode::kInvalidArgument,
          "the model has no parameter that requires gradients");
  if (only.empty()) return trainable;
  v1::NamedTensors chosen;
  std::string names;
  for (auto& [name, tensor] : trainable) {
    names += "\n- " + name;
    const bool is_wanted = std::ranges::any_of(only, [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    });
    if (is_wanted) chosen.emplace_back(name, tensor);
  }
  require(!chosen.empty(), v1::ErrorCode::kInvalidArgument,
          "no parameter is called like {}; there are:{}", fmt::join(only, ", "), names);
  return chosen;
}

v1::NamedValues read_settings(const std::string& option, const std::string& json) {
  const v1::Value values = v1::Value::from_json(json);
  require(values.kind() == v1::Value::Kind::kDict, v1::ErrorCode::kInvalidArgument,
          "{}: settings are an object in JSON, like '{{\"momentum\": 0.9}}'", option);
  v1::NamedValues settings;
  for (const auto& [name, value] : values.entries()) settings.emplace_back(name.to_string(), value);
  return settings;
}

}  // namespace tierup::cli
