#include "tierup/kernels/net/formula.h"

#include <algorithm>
#include <array>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/net/layers.h"

namespace tierup::kernels::net {

using Kind = FormulaOperand::Kind;

Formula join_formulas(const Formula& earlier, std::span<const int> earlier_inputs,
                      const Formula& later, std::vector<int>& later_inputs, int joined) {
  std::vector<int> inputs;
  const auto place_of = [&](int id) {
    const auto found = std::ranges::find(inputs, id);
    const auto place = static_cast<uint32_t>(found - inputs.begin());
    if (found == inputs.end()) inputs.push_back(id);
    return place;
  };
  const auto steps_before = static_cast<uint32_t>(earlier.size());
  Formula result = earlier;
  for (FormulaStep& step : result) {
    for (FormulaOperand& operand : step.operands)
      if (operand.kind == Kind::kInput) operand.index = place_of(earlier_inputs[operand.index]);
  }
  for (FormulaStep step : later) {
    for (FormulaOperand& operand : step.operands) {
      if (operand.kind == Kind::kStep) operand.index += steps_before;
      if (operand.kind != Kind::kInput) continue;
      const int id = later_inputs[operand.index];
      operand = id == joined ? FormulaOperand{Kind::kStep, steps_before - 1, 0}
                             : FormulaOperand{Kind::kInput, place_of(id), 0};
    }
    result.push_back(std::move(step));
  }
  later_inputs = std::move(inputs);
  return result;
}

namespace {

FormulaStep of_input(Body body, std::initializer_list<float> numbers) {
  FormulaStep step{body, {{}}};
  for (const float number : numbers) step.operands.push_back({Kind::kNumber, 0, number});
  return step;
}
// Of the step before.
FormulaStep after(Body body, float number) {
  return {body, {{Kind::kStep, 0, 0}, {Kind::kNumber, 0, number}}};
}

}  // namespace

std::optional<Formula> formula_of(const Activation& activation) {
  const auto [function, alpha, beta] = activation;
  switch (function) {
    case Function::kRelu:
      if (alpha == 0) return Formula{of_input(Body::kRelu, {})};
      return Formula{of_input(Body::kLeakyRelu, {alpha})};
    case Function::kLinear:
      if (alpha == 1) return Formula{of_input(Body::kAdd, {beta})};
      if (beta == 0) return Formula{of_input(Body::kMul, {alpha})};
      return Formula{of_input(Body::kMul, {alpha}), after(Body::kAdd, beta)};
    case Function::kSwish:
      if (alpha != 1) return std::nullopt;
      return Formula{of_input(Body::kSilu, {})};
    case Function::kElu: return Formula{of_input(Body::kElu, {alpha, 1, 1})};
    case Function::kClip: return Formula{of_input(Body::kClamp, {alpha, beta})};
    case Function::kHardswish: return Formula{of_input(Body::kHardswish, {})};
    case Function::kSigmoid: return Formula{of_input(Body::kSigmoid, {})};
    case Function::kTanh: return Formula{of_input(Body::kTanh, {})};
    case Function::kGeluErf: return Formula{of_input(Body::kGeluErf, {})};
    case Function::kGeluTanh: return Formula{of_input(Body::kGeluTanh, {})};
  }
  return std::nullopt;
}

std::vector<int> distinct(std::span<const int> values) {
  std::vector<int> result;
  for (const int value : values)
    if (std::ranges::find(result, value) == result.end()) result.push_back(value);
  return result;
}

std::optional<Formula> formula_of(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::kFunction: return layer.formula;
    case LayerKind::kActivate: return formula_of(layer.activation);
    case LayerKind::kBinary: {
      const Body body = layer.multiplies ? Body::kMul : Body::kAdd;
      const uint32_t second = layer.inputs[0] == layer.inputs[1] ? 0 : 1;
      return Formula{{body, {{Kind::kInput, 0, 0}, {Kind::kInput, second, 0}}}};
    }
    default: return std::nullopt;
  }
}

FormulaRun::FormulaRun(const Formula& formula) {
  TIERUP_CHECK(!formula.empty() && formula.size() <= kMostFormulaSteps);
  for (const FormulaStep& step : formula) {
    const Variant* variant = RunTable::instance().find(step.body, ScalarType::kFloat);
    TIERUP_CHECK(variant != nullptr && variant->arity == step.operands.size());
    Step made{variant->run, step.operands};
    for (FormulaOperand& operand : made.operands) {
      if (operand.kind != Kind::kNumber) continue;
      operand.index = static_cast<uint32_t>(numbers_.size());
      numbers_.emplace_back(static_cast<size_t>(kBlock), operand.number);
    }
    steps_.push_back(std::move(made));
  }
}

void FormulaRun::run(std::span<const float* const> inputs, int64_t count, float* out) const {
  constexpr int64_t kStepsForThread = 8192;  // Numbers by steps: a few microseconds.
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  const auto each = static_cast<int64_t>(steps_.size()) * kBlock;
  parallel_for(0, blocks, std::max<int64_t>(1, kStepsForThread / each),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   run_block(inputs, i * kBlock, std::min(kBlock, count - i * kBlock), out);
               });
}

void FormulaRun::run_block(std::span<const float* const> inputs, int64_t first, int64_t count,
                           float* out) const {
  alignas(64) std::array<std::array<float, static_cast<size_t>(kBlock)>, kMostFormulaSteps - 1>
      results;
  for (size_t s = 0; s < steps_.size(); ++s) {
    std::array<const char*, kMaxInputs> operands{};
    for (size_t k = 0; k < steps_[s].operands.size(); ++k) {
      const FormulaOperand& operand = steps_[s].operands[k];
      const float* from = operand.kind == Kind::kInput  ? inputs[operand.index] + first
                          : operand.kind == Kind::kStep ? results[operand.index].data()
                                                        : numbers_[operand.index].data();
      operands[k] = reinterpret_cast<const char*>(from);
    }
    float* const to = s + 1 == steps_.size() ? out + first : results[s].data();
    steps_[s].run(reinterpret_cast<char*>(to), operands.data(), count);
  }
}

}  // namespace tierup::kernels::net
