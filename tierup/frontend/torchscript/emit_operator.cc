// Operators of the full language: + - * < and friends, and their augmented assignments.
#include <fmt/format.h>

#include <array>

#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

struct OperatorNames {
  Op op;
  std::string_view aten;      // Without "aten::".
  std::string_view method;    // Of a class as left operand.
  std::string_view in_place;  // On a tensor in an augmented assignment; empty: out of place.
};
constexpr auto kOperators = std::to_array<OperatorNames>({
    {Op::kAdd, "add", "__add__", "add_"},
    {Op::kSub, "sub", "__sub__", "sub_"},
    {Op::kMul, "mul", "__mul__", "mul_"},
    {Op::kDiv, "div", "__truediv__", "div_"},
    {Op::kFloorDiv, "floordiv", "__floordiv__", ""},
    {Op::kMod, "remainder", "__mod__", "fmod_"},
    {Op::kPow, "pow", "__pow__", ""},
    {Op::kMatmul, "matmul", "__matmul__", ""},
    {Op::kBitAnd, "__and__", "__and__", ""},
    {Op::kBitOr, "__or__", "__or__", ""},
    {Op::kBitXor, "__xor__", "__xor__", ""},
    {Op::kShiftLeft, "__lshift__", "__lshift__", "__ilshift__"},
    {Op::kShiftRight, "__rshift__", "__rshift__", "__irshift__"},
    {Op::kEq, "eq", "__eq__", ""},
    {Op::kNe, "ne", "__ne__", ""},
    {Op::kLt, "lt", "__lt__", ""},
    {Op::kLe, "le", "__le__", ""},
    {Op::kGt, "gt", "__gt__", ""},
    {Op::kGe, "ge", "__ge__", ""},
    {Op::kIs, "__is__", "", ""},
    {Op::kIsNot, "__isnot__", "", ""},
});

const OperatorNames* names_of(Op op) {
  for (const OperatorNames& names : kOperators) {
    if (names.op == op) return &names;
  }
  return nullptr;
}

const IValue* constant_of(const Value* value) {
  if (value->node() == nullptr || !value->node()->is(NodeKind::kConstant)) return nullptr;
  return &value->node()->attr<IValue>(ir::AttrName::kValue);
}

}  // namespace

Value* FunctionEmitter::emit_binary(const Expr& e) {
  switch (e.op) {
    case Op::kAnd:
    case Op::kOr:
    case Op::kIs:
    case Op::kIsNot: {
      const Expr& a = *e.child(0);
      const Expr& b = *e.child(1);
      const bool is_none_test = a.is(ExprKind::kNone) || b.is(ExprKind::kNone);
      if (e.op == Op::kAnd || e.op == Op::kOr || is_none_test) {
        return condition_value(emit_condition(e));
      }
      break;
    }
    default: break;
  }
  Value* a = emit(*e.child(0));
  Value* b = emit(*e.child(1));
  // Complex constants are printed as sums: 1.+2.j.
  if (e.op == Op::kAdd || e.op == Op::kSub) {
    const IValue* x = constant_of(a);
    const IValue* y = constant_of(b);
    if (x != nullptr && y != nullptr && x->is_number() && y->is_complex()) {
      const complex128 left = x->to_complex();
      const complex128 right = y->to_complex();
      return builder_.constant(e.op == Op::kAdd ? left + right : left - right);
    }
  }
  set_range(e.span);
  return binary(e.op, a, b, e.span);
}

Value* FunctionEmitter::binary(Op op, Value* a, Value* b, const Span& span) {
  if (op == Op::kIn || op == Op::kNotIn) {
    const ClassType* type = b->type()->as_class();
    Value* found = nullptr;
    if (type != nullptr && type->find_method("__contains__")) {
      CallArguments arguments;
      arguments.positional.push_back({a});
      found = call_method(b, "__contains__", arguments, span);
    } else if (b->type()->is(TypeKind::kStr)) {
      // "find" gives -1 where there is none; this is how such tests are printed, too.
      Value* position = aten("find", {b, a}, span);
      found = aten("ne", {position, builder_.constant(-1)}, span);
    } else {
      found = aten("__contains__", {b, a}, span);
    }
    return op == Op::kIn ? found : aten("__not__", {to_bool(found, span)}, span);
  }
  const OperatorNames* names = names_of(op);
  if (names == nullptr) fail_here(span, fmt::format("unknown operator '{}'", op_text(op)));
  const ClassType* type = a->type()->as_class();
  if (type != nullptr && !names->method.empty() && type->find_method(names->method)) {
    CallArguments arguments;
    arguments.positional.push_back({b});
    return call_method(a, std::string(names->method), arguments, span);
  }
  if (op == Op::kMod && a->type()->is(TypeKind::kStr)) return aten("percentFormat", {a, b}, span);
  return aten(std::string(names->aten), {a, b}, span);
}

Value* FunctionEmitter::emit_unary(const Expr& e, const TypePtr& hint) {
  if (e.op == Op::kNot) return condition_value(emit_condition(e));
  Value* value = emit(*e.child(), hint);
  set_range(e.span);
  const ClassType* type = value->type()->as_class();
  const std::string method = e.op == Op::kNeg ? "__neg__" : "__invert__";
  if (type != nullptr && type->find_method(method)) return call_method(value, method, {}, e.span);
  if (e.op == Op::kNeg) {
    if (const IValue* constant = constant_of(value)) {
      if (constant->is_float()) return builder_.constant(-constant->to_float());
      if (constant->is_complex()) return builder_.constant(-constant->to_complex());
      if (constant->is_int()) {
        return builder_.constant(
            static_cast<int64_t>(0 - static_cast<uint64_t>(constant->to_int())));
      }
    }
    return aten("neg", {value}, e.span);
  }
  return aten("bitwise_not", {value}, e.span);
}

// target OP= operand: the new value of the target; tensors and lists change in place.
Value* FunctionEmitter::in_place(Op op, Value* target, Value* operand, const Span& span) {
  const OperatorNames* names = names_of(op);
  if (names == nullptr) fail_here(span, fmt::format("unknown operator '{}='", op_text(op)));
  const TypePtr& type = target->type();
  if (type->is(TypeKind::kTensor) && !names->in_place.empty()) {
    return aten(std::string(names->in_place), {target, operand}, span);
  }
  if (type->is(TypeKind::kTensor)) {
    if (op == Op::kBitAnd) return aten("bitwise_and", {target, operand}, span);
    if (op == Op::kBitOr) return aten("bitwise_or", {target, operand}, span);
    if (op == Op::kBitXor) return aten("bitwise_xor", {target, operand}, span);
  }
  if (type->is(TypeKind::kList) && op == Op::kAdd) return aten("add_", {target, operand}, span);
  if (type->is(TypeKind::kList) && op == Op::kMul) return aten("mul_", {target, operand}, span);
  const bool is_number = type->is(TypeKind::kInt) || type->is(TypeKind::kFloat);
  // On numbers "%=" is C's fmod and so a float, unlike "%", as in PyTorch.
  if (is_number && op == Op::kMod) return aten("fmod", {target, operand}, span);
  if (const ClassType* class_type = type->as_class();
      class_type != nullptr && !names->method.empty()) {
    const std::string method = "__i" + std::string(names->method.substr(2));
    if (class_type->find_method(method)) {
      CallArguments arguments;
      arguments.positional.push_back({operand});
      return call_method(target, method, arguments, span);
    }
  }
  return binary(op, target, operand, span);
}

void FunctionEmitter::emit_augmented(const Stmt& s) {
  const Expr& target = *s.targets[0];
  switch (target.kind) {
    case ExprKind::kName: {
      Value* before = emit(target);
      Value* after = in_place(s.op, before, emit(*s.value), s.span);
      assign_name(target.text, Sugared::of(after), s.span);
      return;
    }
    case ExprKind::kAttribute: {
      Value* before = emit(target);
      Value* after = in_place(s.op, before, emit(*s.value), s.span);
      assign_attribute(target, after);
      return;
    }
    case ExprKind::kSubscript: augment_subscript(s); return;
    default: fail_here(target.span, "cannot assign to this");
  }
}

}  // namespace tierup::frontend::torchscript
