#include "tierup/passes/specialize/differentiable_parts.h"

#include <algorithm>

#include "tierup/analysis/effects.h"
#include "tierup/ops/shapes/shape_context.h"
#include "tierup/ops/table/derivative.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {
namespace {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::PartRefusal;

bool is_tensor_list(const TypePtr& type) {
  return type->is(TypeKind::kList) && type->element()->is(TypeKind::kTensor);
}

bool makes_tensors(const Node* node) {
  return std::ranges::any_of(node->outputs(), [](const Value* output) {
    return is_tensor(output) || is_tensor_list(output->type());
  });
}

// Numbers and the like, and lists of them.
bool is_comparable(const TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kNumber:
    case TypeKind::kNone:
    case TypeKind::kStr:
    case TypeKind::kDevice: return true;
    case TypeKind::kOptional: return is_comparable(type->element());
    case TypeKind::kList:
      return type->element()->is(TypeKind::kInt) || type->element()->is(TypeKind::kFloat) ||
             type->element()->is(TypeKind::kBool);
    default: return false;
  }
}

// Of operators that give no tensor: whether they look at no more of one than its geometry.
bool reads_geometry_alone(const Node* node) {
  const auto inputs = node->inputs();
  const bool reads_tensors = std::ranges::any_of(inputs, [](const Value* input) {
    return is_tensor(input) || input->type()->is(TypeKind::kAny) ||
           input->type()->is(TypeKind::kNumber);
  });
  if (!reads_tensors) return true;
  return ops::reads_geometry_alone(role_of(*node));
}

// Writes nothing but the running statistics that no schema marks.
bool writes_statistics_alone(const Node* node) {
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    if (analysis::writes_input(*node, i)) return true;
  }
  return false;
}

}  // namespace

PartRefusal PartMembers::refusal(const Node* node) {
  const auto known = known_.find(node);
  if (known != known_.end()) return known->second;
  return known_[node] = find_refusal(node);
}

PartRefusal PartMembers::find_refusal(const Node* node) {
  switch (node->kind()) {
    case NodeKind::kOp: return refusal_of_op(node);
    case NodeKind::kIf:
    case NodeKind::kLoop: return refusal_of_blocks(node);
    case NodeKind::kListConstruct:
      return is_only_read(node->output()) ? PartRefusal::kNone : PartRefusal::kKeptList;
    case NodeKind::kListUnpack:
    case NodeKind::kTupleConstruct:
    case NodeKind::kTupleUnpack:
    case NodeKind::kTupleIndex:
    case NodeKind::kUncheckedCast: return PartRefusal::kNone;
    default: return PartRefusal::kNoOperator;
  }
}

PartRefusal PartMembers::refusal_of_op(const Node* node) const {
  const ops::Op& op = ops::op_of(*node->op());
  if (op.derivative() == nullptr) return PartRefusal::kNoDerivative;
  const ops::Derivative& derivative = *op.derivative();
  const uint8_t effects = analysis::effects_of(*node);
  if ((effects & ir::kRandom) != 0) return PartRefusal::kRandom;
  if ((effects & ir::kNondeterministic) != 0) return PartRefusal::kUninitialized;
  if ((effects & ir::kReadsPolicy) != 0) return PartRefusal::kReadsModes;
  if (derivative.writes || derivative.is_out) return PartRefusal::kWrites;
  if ((effects & ir::kSideEffect) != 0 && !writes_statistics_alone(node))
    return PartRefusal::kEffects;
  if ((effects & ir::kSideEffect) == 0 && alias_.writes_anything(node)) return PartRefusal::kWrites;
  if (!makes_tensors(node))
    return reads_geometry_alone(node) ? PartRefusal::kNone : PartRefusal::kReadsNumbers;
  if (op.schema().is_vararg || op.schema().is_varret) return PartRefusal::kAnyArguments;
  if (derivative.kind == ops::DerivativeKind::kMissing) return PartRefusal::kNoDerivative;
  const bool is_composite = derivative.kind == ops::DerivativeKind::kDecomposition;
  if (!is_composite && ops::shape_function(op) == nullptr) return PartRefusal::kValueSizes;
  return PartRefusal::kNone;
}

PartRefusal PartMembers::refusal_of_blocks(const Node* node) {
  for (const Value* output : node->outputs()) {
    if (!is_tensor(output) && !is_comparable(output->type())) return PartRefusal::kContainers;
  }
  for (const ir::Block* block : node->blocks()) {
    for (const Node* inner : block->nodes()) {
      const bool is_plain = inner->is(NodeKind::kConstant) || inner->is(NodeKind::kRaise) ||
                            inner->is(NodeKind::kUninitialized);
      if (!is_plain && refusal(inner) != PartRefusal::kNone) return PartRefusal::kHolds;
    }
  }
  return PartRefusal::kNone;
}

bool PartMembers::computes(const Node* node) {
  if (node->is(NodeKind::kOp)) return makes_tensors(node);
  for (const ir::Block* block : node->blocks()) {
    for (const Node* inner : block->nodes()) {
      if (computes(inner)) return true;
    }
  }
  return false;
}

bool PartMembers::makes_views(const Node* node) {
  if (!node->is(NodeKind::kOp)) return node->is(NodeKind::kUncheckedCast);
  const ops::Derivative& derivative = *ops::op_of(*node->op()).derivative();
  return derivative.makes_view || derivative.makes_views;
}

bool PartMembers::may_enter(const Value* value) {
  const TypePtr& type = value->type();
  if (is_tensor(value) || is_comparable(type)) return true;
  return type->is(TypeKind::kOptional) && type->element()->is(TypeKind::kTensor);
}

}  // namespace tierup::passes
