// The language's own functions and forms: annotate, unchecked_cast, getattr, int, len, print...
#include <fmt/format.h>

#include <array>

#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

struct BuiltinOp {
  std::string_view name;
  std::string_view op;
};
constexpr auto kBuiltinOps = std::to_array<BuiltinOp>({
    {"len", "aten::len"},       {"hex", "aten::hex"},     {"oct", "aten::oct"},
    {"round", "aten::round"},   {"hash", "aten::hash"},   {"id", "prim::id"},
    {"min", "prim::min"},       {"max", "prim::max"},     {"abs", "prim::abs"},
    {"all", "aten::all"},       {"any", "aten::any"},     {"divmod", "aten::divmod"},
    {"sum", "aten::sum"},       {"ord", "aten::ord"},     {"chr", "aten::chr"},
    {"bin", "aten::bin"},       {"pow", "aten::pow"},     {"rangelist", "prim::rangelist"},
    {"sorted", "aten::sorted"}, {"slice", "aten::slice"}, {"_to_tensor", "aten::_to_tensor"},
});

struct CastName {
  std::string_view name;
  std::string_view op;
  TypeKind result;
};
constexpr auto kCasts = std::to_array<CastName>({
    {"int", "aten::Int", TypeKind::kInt},
    {"float", "aten::Float", TypeKind::kFloat},
    {"complex", "aten::Complex", TypeKind::kComplex},
    {"str", "aten::str", TypeKind::kStr},
    {"bool", "aten::Bool", TypeKind::kBool},
});

}  // namespace

// Forms take types or names, not values, so they see the call before its arguments are emitted.
std::optional<Sugared> FunctionEmitter::emit_form(std::string_view name, const Expr& e,
                                                  const TypePtr& hint) {
  const auto expect = [&](size_t count) {
    if (e.children.size() != count + 1 || !e.keywords.empty()) {
      fail_here(e.span, fmt::format("{}() takes {} arguments", name, count));
    }
  };
  if (name == "annotate") {
    expect(2);
    return Sugared::of(emit_annotate(e));
  }
  if (name == "unchecked_cast") {
    expect(2);
    const TypePtr type = unit_.types().resolve(*e.child(1), *file_);
    return Sugared::of(builder_.unchecked_cast(emit(*e.child(2), type), type));
  }
  if (name == "uninitialized") {
    expect(1);
    return Sugared::of(builder_.uninitialized(unit_.types().resolve(*e.child(1), *file_)));
  }
  if (name == "isinstance") return Sugared::of(emit_isinstance(e));
  if (name == "getattr" || name == "hasattr") return Sugared::of(emit_getattr(e));
  if (name == "fork" || name == "awaitable") return Sugared::of(emit_fork(e));
  if ((name == "list" || name == "tuple") && e.children.size() == 2 &&
      e.child(1)->is(ExprKind::kCall)) {
    // list(range(n)), list(zip(a, b)): what they go over has no value of its own.
    const std::optional<Iterable> iterable = iterable_of_call(*e.child(1));
    if (iterable.has_value()) return Sugared::of(list_of(*iterable, e.span));
  }
  if (name == "list" && e.children.size() == 1) {
    const TypePtr type =
        hint != nullptr && hint->is(TypeKind::kList) ? hint : Type::list(Type::tensor());
    return Sugared::of(builder_.node(NodeKind::kListConstruct, {}, type));
  }
  if (name == "dict" && e.children.size() == 1) {
    const TypePtr type = hint != nullptr && hint->is(TypeKind::kDict)
                             ? hint
                             : Type::dict(Type::str(), Type::tensor());
    return Sugared::of(builder_.node(NodeKind::kDictConstruct, {}, type));
  }
  return std::nullopt;
}

Value* FunctionEmitter::emit_annotate(const Expr& e) {
  const TypePtr type = unit_.types().resolve(*e.child(1), *file_);
  Value* value = emit(*e.child(2), type);
  if (value->type()->is(TypeKind::kNone) && is_subtype(Type::none(), type)) {
    return editor().constant(IValue(), type);
  }
  value = typed_as(value, type, e.span, fmt::format("annotate() to type {}", type->to_string()));
  return builder_.unchecked_cast(value, type);
}

// getattr(x, "name"[, default]) and hasattr(x, "name"), decided by the static type.
Value* FunctionEmitter::emit_getattr(const Expr& e) {
  const bool is_query = e.child()->is_name("hasattr");
  if (e.children.size() < 3 || !e.child(2)->is(ExprKind::kString)) {
    fail_here(e.span, "getattr() and hasattr() take a value and the attribute's name as a string");
  }
  const std::string name(e.child(2)->text);
  Value* value = emit(*e.child(1));
  const ClassType* type = value->type()->as_class();
  const bool has =
      type == nullptr || type->find_attribute(name).has_value() || type->find_method(name);
  if (is_query) return builder_.constant(has);
  if (!has && e.children.size() == 4) return emit(*e.child(3));
  return as_value(value_member(value, name, e.span), e.span);
}

// x.tolist() inside annotate(List[...], ...): the annotation says what it gives.
Value* FunctionEmitter::emit_tolist(Value* value, const TypePtr& hint, const Span& span) {
  if (hint == nullptr) {
    fail_here(span, "Expected type hint for result of tolist()");
  }
  Value* result = builder_.node(NodeKind::kToList, {value}, hint);
  editor().set_attr(result->node(), ir::AttrName::kType, ir::AttrValue(hint));
  return result;
}

Value* FunctionEmitter::cast(const std::string& name, const CallArguments& arguments,
                             const Span& span) {
  for (const CastName& entry : kCasts) {
    if (entry.name != name) continue;
    const TypePtr& result = Type::simple(entry.result);
    if (arguments.positional.empty()) {
      switch (entry.result) {
        case TypeKind::kInt: return builder_.constant(0);
        case TypeKind::kFloat: return builder_.constant(0.0);
        case TypeKind::kStr: return builder_.constant(IValue(std::string()));
        case TypeKind::kBool: return builder_.constant(false);
        default: return builder_.constant(complex128(0, 0));
      }
    }
    Value* value = arguments.positional[0].value;
    if (builder_.is_poisoned(value)) return builder_.unchecked_cast(value, result);
    if (arguments.positional.size() == 1 && equal(value->type(), result)) return value;
    if (entry.result == TypeKind::kBool) return to_bool(value, span);
    return as_value(call_op(std::string(entry.op), arguments, span), span);
  }
  return nullptr;
}

// Builtins that depend on more than an operator's overloads.
std::optional<Sugared> FunctionEmitter::call_static(const std::string& name,
                                                    const CallArguments& arguments,
                                                    const Span& span) {
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) return std::nullopt;
  const Value* value = arguments.positional[0].value;
  const TypePtr& type = value->type();
  const ClassType* class_type = type->as_class();
  if (name == "abs" && type->is(TypeKind::kTensor)) return call_op("aten::abs", arguments, span);
  if (class_type != nullptr) {
    const std::string method = "__" + name + "__";
    if (class_type->find_method(method)) {
      return Sugared::of(call_method(arguments.positional[0].value, method, {}, span));
    }
  }
  if (name != "len") return std::nullopt;
  if (type->is(TypeKind::kTuple)) {
    return Sugared::of(builder_.constant(static_cast<int64_t>(type->elements().size())));
  }
  if (class_type == nullptr || !class_type->is_module()) return std::nullopt;
  int64_t count = 0;
  for (const ClassType::Attribute& attribute : class_type->attributes()) {
    const ClassType* part = attribute.type->as_class();
    if (part != nullptr && part->is_module()) ++count;
  }
  return Sugared::of(builder_.constant(count));
}

Sugared FunctionEmitter::call_builtin(const std::string& name, const CallArguments& arguments,
                                      const Span& span) {
  if (Value* value = cast(name, arguments, span)) return Sugared::of(value);
  if (std::optional<Sugared> known = call_static(name, arguments, span)) return *known;
  for (const BuiltinOp& entry : kBuiltinOps) {
    if (entry.name == name) return call_op(std::string(entry.op), arguments, span);
  }
  if (name == "print") {
    Sugared result;
    result.kind = Kind::kResults;
    result.node = editor().create(NodeKind::kPrint, arguments.values());
    return result;
  }
  if (arguments.positional.size() == 1) {
    Value* value = arguments.positional[0].value;
    const TypePtr& type = value->type();
    if (name == "tuple" && type->is(TypeKind::kTuple)) return Sugared::of(value);
    if (name == "list" && type->is(TypeKind::kTuple)) {
      const std::vector<Value*> items =
          unpack(Sugared::of(value), type->elements().size(), false, span);
      if (const TypePtr element = common_type(items)) {
        return Sugared::of(builder_.node(NodeKind::kListConstruct, items, Type::list(element)));
      }
    }
    if (name == "list" && (type->is(TypeKind::kDict) || type->is(TypeKind::kTensor))) {
      return Sugared::of(list_of(iterable_of_value(value, span), span));
    }
    if (name == "list") return call_op("aten::list", arguments, span);
    if (name == "dict") return call_op("aten::dict", arguments, span);
  }
  fail_here(span, fmt::format("{}() cannot be called like this: {}", name,
                              describe_arguments(arguments)));
}

}  // namespace tierup::frontend::torchscript
