// Conditions: truth values, short circuits, tests that fold, and what they tell about types.
#include <fmt/format.h>

#include <algorithm>

#include "tierup/frontend/torchscript/depth_guard.h"
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;

namespace {

bool is_none_literal(const Expr& e) { return e.is(ExprKind::kNone) || e.is_name("NoneType"); }

bool may_be_none(const TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::kNone:
    case TypeKind::kAny:
    case TypeKind::kOptional: return true;
    case TypeKind::kUnion:
      return std::any_of(type->elements().begin(), type->elements().end(), may_be_none);
    default: return false;
  }
}

// The members of a type that can be several things.
std::vector<TypePtr> members_of(const TypePtr& type) {
  if (type->is(TypeKind::kOptional)) return {type->element(), Type::none()};
  if (type->is(TypeKind::kUnion)) return type->elements();
  if (type->is(TypeKind::kNumber)) return {Type::integer(), Type::floating(), Type::complex()};
  return {type};
}

// `type` without the members for which `drop` holds; null if none stays.
template <typename Predicate>
TypePtr without(const TypePtr& type, Predicate drop) {
  std::vector<TypePtr> kept;
  for (const TypePtr& member : members_of(type)) {
    if (!drop(member)) kept.push_back(member);
  }
  return kept.empty() ? nullptr : Type::union_of(std::move(kept));
}

bool matches_any(const TypePtr& type, const std::vector<TypePtr>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const TypePtr& c) { return is_subtype(type, c); });
}

// A value of `type` may turn out to be one of `candidate`.
bool may_match(const TypePtr& type, const TypePtr& candidate) {
  return is_subtype(candidate, type) || is_subtype(type, candidate);
}

}  // namespace

// True, false, or nullopt if it must be found out in the run.
std::optional<bool> fold_isinstance(const TypePtr& type, const std::vector<TypePtr>& candidates) {
  if (type->is(TypeKind::kAny)) return std::nullopt;
  const std::vector<TypePtr> members = members_of(type);
  bool all = true;
  bool none = true;
  for (const TypePtr& member : members) {
    all = all && matches_any(member, candidates);
    none = none && std::none_of(candidates.begin(), candidates.end(),
                                [&](const TypePtr& c) { return may_match(member, c); });
  }
  if (all) return true;
  if (none) return false;
  return std::nullopt;
}

Value* FunctionEmitter::condition_value(const Condition& condition) {
  if (condition.constant.has_value()) return builder_.constant(*condition.constant);
  return condition.value;
}

Value* FunctionEmitter::to_bool(Value* value, const Span& span) {
  if (builder_.is_poisoned(value)) return builder_.unchecked_cast(value, Type::boolean());
  switch (value->type()->kind()) {
    case TypeKind::kBool: return value;
    case TypeKind::kList:
    case TypeKind::kDict:
    case TypeKind::kStr:
      return aten("gt", {aten("len", {value}, span), builder_.constant(0)}, span);
    case TypeKind::kClass:
      if (value->type()->as_class()->find_method("__bool__")) {
        return call_method(value, "__bool__", {}, span);
      }
      break;
    case TypeKind::kTensor:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
    case TypeKind::kNumber: return aten("Bool", {value}, span);
    default: break;
  }
  fail_here(span,
            fmt::format("Could not cast value of type {} to bool", value->type()->to_string()));
}

Condition FunctionEmitter::emit_condition(const Expr& e) {
  const DepthGuard guard(*this);
  Condition result;
  switch (e.kind) {
    case ExprKind::kBool: result.constant = e.boolean; return result;
    case ExprKind::kUnary:
      if (e.op == Op::kNot) {
        const Condition inner = emit_condition(*e.child());
        result.if_true = inner.if_false;
        result.if_false = inner.if_true;
        if (inner.constant.has_value()) {
          result.constant = !*inner.constant;
        } else {
          result.value = aten("__not__", {inner.value}, e.span);
        }
        return result;
      }
      break;
    case ExprKind::kBinary:
      if (e.op == Op::kAnd || e.op == Op::kOr) return emit_junction(e);
      if ((e.op == Op::kIs || e.op == Op::kIsNot) &&
          (is_none_literal(*e.child(0)) || is_none_literal(*e.child(1)))) {
        return emit_none_test(e);
      }
      break;
    case ExprKind::kCall:
      if (e.child()->is_name("isinstance")) return emit_isinstance_test(e);
      break;
    default: break;
  }
  result.value = to_bool(emit(e), e.span);
  return result;
}

Condition FunctionEmitter::emit_junction(const Expr& e) {
  const bool is_and = e.op == Op::kAnd;
  const Condition first = emit_condition(*e.child(0));
  if (first.constant.has_value()) {
    if (*first.constant != is_and) return first;  // The other side never runs.
    apply(is_and ? first.if_true : first.if_false);
    return emit_condition(*e.child(1));
  }
  Condition second;
  const auto evaluate_second = [&] {
    second = emit_condition(*e.child(1));
    return condition_value(second);
  };
  const auto short_cut = [&] { return builder_.constant(!is_and); };
  Condition result;
  if (is_and) {
    result.value = emit_choice(first, evaluate_second, short_cut, e.span);
  } else {
    result.value = emit_choice(first, short_cut, evaluate_second, e.span);
  }
  Refinements& target = is_and ? result.if_true : result.if_false;
  target = is_and ? first.if_true : first.if_false;
  const Refinements& more = is_and ? second.if_true : second.if_false;
  target.insert(target.end(), more.begin(), more.end());
  // Where the junction fails, either side may have: a name refined by both has either type.
  const Refinements& x = is_and ? first.if_false : first.if_true;
  const Refinements& y = is_and ? second.if_false : second.if_true;
  for (const Refinement& a : x) {
    for (const Refinement& b : y) {
      if (a.name != b.name) continue;
      (is_and ? result.if_false : result.if_true)
          .push_back({a.name, Type::union_of({a.type, b.type})});
    }
  }
  return result;
}

Condition FunctionEmitter::emit_none_test(const Expr& e) {
  const bool positive = e.op == Op::kIs;
  const Expr& operand = is_none_literal(*e.child(0)) ? *e.child(1) : *e.child(0);
  Value* value = emit(operand);
  const TypePtr& type = value->type();
  Condition result;
  if (builder_.is_poisoned(value)) {
    result.value = to_bool(value, e.span);
    return result;
  }
  if (type->is(TypeKind::kNone) || !may_be_none(type)) {
    result.constant = type->is(TypeKind::kNone) == positive;
    return result;
  }
  result.value = aten(positive ? "__is__" : "__isnot__", {value, builder_.none()}, e.span);
  if (!operand.is(ExprKind::kName) || type->is(TypeKind::kAny)) return result;
  const TypePtr present = without(type, [](const TypePtr& t) { return t->is(TypeKind::kNone); });
  (positive ? result.if_true : result.if_false).push_back({operand.text, Type::none()});
  if (present != nullptr) {
    (positive ? result.if_false : result.if_true).push_back({operand.text, present});
  }
  return result;
}

Condition FunctionEmitter::emit_isinstance_test(const Expr& call) {
  Condition result;
  Value* value = emit_isinstance(call);
  if (value->node()->is(NodeKind::kConstant)) {
    result.constant = value->node()->attr<IValue>(ir::AttrName::kValue).to_bool();
    return result;
  }
  result.value = value;
  if (!value->node()->is(NodeKind::kIsInstance) || !call.child(1)->is(ExprKind::kName)) {
    return result;
  }
  const TypePtr& type = value->node()->input()->type();
  const auto& candidates = value->node()->attr<std::vector<TypePtr>>(ir::AttrName::kTypes);
  const std::string_view name = call.child(1)->text;
  if (candidates.size() == 1 || type->is(TypeKind::kAny)) {
    // "list" and "tuple" say nothing about elements, so nothing better is known.
    const TypePtr narrowed = Type::union_of(candidates);
    if (!narrowed->is(TypeKind::kAnyList) && !narrowed->is(TypeKind::kAnyTuple)) {
      result.if_true.push_back({name, narrowed});
    }
  } else if (const TypePtr kept =
                 without(type, [&](const TypePtr& t) { return !matches_any(t, candidates); })) {
    result.if_true.push_back({name, kept});
  }
  if (!type->is(TypeKind::kAny)) {
    if (const TypePtr kept =
            without(type, [&](const TypePtr& t) { return matches_any(t, candidates); })) {
      result.if_false.push_back({name, kept});
    }
  }
  return result;
}

Value* FunctionEmitter::emit_choice(const Condition& condition,
                                    const std::function<Value*()>& if_true,
                                    const std::function<Value*()>& if_false, const Span& span) {
  if (condition.constant.has_value()) return *condition.constant ? if_true() : if_false();
  ir::Node* node = editor().create(NodeKind::kIf, {condition.value});
  Value* va = nullptr;
  Value* vb = nullptr;
  Branch a = emit_branch(node, condition.if_true, [&] {
    va = if_true();
    return Flow::kFalls;
  });
  Branch b = emit_branch(node, condition.if_false, [&] {
    vb = if_false();
    return Flow::kFalls;
  });
  TypePtr type = unify(va->type(), vb->type());
  if (type == nullptr && is_int_constant(va) && vb->type()->is(TypeKind::kFloat)) {
    va = in_branch(a, [&] { return float_constant(builder_, va); });
    type = vb->type();
  } else if (type == nullptr && is_int_constant(vb) && va->type()->is(TypeKind::kFloat)) {
    vb = in_branch(b, [&] { return float_constant(builder_, vb); });
    type = va->type();
  }
  if (type == nullptr) {
    fail_here(span, fmt::format("the two sides have different types: {} and {}",
                                va->type()->to_string(), vb->type()->to_string()));
  }
  return add_join(node, a, va, b, vb, type, "");
}

// isinstance(x, T) or isinstance(x, (A, B)): a constant where the static type decides.
Value* FunctionEmitter::emit_isinstance(const Expr& call) {
  if (call.children.size() != 3) fail_here(call.span, "isinstance() takes a value and a type");
  Value* value = emit(*call.child(1));
  std::vector<TypePtr> types;
  const Expr& wanted = *call.child(2);
  if (wanted.is(ExprKind::kTuple)) {
    for (const Expr* child : wanted.children) {
      types.push_back(unit_.types().resolve(*child, *file_));
    }
  } else {
    types.push_back(unit_.types().resolve(wanted, *file_));
  }
  if (!builder_.is_poisoned(value)) {
    if (const std::optional<bool> known = fold_isinstance(value->type(), types)) {
      return builder_.constant(*known);
    }
  }
  Value* result = builder_.node(NodeKind::kIsInstance, {value}, Type::boolean());
  editor().set_attr(result->node(), ir::AttrName::kTypes, ir::AttrValue(std::move(types)));
  return result;
}

Value* FunctionEmitter::emit_ternary(const Expr& e, const TypePtr& hint) {
  const Condition condition = emit_condition(*e.child(1));
  return emit_choice(
      condition, [&] { return emit(*e.child(0), hint); }, [&] { return emit(*e.child(2), hint); },
      e.span);
}

}  // namespace tierup::frontend::torchscript
