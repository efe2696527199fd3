// See conversion.h.
//
// One function, conversion_of, decides which single step applies; can_convert asks whether its
// result fits, convert carries it out. Both walk Optional and tuples in the same way.
#include "tierup/frontend/torchscript/conversion.h"

#include <algorithm>
#include <string_view>

namespace tierup::frontend::torchscript {
namespace {

using ir::NodeKind;
using ir::Value;

// A conversion by one operator.
struct Step {
  std::string_view op;
  TypeKind result;
};

// The operator that takes `from` to `to`, or an empty name.
Step implicit_step(TypeKind from, TypeKind to) {
  if (from == TypeKind::kTensor) {
    switch (to) {
      case TypeKind::kInt: return {"aten::IntImplicit", to};
      case TypeKind::kFloat: return {"aten::FloatImplicit", to};
      case TypeKind::kComplex: return {"aten::ComplexImplicit", to};
      case TypeKind::kNumber: return {"aten::ScalarImplicit", to};
      default: return {};
    }
  }
  if (from == TypeKind::kNumber) {
    switch (to) {
      case TypeKind::kInt: return {"aten::Int.Scalar", to};
      case TypeKind::kFloat: return {"aten::Float.Scalar", to};
      case TypeKind::kComplex: return {"aten::Complex.Scalar", to};
      default: return {};
    }
  }
  if (from == TypeKind::kBool) {
    if (to == TypeKind::kInt || to == TypeKind::kNumber) return {"aten::Int.bool", TypeKind::kInt};
    if (to == TypeKind::kFloat) return {"aten::Float.bool", to};
    return {};
  }
  if (from == TypeKind::kStr && to == TypeKind::kDevice) return {"aten::device", to};
  return {};
}

// The formal that a non-Optional actual is matched against: what an Optional holds.
const TypePtr& inner_formal(const TypePtr& actual, const TypePtr& formal) {
  if (formal->is(TypeKind::kOptional) && !actual->is(TypeKind::kOptional) &&
      !actual->is(TypeKind::kNone)) {
    return formal->element();
  }
  return formal;
}

bool is_list_of_tuple(const TypePtr& actual, const TypePtr& formal) {
  if (!actual->is(TypeKind::kTuple) || !formal->is(TypeKind::kList)) return false;
  const auto& elements = actual->elements();
  return std::all_of(elements.begin(), elements.end(),
                     [&](const TypePtr& e) { return is_subtype(e, formal->element()); });
}

bool same_arity(const TypePtr& a, const TypePtr& b) {
  return a->is(TypeKind::kTuple) && b->is(TypeKind::kTuple) &&
         a->elements().size() == b->elements().size();
}

// Constants inside a tuple literal are seen through it, so that (1, 1000000000000) fits (int,
// float).
const Value* tuple_item(const Value* tuple, size_t index) {
  if (tuple == nullptr || tuple->node() == nullptr) return nullptr;
  const ir::Node* node = tuple->node();
  return node->is(NodeKind::kTupleConstruct) && index < node->inputs().size() ? node->input(index)
                                                                              : nullptr;
}

// What `prim::grad` gives stands for a Tensor in programs' text, and is None where there is no
// gradient: operators that need one find that out in the run.
bool is_gradient(const Value* value, const TypePtr& formal) {
  const ir::Node* node = value == nullptr ? nullptr : value->node();
  return node != nullptr && formal->is(TypeKind::kTensor) && node->is(NodeKind::kOp) &&
         node->op()->schema().name == "prim::grad";
}

bool fits(const TypePtr& actual, const Value* value, const TypePtr& formal, Conversions allowed) {
  if (is_subtype(actual, formal) || is_gradient(value, formal)) return true;
  const TypePtr& target = inner_formal(actual, formal);
  if (is_list_of_tuple(actual, target)) return true;
  if (same_arity(actual, target)) {
    for (size_t i = 0; i < actual->elements().size(); ++i) {
      if (!fits(actual->element(i), tuple_item(value, i), target->element(i), allowed))
        return false;
    }
    return true;
  }
  if (allowed >= Conversions::kImplicit &&
      !implicit_step(actual->kind(), target->kind()).op.empty()) {
    return true;
  }
  return allowed == Conversions::kLiterals && target->is(TypeKind::kFloat) && value != nullptr &&
         is_int_constant(value);
}

bool adopts_element_type(const Actual& actual, const TypePtr& formal) {
  return actual.is_empty_literal && formal->kind() == actual.value->type()->kind() &&
         (formal->is(TypeKind::kList) || formal->is(TypeKind::kDict));
}

// Folds the conversions of constants that canonical text is full of: bool literals to numbers.
Value* folded(OpBuilder& builder, const Value* value, TypeKind result) {
  const ir::Node* node = value->node();
  if (node == nullptr || !node->is(NodeKind::kConstant)) return nullptr;
  const IValue& constant = node->attr<IValue>(ir::AttrName::kValue);
  if (!constant.is_bool()) return nullptr;
  if (result == TypeKind::kFloat) return builder.constant(constant.to_bool() ? 1.0 : 0.0);
  return builder.constant(int64_t{constant.to_bool() ? 1 : 0});
}

}  // namespace

bool is_int_constant(const Value* value) {
  return value->node() != nullptr && value->node()->is(NodeKind::kConstant) &&
         value->type()->is(TypeKind::kInt);
}

Value* float_constant(OpBuilder& builder, const Value* value) {
  const IValue& constant = value->node()->attr<IValue>(ir::AttrName::kValue);
  return builder.constant(static_cast<double>(constant.to_int()));
}

bool can_convert(const Actual& actual, const TypePtr& formal, Conversions allowed) {
  const TypePtr& type = actual.value->type();
  if (adopts_element_type(actual, inner_formal(type, formal))) return true;
  return fits(type, actual.value, formal, allowed);
}

Value* convert(OpBuilder& builder, const Actual& actual, const TypePtr& formal,
               Conversions allowed) {
  Value* value = actual.value;
  const TypePtr type = value->type();
  const TypePtr& target = inner_formal(type, formal);
  if (adopts_element_type(actual, target)) {
    builder.editor().set_type(value, target);
    return value;
  }
  if (is_subtype(type, formal)) return value;
  if (is_gradient(value, formal)) return builder.unchecked_cast(value, formal);
  if (is_list_of_tuple(type, target)) {
    return builder.node(NodeKind::kListConstruct, builder.unpack_tuple(value), target);
  }
  if (same_arity(type, target)) {
    std::vector<Value*> items = builder.unpack_tuple(value);
    for (size_t i = 0; i < items.size(); ++i) {
      const Value* original = tuple_item(value, i);
      if (original != nullptr && is_int_constant(original))
        items[i] = builder.constant(original->node()->attr<IValue>(ir::AttrName::kValue));
      items[i] = convert(builder, {items[i]}, target->element(i), allowed);
    }
    return builder.node(NodeKind::kTupleConstruct, items, target);
  }
  if (allowed >= Conversions::kImplicit) {
    const Step step = implicit_step(type->kind(), target->kind());
    if (!step.op.empty()) {
      if (Value* constant = folded(builder, value, step.result)) return constant;
      return builder.op(step.op, {value});
    }
  }
  if (allowed == Conversions::kLiterals && target->is(TypeKind::kFloat) && is_int_constant(value)) {
    return float_constant(builder, value);
  }
  return value;
}

}  // namespace tierup::frontend::torchscript
