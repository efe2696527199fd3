// evaluate_constant of compilation_unit.h: the value of a constant expression, without a graph.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tierup/frontend/torchscript/compilation_unit.h"

namespace tierup::frontend::torchscript {
namespace {

class Evaluator {
 public:
  Evaluator(CompilationUnit& unit, const FileUnit& file) : unit_(unit), file_(file) {}

  IValue evaluate(const Expr& e, const TypePtr& hint);

 private:
  [[noreturn]] void fail_constant(const Expr& e) const {
    fail_at(file_, e.span, "Expected a constant expression");
  }
  IValue name(const Expr& e) const;
  IValue attribute(const Expr& e);
  IValue call(const Expr& e);
  IValue list(const Expr& e, const TypePtr& hint);
  IValue tuple(const Expr& e, const TypePtr& hint);
  IValue dict(const Expr& e, const TypePtr& hint);
  IValue sum(const Expr& e);
  IValue negated(const Expr& e, const TypePtr& hint);

  CompilationUnit& unit_;
  const FileUnit& file_;
};

IValue Evaluator::name(const Expr& e) const {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (e.text == "inf") return kInf;
  if (e.text == "nan") return kNan;
  if (e.text == "infj") return complex128(0, kInf);
  if (e.text == "nanj") return complex128(0, kNan);
  if (e.text == "NoneType") return {};
  fail_constant(e);
}

IValue Evaluator::attribute(const Expr& e) {
  if (e.child()->is_name("CONSTANTS")) return unit_.constant(e.text);
  const std::string base = dotted_name(*e.child());
  if (!base.empty()) {
    const Definition& found = unit_.find(base);
    if (found.type != nullptr && found.type->is(TypeKind::kEnum)) {
      if (Ref<EnumValue> member = found.type->as_enum()->find(e.text)) return member;
    }
    if (const Ref<ScriptFunction> function =
            unit_.find(base + "." + std::string(e.text)).function) {
      return Ref<Callable>(function);
    }
  }
  fail_constant(e);
}

IValue Evaluator::call(const Expr& e) {
  const Expr& callee = *e.child();
  if (callee.is_name("annotate") && e.children.size() == 3) {
    return evaluate(*e.child(2), unit_.types().resolve(*e.child(1), file_));
  }
  if (dotted_name(callee) == "torch.device" && e.children.size() == 2 &&
      e.child(1)->is(ExprKind::kString)) {
    return Device::parse(e.child(1)->text);
  }
  fail_constant(e);
}

IValue Evaluator::list(const Expr& e, const TypePtr& hint) {
  const bool hinted = hint != nullptr && hint->is(TypeKind::kList);
  TypePtr element = hinted ? hint->element() : nullptr;
  std::vector<IValue> items;
  for (const Expr* child : e.children) items.push_back(evaluate(*child, element));
  if (element == nullptr) {
    for (const IValue& item : items) {
      element = element == nullptr ? item.type() : unify(element, item.type());
      if (element == nullptr) fail_at(file_, e.span, "List elements have no common type");
    }
  }
  if (element == nullptr) element = Type::tensor();
  return make_ref<ListValue>(element, std::move(items));
}

IValue Evaluator::tuple(const Expr& e, const TypePtr& hint) {
  const bool hinted =
      hint != nullptr && hint->is(TypeKind::kTuple) && hint->elements().size() == e.children.size();
  std::vector<IValue> items;
  for (size_t i = 0; i < e.children.size(); ++i) {
    items.push_back(evaluate(*e.child(i), hinted ? hint->element(i) : nullptr));
  }
  return make_tuple(std::move(items));
}

IValue Evaluator::dict(const Expr& e, const TypePtr& hint) {
  const bool hinted = hint != nullptr && hint->is(TypeKind::kDict);
  TypePtr key = hinted ? hint->element(0) : nullptr;
  TypePtr value = hinted ? hint->element(1) : nullptr;
  std::vector<std::pair<IValue, IValue>> entries;
  for (size_t i = 0; i + 1 < e.children.size(); i += 2) {
    entries.emplace_back(evaluate(*e.child(i), key), evaluate(*e.child(i + 1), value));
  }
  if (key == nullptr) {
    key = entries.empty() ? Type::str() : entries[0].first.type();
    value = entries.empty() ? Type::tensor() : entries[0].second.type();
  }
  auto result = make_ref<DictValue>(key, value);
  for (auto& [k, v] : entries) result->set(std::move(k), std::move(v));
  return result;
}

IValue Evaluator::sum(const Expr& e) {
  const IValue a = evaluate(*e.child(0), nullptr);
  const IValue b = evaluate(*e.child(1), nullptr);
  if (!a.is_number() || !b.is_number()) fail_constant(e);
  if (a.is_complex() || b.is_complex()) {
    return e.op == Op::kAdd ? a.to_complex() + b.to_complex() : a.to_complex() - b.to_complex();
  }
  if (a.is_float() || b.is_float()) {
    return e.op == Op::kAdd ? a.to_float() + b.to_float() : a.to_float() - b.to_float();
  }
  const auto x = static_cast<uint64_t>(a.to_int());
  const auto y = static_cast<uint64_t>(b.to_int());
  return static_cast<int64_t>(e.op == Op::kAdd ? x + y : x - y);
}

IValue Evaluator::negated(const Expr& e, const TypePtr& hint) {
  const IValue value = evaluate(*e.child(), hint);
  if (value.is_float()) return -value.to_float();
  if (value.is_complex()) return -value.to_complex();
  if (value.is_int()) return static_cast<int64_t>(0 - static_cast<uint64_t>(value.to_int()));
  fail_constant(e);
}

IValue Evaluator::evaluate(const Expr& e, const TypePtr& hint_or_optional) {
  const bool optional = hint_or_optional != nullptr && hint_or_optional->is(TypeKind::kOptional);
  const TypePtr& hint = optional ? hint_or_optional->element() : hint_or_optional;
  const bool wants_float = hint != nullptr && hint->is(TypeKind::kFloat);
  switch (e.kind) {
    case ExprKind::kNone: return {};
    case ExprKind::kBool: return e.boolean;
    // The writer prints integral floats of 1e10 and above without a decimal point.
    case ExprKind::kInt:
      if (wants_float) return static_cast<double>(e.integer);
      return e.integer;
    case ExprKind::kFloat: return e.floating;
    case ExprKind::kComplex: return complex128(0, e.floating);
    case ExprKind::kString:
      if (hint != nullptr && hint->is(TypeKind::kDevice)) return Device::parse(e.text);
      return IValue(e.text);
    case ExprKind::kName: return name(e);
    case ExprKind::kAttribute: return attribute(e);
    case ExprKind::kCall: return call(e);
    case ExprKind::kList: return list(e, hint);
    case ExprKind::kTuple: return tuple(e, hint);
    case ExprKind::kDict: return dict(e, hint);
    case ExprKind::kUnary:
      if (e.op == Op::kNeg) return negated(e, hint);
      fail_constant(e);
    case ExprKind::kBinary:
      if (e.op == Op::kAdd || e.op == Op::kSub) return sum(e);
      fail_constant(e);
    default: fail_constant(e);
  }
}

}  // namespace

IValue evaluate_constant(CompilationUnit& unit, const FileUnit& file, const Expr& expression,
                         const TypePtr& hint) {
  return Evaluator(unit, file).evaluate(expression, hint);
}

}  // namespace tierup::frontend::torchscript
