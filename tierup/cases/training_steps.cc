#include "tierup/cases/training_steps.h"

#include "tierup/api/model/parameter_gradients.h"
#include "tierup/api/model/plain_json.h"
#include "tierup/base/error.h"
#include "tierup/cases/case_run.h"
#include "tierup/cases/model_cases.h"
#include "tierup/training/optimizer.h"

namespace tierup::api {
namespace {

struct Recipe {
  const char* name;  // In the file.
  training::OptimizerKind kind;
};
constexpr Recipe kRecipes[] = {{"sgd", training::OptimizerKind::kSgd},
                               {"adam", training::OptimizerKind::kAdam}};

training::Optimizer optimizer_of(const Model& model, const Recipe& recipe,
                                 const std::string& settings) {
  training::ParameterGroup group;
  group.settings = training::optimizer_facts(recipe.kind).defaults;
  training::apply_settings(recipe.kind, plain_json(settings).to_dict(), false, group.settings);
  for (const auto& named : frontend::torchscript::named_tensors(*model.root())) {
    if (named.is_parameter) group.parameters.emplace_back(named.name, named.tensor);
  }
  return {recipe.kind, {std::move(group)}};
}

std::string run_recipe(const std::string& model_path, const std::string& case_path,
                       const Recipe& recipe) {
  const ModelCase model_case = read_model_case(case_path);
  const archive::Safetensors file = archive::Safetensors::open(case_path);
  const Ref<Model> model = load_silently(model_path);
  training::Optimizer optimizer = optimizer_of(*model, recipe, file.metadata().at(recipe.name));
  const std::vector<Tensor> parameters = optimizer.parameters();
  const Tensor losses = file.tensor(fmt::format("{}.losses", recipe.name));
  RunOptions run;
  run.gradients = true;
  for (int64_t step = 0; step < losses.numel(); ++step) {
    clear_gradients(parameters);
    const Tensor loss = model->call(model_case.calls.at(0).args, {}, run).to_tensor();
    const Tensor expected = losses.as_view(loss.sizes(), loss.strides(), step);
    const std::string difference = find_difference(loss, expected, model_case.comparison);
    if (!difference.empty()) return fmt::format("loss of step {}: {}", step, difference);
    model->backward({loss});
    optimizer.step(gradients_of(parameters));
  }
  for (const auto& [name, tensor] : model->state()) {
    const std::string key = fmt::format("{}.{}", recipe.name, name);
    if (!file.contains(key)) continue;
    const std::string difference = find_difference(tensor, file.tensor(key), model_case.comparison);
    if (!difference.empty()) return fmt::format("{}: {}", name, difference);
  }
  return {};
}

}  // namespace

CaseOutcome check_training_steps(const std::string& model_path, const std::string& case_path) {
  return outcome_of([&] {
    for (const Recipe& recipe : kRecipes) {
      const std::string difference = run_recipe(model_path, case_path, recipe);
      if (!difference.empty()) return fmt::format("{}: {}", recipe.name, difference);
    }
    return std::string();
  });
}

}  // namespace tierup::api
