#include "tierup/cases/train_case.h"

#include <filesystem>

#include "tierup/autodiff/node.h"
#include "tierup/cases/case_run.h"
#include "tierup/cases/model_cases.h"

namespace tierup::api {
namespace {

constexpr std::string_view kGradient = "grad.";

Tensor gradient_of(const Tensor& parameter) {
  const autodiff::Record* record = autodiff::record_of(*parameter.impl());
  return record == nullptr ? Tensor() : record->grad();
}

// What differs from the recorded gradients; a parameter without one has none.
std::string find_wrong_gradient(const Model& model, const archive::Safetensors& file,
                                const ComparisonOptions& options) {
  for (const auto& [name, tensor] : model.state()) {
    const std::string key = std::string(kGradient) + name;
    const Tensor found = gradient_of(tensor);
    if (!file.contains(key)) {
      if (found.defined()) return fmt::format("{} should have no gradient", name);
      continue;
    }
    if (!found.defined()) return fmt::format("{} has no gradient", name);
    const std::string difference = find_difference(found, file.tensor(key), options);
    if (!difference.empty()) return fmt::format("gradient of {}: {}", name, difference);
  }
  return {};
}

std::string run_case(const std::string& model_path, const std::string& case_path) {
  const ModelCase model_case = read_model_case(case_path);
  const archive::Safetensors file = archive::Safetensors::open(case_path);
  const Ref<Model> model = load_silently(model_path);
  RunOptions run;
  run.gradients = true;
  const Tensor loss = model->call(model_case.calls.at(0).args, {}, run).to_tensor();
  std::string difference = find_difference(loss, file.tensor("loss"), model_case.comparison);
  if (!difference.empty()) return "loss: " + difference;
  model->backward({loss});
  return find_wrong_gradient(*model, file, model_case.comparison);
}

}  // namespace

std::vector<std::string> train_case_paths_of(const std::string& model_path) {
  const std::filesystem::path path =
      std::filesystem::path(model_path).replace_extension(".safetensors");
  if (!std::filesystem::exists(path)) return {};
  return {path.string()};
}

CaseOutcome check_train_case(const std::string& model_path, const std::string& case_path) {
  return outcome_of([&] { return run_case(model_path, case_path); });
}

}  // namespace tierup::api
