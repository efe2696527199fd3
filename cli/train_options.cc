#include "train_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tierup/api/model/model_task.h"
#include "tierup/api/model/plain_json.h"
#include "tierup/base/error.h"

namespace tierup::cli {

void TrainingChoice::add_to(CLI::App& command, const char* columns_option) {
  command.add_option("--data", data, "Columns as tensors [N, ...] (.safetensors)");
  command.add_option(columns_option, inputs,
                     "Columns for forward's arguments (default: by their names)");
  command.add_option("--target", target, "Column of the targets (default: target)");
  command.add_option("--loss", loss,
                     fmt::format("{} (what forward gives)", fmt::join(api::loss_names(), ", ")));
  command.add_option("--optimizer", optimizer,
                     "sgd, adam, adamw, rmsprop, adagrad, adadelta, nadam, radam, adamax");
  command.add_option("--lr", lr, "Learning rate (default: the optimizer's)");
  command.add_option("--settings", settings,
                     "Other settings of the optimizer in JSON: '{\"momentum\": 0.9}'");
  command.add_option("--clip-norm", clip_norm, "Clip gradients to this norm");
  command
      .add_option("--only", only,
                  "Train the parameters whose names match, like 'head.*'; repeatable")
      ->expected(1);
}

std::vector<std::string> TrainingChoice::columns(const api::Model& model,
                                                 const api::Loss& wanted) const {
  std::vector<std::string> columns = inputs.empty() ? api::needed_arguments(model) : inputs;
  if (!wanted.op.empty()) columns.push_back(target);
  return columns;
}

training::Optimizer TrainingChoice::make_optimizer(const api::Model& model) const {
  const training::OptimizerKind kind = training::optimizer_kind(optimizer);
  training::ParameterGroup group;
  group.settings = training::optimizer_facts(kind).defaults;
  if (!settings.empty()) {
    const IValue values = api::plain_json(settings);
    require(values.is_dict(), ErrorCode::kInvalidArgument,
            "--settings is an object in JSON, like '{{\"momentum\": 0.9}}'");
    training::apply_settings(kind, values.to_dict(), false, group.settings);
  }
  if (lr >= 0) group.settings.lr = lr;
  group.parameters = api::trainable_parameters(model, only);
  return {kind, {std::move(group)}};
}

}  // namespace tierup::cli
