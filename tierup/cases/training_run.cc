#include "tierup/cases/training_run.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "tierup/api/model/model.h"
#include "tierup/api/model/parameter_gradients.h"
#include "tierup/api/model/plain_json.h"
#include "tierup/api/public/facade.h"
#include "tierup/base/error.h"
#include "tierup/cases/case_run.h"
#include "tierup/cases/tree_reader.h"
#include "tierup/tensor/comparison.h"
#include "tierup/training/checkpoint.h"
#include "tierup/training/clip.h"
#include "tierup/training/schedule.h"

namespace tierup::api {
namespace {

namespace fs = std::filesystem;
using simdjson::dom::element;
using training::Optimizer;
using training::Schedule;

// Rates are plain numbers of a few operations.
constexpr double kRateTolerance = 1e-12;

std::vector<IValue> items_of(const IValue& value) {
  if (value.is_tuple()) return value.to_tuple().items;
  if (value.is_list()) return value.to_list().items;
  return {value};
}

std::string text_of(const element& action, const char* key) {
  return std::string(std::string_view{action[key]});
}

bool has(const element& action, const char* key) {
  element found;
  return action[key].get(found) == simdjson::SUCCESS;
}

double number_in(const archive::TextMetadata& metadata, const char* key) {
  double value = 0;
  const auto found = metadata.find(key);
  if (found == metadata.end()) return value;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

Ref<Model> load_quietly(const std::string& path, std::optional<uint64_t> seed) {
  ModelOptions options = silent_options();
  options.seed = seed;
  return load_silently(path, std::move(options));
}

class TrainingRun {
 public:
  TrainingRun(const std::string& model_path, const TrainingRunCase& run)
      : folder_(fs::path(run.path).parent_path()),
        file_(archive::Safetensors::open(run.path)),
        tensors_([this](std::string_view name) { return file_.tensor(name); }),
        reader_(tensors_) {
    const auto& metadata = file_.metadata();
    std::optional<uint64_t> seed;
    if (const auto found = metadata.find("seed"); found != metadata.end()) {
      seed = std::stoull(found->second);
    }
    model_ = load_quietly(model_path, seed);
    for (auto& [name, tensor] : model_->state()) state_.emplace(name, tensor);
    options_.tolerances =
        Tolerances::uniform({number_in(metadata, "rtol"), number_in(metadata, "atol")});
    make_optimizers(metadata.at("optimizers"));
    if (run.kind == TrainingRunCase::Kind::kFromCheckpoint)
      load_checkpoint(metadata.at("checkpoint"));
  }

  // The first difference, empty if there is none.
  std::string run() {
    simdjson::dom::parser parser;
    size_t number = 0;
    for (const element action : parser.parse(file_.metadata().at("actions")).get_array()) {
      if (number++ < first_) continue;
      const std::string difference = act(action);
      if (difference.empty()) continue;
      return fmt::format("action {} ({}): {}", number - 1, text_of(action, "do"), difference);
    }
    return {};
  }

  // A joint program's first call: its loss, and the gradients that it gives.
  std::string run_joint() {
    simdjson::dom::parser parser;
    bool is_called = false;
    for (const element action : parser.parse(file_.metadata().at("actions")).get_array()) {
      const std::string what = text_of(action, "do");
      if (what == "check_grads" && is_called) return check_gradients(action);
      if (what != "call" || is_called) continue;
      is_called = true;
      const IValue result = model_->call(items_of(reader_.read(action["inputs"], nullptr)));
      const Tensor loss = take_joint_gradients(*model_, result);
      const std::string difference =
          find_difference(IValue(loss), reader_.read(action["outputs"], nullptr), options_);
      if (!difference.empty()) return "loss: " + difference;
    }
    return "the run checks no gradients";
  }

 private:
  struct Entry {
    std::unique_ptr<Optimizer> optimizer;
    std::unique_ptr<Schedule> schedule;
  };

  void make_optimizers(const std::string& json) {
    simdjson::dom::parser parser;
    for (const auto& [name, description] : parser.parse(json).get_object()) {
      const training::OptimizerKind kind =
          training::optimizer_kind(std::string_view{description["kind"]});
      std::vector<training::ParameterGroup> groups;
      for (const element item : description["groups"].get_array()) {
        training::ParameterGroup group;
        group.settings = training::optimizer_facts(kind).defaults;
        training::apply_settings(kind, plain_value(item).to_dict(), false, group.settings);
        // PyTorch's Adagrad starts from what its constructor is given; a group's own is not used.
        group.settings.initial_accumulator_value = 0;
        for (const element parameter : item["params"].get_array()) {
          const std::string key(std::string_view{parameter});
          require(state_.contains(key), ErrorCode::kNotFound, "the model has no '{}'", key);
          group.parameters.emplace_back(key, state_.at(key));
        }
        groups.push_back(std::move(group));
      }
      Entry entry{std::make_unique<Optimizer>(kind, std::move(groups)), nullptr};
      if (has(description, "schedule")) {
        const element schedule = description["schedule"];
        entry.schedule =
            std::make_unique<Schedule>(std::string(std::string_view{schedule.at(0)}),
                                       plain_value(schedule.at(1)).to_dict(), *entry.optimizer);
      }
      entries_.emplace(std::string(std::string_view(name)), std::move(entry));
    }
  }

  void load_checkpoint(const std::string& json) {
    simdjson::dom::parser parser;
    const element place = parser.parse(json);
    first_ = static_cast<size_t>(uint64_t{place["next"]});
    const training::Checkpoint saved =
        training::load_checkpoint((folder_ / text_of(place, "file")).string());
    model_->load_state(saved.model, true);
    for (const auto& [name, state] : saved.optimizers) {
      entries_.at(name).optimizer->load_state_dict(state);
    }
    for (const auto& [name, state] : saved.schedules) {
      entries_.at(name).schedule->load_state_dict(state);
    }
    model_->generator().set_state(saved.generator);
  }

  std::string act(const element& action) {
    const std::string what = text_of(action, "do");
    if (what == "call") return call(action);
    if (what == "backward") return backward(action);
    if (what == "check_grads") return check_gradients(action);
    if (what == "check_state") return check_state(action);
    if (what == "train" || what == "eval") {
      model_->set_training(what == "train");
      return {};
    }
    Entry& entry = entries_.at(text_of(action, "optimizer"));
    const std::vector<Tensor> parameters = entry.optimizer->parameters();
    if (what == "zero_grad") {
      clear_gradients(parameters);
    } else if (what == "step") {
      entry.optimizer->step(gradients_of(parameters));
    } else if (what == "clip_value") {
      training::clip_value(gradients_of(parameters), double{action["value"]});
    } else if (what == "clip_norm") {
      const double type = has(action, "norm_type") ? double{action["norm_type"]} : 2;
      const double total =
          training::clip_norm(gradients_of(parameters), double{action["max_norm"]}, type);
      const Tensor expected = reader_.read(action["total"], nullptr).to_tensor();
      return find_difference(IValue(Tensor::scalar(Scalar(total), expected.dtype())),
                             IValue(expected), options_);
    } else if (what == "schedule") {
      return schedule(action, entry);
    } else {
      return "unknown";
    }
    return {};
  }

  std::string call(const element& action) {
    const std::string method = text_of(action, "method");
    std::vector<IValue> args = items_of(reader_.read(action["inputs"], nullptr));
    RunOptions run;
    run.gradients = true;
    IValue result = method == "forward" ? model_->call(std::move(args), {}, run)
                                        : model_->run(method, std::move(args), {}, run);
    std::string difference;
    if (has(action, "outputs")) {
      difference = find_difference(result, reader_.read(action["outputs"], nullptr), options_);
    }
    if (has(action, "as")) kept_[text_of(action, "as")] = std::move(result);
    return difference;
  }

  std::string backward(const element& action) {
    IValue value = kept_.at(text_of(action, "of"));
    if (has(action, "item")) value = items_of(value).at(uint64_t{action["item"]});
    ops::BackwardRequest request;
    request.outputs = {value.to_tensor()};
    if (has(action, "gradient") && !action["gradient"].is_null()) {
      request.cotangents = {reader_.read(action["gradient"], nullptr).to_tensor()};
    }
    if (has(action, "retain_graph") && action["retain_graph"].is_bool()) {
      request.retain_graph = bool{action["retain_graph"]};
    }
    model_->backward(request);
    return {};
  }

  std::string check_gradients(const element& action) {
    for (const auto& [key, tree] : action["grads"].get_object()) {
      const std::string name(std::string_view{key});
      const Tensor found = gradient_of(state_.at(name));
      const IValue expected = reader_.read(tree, nullptr);
      if (expected.is_none() != !found.defined()) {
        return fmt::format("{} {} gradient", name, found.defined() ? "should have no" : "has no");
      }
      const std::string difference = find_difference(IValue(found), expected, options_);
      if (!difference.empty()) return fmt::format("gradient of {}: {}", name, difference);
    }
    return {};
  }

  std::string check_state(const element& action) {
    for (const auto& [key, tree] : action["state"].get_object()) {
      const std::string name(std::string_view{key});
      if (!state_.contains(name)) return fmt::format("the model has no '{}'", name);
      const std::string difference =
          find_difference(IValue(state_.at(name)), reader_.read(tree, nullptr), options_);
      if (!difference.empty()) return fmt::format("{}: {}", name, difference);
    }
    return {};
  }

  static std::string schedule(const element& action, Entry& entry) {
    std::optional<double> metric;
    if (has(action, "metric") && !action["metric"].is_null()) metric = double{action["metric"]};
    entry.schedule->step(metric);
    const std::vector<double> rates = entry.schedule->rates();
    size_t i = 0;
    for (const element expected : action["lr"].get_array()) {
      const double wanted = double{expected};
      if (std::abs(rates.at(i) - wanted) > kRateTolerance * std::max(1.0, std::abs(wanted))) {
        return fmt::format("the rate of group {} is {} instead of {}", i, rates[i], wanted);
      }
      ++i;
    }
    return {};
  }

  const fs::path folder_;
  const archive::Safetensors file_;
  CaseTensors tensors_;
  const TreeReader reader_;
  Ref<Model> model_;
  std::map<std::string, Tensor> state_;
  ComparisonOptions options_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, IValue> kept_;
  size_t first_ = 0;
};

bool names_archive(const archive::Safetensors& file, const std::string& name) {
  simdjson::dom::parser parser;
  for (const element item : parser.parse(file.metadata().at("archives")).get_array()) {
    if (std::string_view{item} == name) return true;
  }
  return false;
}

std::vector<TrainingRunCase> find_training_runs(const std::string& model_path) {
  const fs::path path(model_path);
  const std::string file_name = path.filename().string();
  const std::string prefix = file_name.substr(0, file_name.find('.') + 1);
  const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    // NAME.RECIPE.train.safetensors, where NAME.train.safetensors is a case of the zoo.
    const bool is_run = name.starts_with(prefix) && name.ends_with(".train.safetensors") &&
                        std::count(name.begin(), name.end(), '.') == 3;
    if (is_run) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<TrainingRunCase> result;
  for (const std::string& run : paths) {
    using Kind = TrainingRunCase::Kind;
    const archive::Safetensors file = archive::Safetensors::open(run);
    const auto joint = file.metadata().find("joint");
    if (joint != file.metadata().end() && joint->second == file_name) {
      result.push_back({run, Kind::kJoint});
    }
    if (!names_archive(file, file_name)) continue;
    result.push_back({run, Kind::kWhole});
    if (file.metadata().contains("checkpoint")) result.push_back({run, Kind::kFromCheckpoint});
  }
  return result;
}

}  // namespace

std::vector<TrainingRunCase> training_runs_of(const std::string& model_path) {
  return v1::guarded([&] { return find_training_runs(model_path); });
}

CaseOutcome check_training_run(const std::string& model_path, const TrainingRunCase& run) {
  return outcome_of([&] {
    TrainingRun recorded(model_path, run);
    return run.kind == TrainingRunCase::Kind::kJoint ? recorded.run_joint() : recorded.run();
  });
}

}  // namespace tierup::api
