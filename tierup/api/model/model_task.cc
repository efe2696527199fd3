#include "tierup/api/model/model_task.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "tierup/api/model/parameter_gradients.h"
#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/runtime/plan.h"
#include "tierup/runtime/step_observer.h"

namespace tierup::api {
namespace {

bool is_finite(const IValue& value) {
  if (!value.is_tensor() || !is_floating(value.to_tensor().dtype())) return true;
  const Tensor numbers =
      kernels::contiguous(kernels::to_dtype(value.to_tensor(), ScalarType::kDouble));
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    if (!std::isfinite(numbers.data<double>()[i])) return false;
  }
  return true;
}

// Remembers the first operator that made something infinite or NaN of finite numbers. What lies in
// the module does not count: training writes it while it runs.
class FirstNonfinite final : public runtime::StepObserver {
 public:
  explicit FirstNonfinite(archive::NamedTensors state) : state_(std::move(state)) {}
  void before(const runtime::Plan&, const runtime::Step&, std::span<const IValue> inputs) override {
    inputs_finite_ = std::ranges::all_of(
        inputs, [&](const IValue& input) { return is_finite(input) || is_state(input); });
  }
  void after(const runtime::Plan& plan, const runtime::Step& step,
             std::span<const IValue> results) override {
    if (!found_.empty() || !inputs_finite_ || std::ranges::all_of(results, is_finite)) return;
    const ir::Node* origin = plan.origin(static_cast<size_t>(&step - plan.steps().data()));
    found_ = "an operator";
    if (origin == nullptr) return;
    if (origin->op() != nullptr) found_ = origin->op()->schema().qualified_name();
    if (!origin->range().empty()) found_ += " at " + origin->range().highlight();
  }
  const std::string& found() const { return found_; }

 private:
  bool is_state(const IValue& value) const {
    return std::ranges::any_of(state_, [&](const auto& named) {
      return named.second.storage() == value.to_tensor().storage();
    });
  }

  archive::NamedTensors state_;
  bool inputs_finite_ = true;
  std::string found_;
};

// The same of a backward pass.
class FirstNonfiniteGradient final : public ops::BackwardWatch {
 public:
  void after(const std::string& name, const ir::SourceRange& place,
             std::span<const Tensor> cotangents, std::span<const Tensor> gradients) override {
    const auto finite = [](const Tensor& tensor) { return is_finite(tensor); };
    if (!found_.empty() || !std::ranges::all_of(cotangents, finite)) return;
    if (std::ranges::all_of(gradients, finite)) return;
    found_ = name;
    if (!place.empty()) found_ += " at " + place.highlight();
  }
  const std::string& found() const { return found_; }

 private:
  std::string found_;
};

}  // namespace

ModelTask::Forward ModelTask::forward(const training::Batch& batch, bool gradients,
                                      runtime::StepObserver* observer) const {
  const size_t inputs = loss_.op.empty() ? batch.size() : batch.size() - 1;
  std::vector<IValue> args(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(inputs));
  RunOptions run;
  run.gradients = gradients;
  run.observer = observer;
  const IValue result = model_.call(std::move(args), {}, run);
  require(result.is_tensor(), ErrorCode::kInvalidArgument,
          "training needs a model whose forward gives one tensor, not a {}", result.tag_name());
  Forward forward;
  forward.output = result.to_tensor();
  forward.loss =
      loss_.op.empty() ? forward.output : mean_loss(loss_, forward.output, batch.back(), gradients);
  return forward;
}

training::Score ModelTask::score(const Forward& result, const training::Batch& batch) const {
  require(result.loss.numel() == 1, ErrorCode::kInvalidArgument,
          "the loss is {}, not a single number{}", result.loss.describe(),
          loss_.op.empty() ? "; name a loss that compares it with targets" : "");
  training::Score score;
  score.rows = batch[0].size(0);
  const double loss = kernels::to_dtype(result.loss, ScalarType::kDouble).data<double>()[0];
  score.loss_sum = loss * static_cast<double>(score.rows);
  if (loss_.op.empty()) return score;
  const Decisions decisions = count_right(loss_, result.output, batch.back());
  score.right = decisions.right;
  score.decided = decisions.all;
  return score;
}

void ModelTask::check_data(const training::DataSet& data) {
  columns_.clear();
  for (const auto& [name, column] : data.columns()) columns_.push_back(name);
  if (!loss_.has_classes) return;
  const Tensor& target = data.columns().back().second;
  set_training(false);
  const training::Batch row = data.range(0, 1);
  std::vector<IValue> args(row.begin(), row.end() - 1);
  const IValue output = model_.call(std::move(args));
  if (!output.is_tensor() || output.to_tensor().dim() < 2) return;
  // Probabilities of classes have the output's sizes.
  if (is_floating(target.dtype()) && target.dim() == output.to_tensor().dim()) return;
  training::check_labels(fmt::format("{}: column '{}'", data.name(), data.columns().back().first),
                         target, output.to_tensor().size(1));
}

training::Score ModelTask::learn(const training::Batch& batch) {
  for (const auto& named : frontend::torchscript::named_parameters(*model_.root()))
    clear_gradients({named.tensor});
  const Forward result = forward(batch, true);
  training::Score score = this->score(result, batch);
  model_.backward({result.loss});
  return score;
}

std::vector<Tensor> ModelTask::gradients(const std::vector<Tensor>& parameters) {
  return gradients_of(parameters);
}

training::Score ModelTask::evaluate(const training::Batch& batch) {
  return score(forward(batch, false), batch);
}

// The step that failed may have written running statistics: they are asked about last.
std::string ModelTask::explain_nonfinite(const training::Batch& batch) {
  const auto parameters = frontend::torchscript::named_parameters(*model_.root());
  for (const auto& named : parameters) {
    if (!is_finite(named.tensor)) return fmt::format("'{}' is not finite by now", named.name);
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    if (is_finite(batch[i])) continue;
    return fmt::format("column '{}' is not finite", i < columns_.size() ? columns_[i] : "?");
  }
  FirstNonfinite first(model_.state());
  const Forward result = forward(batch, false, &first);
  if (!first.found().empty()) return "first given by " + first.found();
  for (const auto& [name, tensor] : model_.state()) {
    if (!is_finite(tensor)) return fmt::format("'{}' is not finite by now", name);
  }
  if (!is_finite(result.loss)) return fmt::format("first given by the loss '{}'", loss_.name);
  const std::string backward = first_nonfinite_gradient(batch);
  if (!backward.empty())
    return "the forward pass is finite; first given by the backward pass of " + backward;
  for (const auto& named : std::views::reverse(parameters)) {
    const std::vector<Tensor> gradient = gradients_of({named.tensor});
    if (gradient[0].defined() && !is_finite(gradient[0]))
      return fmt::format("the forward pass is finite, the gradient of '{}' is not", named.name);
  }
  return "the forward pass is finite";
}

// By a pass of single operators, which an observed run records.
std::string ModelTask::first_nonfinite_gradient(const training::Batch& batch) {
  for (const auto& named : frontend::torchscript::named_parameters(*model_.root()))
    clear_gradients({named.tensor});
  FirstNonfinite unused({});
  FirstNonfiniteGradient first;
  ops::BackwardRequest request;
  request.outputs = {forward(batch, true, &unused).loss};
  request.watch = &first;
  model_.backward(request);
  return first.found();
}

void ModelTask::set_training(bool training) {
  if (model_.exported() == nullptr) model_.set_training(training);
}

std::vector<std::pair<std::string, Tensor>> trainable_parameters(
    const Model& model, const std::vector<std::string>& patterns) {
  std::vector<std::pair<std::string, Tensor>> result;
  std::string names;
  for (auto& named : frontend::torchscript::named_parameters(*model.root())) {
    if (!named.tensor.requires_grad()) continue;
    names += "\n- " + named.name;
    const bool is_wanted =
        patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
          return fnmatch(pattern.c_str(), named.name.c_str(), 0) == 0;
        });
    if (is_wanted) result.emplace_back(std::move(named.name), std::move(named.tensor));
  }
  require(!names.empty(), ErrorCode::kInvalidArgument,
          "the model has no parameter that requires gradients");
  require(!result.empty(), ErrorCode::kInvalidArgument,
          "no parameter is called like {}; there are:{}", fmt::join(patterns, ", "), names);
  return result;
}

}  // namespace tierup::api
