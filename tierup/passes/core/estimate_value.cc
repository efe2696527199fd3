// Tensors by their hints; numbers by running the operators that made them, on such tensors.
#include "tierup/passes/core/estimate_value.h"
#include "tierup/analysis/effects.h"

#include <algorithm>

#include "tierup/passes/core/run_operator.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

constexpr int kDeepest = 24;
constexpr int64_t kMostElements = int64_t{1} << 28;

std::optional<IValue> estimate(PassContext& context, const Value* value, int depth);

std::optional<IValue> tensor_like(const TensorFacts& facts) {
  const std::optional<IntVector> sizes = static_sizes(facts.sizes);
  if (!facts.dtype || !sizes || numel_of(*sizes) > kMostElements) return std::nullopt;
  const std::optional<IntVector> strides = static_sizes(facts.strides);
  if (!strides || strides->size() != sizes->size())
    return IValue(Tensor::empty(*sizes, *facts.dtype));
  return IValue(Tensor::empty_strided(*sizes, *strides, *facts.dtype));
}

std::optional<std::vector<IValue>> estimate_all(PassContext& context,
                                                std::span<Value* const> values, int depth) {
  std::vector<IValue> result;
  for (const Value* value : values) {
    auto one = estimate(context, value, depth);
    if (!one) return std::nullopt;
    result.push_back(std::move(*one));
  }
  return result;
}

// Numbers from operators that read sizes or compute with numbers.
std::optional<IValue> number_from_operator(PassContext& context, const Value* value, int depth) {
  const Node& node = *value->node();
  const ops::Op& op = ops::op_of(*node.op());
  if (op.kernel() == nullptr || (analysis::effects_of(node) & ~ir::kMayRaise) != 0 ||
      op.schema().is_mutating())
    return std::nullopt;
  auto arguments = estimate_all(context, node.inputs(), depth + 1);
  if (!arguments) return std::nullopt;
  const auto results = run_operator(context, op, *arguments, node.outputs().size());
  return results ? std::optional((*results)[value->index()]) : std::nullopt;
}

// A tensor of one number that stands for it: NumToTensor, and arithmetic with such.
bool is_small_number(PassContext& context, const Value* value) {
  const TensorFacts* hint = context.hints().find(value);
  return hint != nullptr && hint->sizes && hint->sizes->empty() && hint->dtype &&
         *hint->dtype != ScalarType::kFloat;
}

std::optional<IValue> estimate(PassContext& context, const Value* value, int depth) {
  if (const IValue* constant = constant_of(value)) return *constant;
  if (depth > kDeepest) return std::nullopt;
  const bool is_tensor = value->type()->is(TypeKind::kTensor);
  if (is_tensor && !is_small_number(context, value)) {
    TensorFacts facts = value->type()->facts();
    if (const TensorFacts* hint = context.hints().find(value)) {
      if (!static_sizes(facts.sizes) || !facts.dtype) facts = *hint;
      if (!facts.strides && facts.sizes == hint->sizes) facts.strides = hint->strides;
    }
    return tensor_like(facts);
  }
  const Node* node = value->node();
  if (node == nullptr) return std::nullopt;
  if (node->is(NodeKind::kOp)) return number_from_operator(context, value, depth);
  if (!node->is(NodeKind::kListConstruct)) return std::nullopt;
  auto items = estimate_all(context, node->inputs(), depth + 1);
  if (!items) return std::nullopt;
  return IValue(make_ref<ListValue>(value->type()->element(), std::move(*items)));
}

}  // namespace

std::optional<std::vector<IValue>> estimate_values(PassContext& context,
                                                   std::span<Value* const> values) {
  return estimate_all(context, values, 0);
}

std::optional<std::vector<IntVector>> estimate_strides(PassContext& context,
                                                       std::span<Value* const> values) {
  std::vector<IntVector> result;
  for (const Value* value : values) {
    const TensorFacts* hint = context.hints().find(value);
    if (hint == nullptr || hint->dtype != ScalarType::kFloat) return std::nullopt;
    const std::optional<IValue> alike = tensor_like(*hint);
    if (!alike || !alike->to_tensor().is_non_overlapping_and_dense()) return std::nullopt;
    result.push_back(alike->tensor_impl()->strides);
  }
  return result;
}

}  // namespace tierup::passes
