// Calls of functions, methods and classes.
#include <fmt/format.h>

#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

// A local variable that could be called; others with the name of a builtin do not hide it.
bool is_callable(const Sugared& meaning) {
  if (!meaning.is(Kind::kValue)) return !meaning.is(Kind::kInvalid);
  const TypePtr& type = meaning.value->type();
  return type->is(TypeKind::kFunction) || type->as_class() != nullptr;
}

// The constructor of a NamedTuple as a schema.
ir::Schema named_tuple_schema(const TypePtr& type) {
  ir::Schema schema;
  schema.name = type->name();
  for (size_t i = 0; i < type->elements().size(); ++i) {
    ir::Argument argument;
    argument.name = type->fields()[i];
    argument.type = type->element(i);
    schema.arguments.push_back(std::move(argument));
  }
  return schema;
}

}  // namespace

CallArguments FunctionEmitter::emit_arguments(const Expr& e, size_t first) {
  CallArguments result;
  for (size_t i = first; i < e.children.size(); ++i) {
    const Expr& argument = *e.child(i);
    if (argument.is(ExprKind::kStarred)) {
      Value* tuple = emit(*argument.child());
      const size_t count = tuple->type()->elements().size();
      if (!tuple->type()->is(TypeKind::kTuple)) fail_here(argument.span, "* expects a tuple");
      for (Value* item : unpack(Sugared::of(tuple), count, false, argument.span)) {
        result.positional.push_back({item});
      }
      continue;
    }
    result.positional.push_back(emit_actual(argument));
  }
  for (const KeywordArgument& keyword : e.keywords) {
    result.keywords.push_back({keyword.name, emit_actual(*keyword.value)});
  }
  return result;
}

Sugared FunctionEmitter::emit_call(const Expr& e, const TypePtr& hint) {
  const Expr& callee = *e.child();
  set_range(e.span);
  if (callee.is(ExprKind::kName)) {
    const Binding* bound = find_name(callee.text);
    if (bound == nullptr || !is_callable(bound->meaning)) {
      if (std::optional<Sugared> form = emit_form(callee.text, e, hint)) return *form;
      const Sugared builtin = builtin_name(callee.text);
      if (builtin.is(Kind::kBuiltin)) {
        const CallArguments arguments = emit_arguments(e);
        set_range(e.span);
        return call_builtin(builtin.text, arguments, e.span);
      }
    }
  }
  Sugared target;
  if (callee.is(ExprKind::kAttribute) && callee.text == "tolist") {
    Value* base = emit(*callee.child());
    if (base->type()->is(TypeKind::kTensor) || builder_.is_poisoned(base)) {
      return Sugared::of(emit_tolist(base, hint, e.span));
    }
    target = value_member(base, std::string(callee.text), callee.span);
  } else if (callee.is(ExprKind::kAttribute) && callee.text == "__new__") {
    const Sugared base = emit_sugared(*callee.child());
    if (!base.is(Kind::kType) || !base.type->is(TypeKind::kClass)) {
      fail_here(e.span, "__new__ expects a class");
    }
    Value* object = builder_.node(NodeKind::kCreateObject, {}, base.type);
    editor().set_attr(object->node(), ir::AttrName::kType, ir::AttrValue(base.type));
    return Sugared::of(object);
  } else {
    target = emit_sugared(callee);
  }
  const CallArguments arguments = emit_arguments(e);
  set_range(e.span);
  return call(target, arguments, e.span);
}

Sugared FunctionEmitter::call(const Sugared& callee, const CallArguments& arguments,
                              const Span& span) {
  switch (callee.kind) {
    case Kind::kFunction: return Sugared::of(call_function(*callee.function, arguments, span));
    case Kind::kMethod: return Sugared::of(call_method(callee.value, callee.text, arguments, span));
    case Kind::kOp: return call_op(callee.text, arguments, span);
    case Kind::kBoundOp: {
      CallArguments with_self = arguments;
      with_self.self = Actual{callee.value};
      return call_op(callee.text, with_self, span);
    }
    case Kind::kType: return Sugared::of(construct(callee.type, arguments, span));
    case Kind::kBuiltin: return call_builtin(callee.text, arguments, span);
    case Kind::kValue: return Sugared::of(call_value(callee.value, arguments, span));
    case Kind::kNamespace:
      fail_here(span,
                fmt::format("undefined value {}: the archive does not define it", callee.text));
    case Kind::kInvalid: fail_here(span, callee.text);
    default: fail_here(span, fmt::format("'{}' cannot be called", callee.text));
  }
}

MatchedCall FunctionEmitter::match_or_fail(const ir::Schema& schema, const CallArguments& arguments,
                                           const Span& span) {
  CallArguments call = arguments;
  // What follows an unsupported operator has no type of its own; here the declaration gives one.
  for (size_t i = 0; i < call.positional.size() && i < schema.arguments.size(); ++i) {
    Value*& value = call.positional[i].value;
    if (builder_.is_poisoned(value)) {
      value = builder_.unchecked_cast(value, schema.arguments[i].type);
    }
  }
  for (NamedActual& keyword : call.keywords) {
    const auto index = schema.find_argument(keyword.name);
    if (index.has_value() && builder_.is_poisoned(keyword.actual.value)) {
      keyword.actual.value =
          builder_.unchecked_cast(keyword.actual.value, schema.arguments[*index].type);
    }
  }
  for (const Conversions allowed : {Conversions::kImplicit, Conversions::kLiterals}) {
    std::string why;
    if (std::optional<MatchedCall> match = match_schema(builder_, schema, call, allowed, &why)) {
      return *std::move(match);
    }
    if (allowed == Conversions::kLiterals) {
      fail_here(span, fmt::format("Arguments for call are not valid.\n{}\nThe call gives: {}\n{}",
                                  schema.to_string(), describe_arguments(call), why));
    }
  }
  return {};
}

Value* FunctionEmitter::call_function(const ScriptFunction& function,
                                      const CallArguments& arguments, const Span& span) {
  const ir::Schema& schema = function.schema();
  const MatchedCall match = match_or_fail(schema, arguments, span);
  Value* result = builder_.node(NodeKind::kCallFunction, match.inputs, schema.returns[0].type);
  editor().set_attr(result->node(), ir::AttrName::kCallee,
                    ir::AttrValue(Ref<Callable>(const_cast<ScriptFunction*>(&function))));
  return result;
}

Value* FunctionEmitter::call_method(Value* object, const std::string& name,
                                    const CallArguments& arguments, const Span& span) {
  const ClassType* type = object->type()->as_class();
  const Ref<Callable> method = type != nullptr ? type->find_method(name) : nullptr;
  if (!method) {
    fail_here(span,
              fmt::format("'{}' object has no method '{}'", object->type()->to_string(), name));
  }
  CallArguments with_self = arguments;
  with_self.positional.insert(with_self.positional.begin(), Actual{object});
  const ir::Schema& schema = ir::as_function(*method).schema();
  const MatchedCall match = match_or_fail(schema, with_self, span);
  Value* result = builder_.node(NodeKind::kCallMethod, match.inputs, schema.returns[0].type);
  editor().set_attr(result->node(), ir::AttrName::kName, ir::AttrValue(name));
  return result;
}

Value* FunctionEmitter::call_value(Value* value, const CallArguments& arguments, const Span& span) {
  const TypePtr& type = value->type();
  if (builder_.is_poisoned(value)) return builder_.trap_after(arguments.values());
  if (type->is(TypeKind::kFunction)) {
    return call_function(static_cast<const ScriptFunction&>(*type->callable()), arguments, span);
  }
  if (const ClassType* class_type = type->as_class()) {
    if (class_type->find_method("__call__")) return call_method(value, "__call__", arguments, span);
    if (class_type->is_module() && class_type->find_method("forward")) {
      return call_method(value, "forward", arguments, span);
    }
  }
  fail_here(span, fmt::format("'{}' object is not callable", type->to_string()));
}

// C(arguments): a NamedTuple, or a new object and its __init__.
Value* FunctionEmitter::construct(const TypePtr& type, const CallArguments& arguments,
                                  const Span& span) {
  if (type->is(TypeKind::kTuple)) {
    const MatchedCall match = match_or_fail(named_tuple_schema(type), arguments, span);
    return builder_.node(NodeKind::kTupleConstruct, match.inputs, type);
  }
  if (!type->is(TypeKind::kClass)) {
    fail_here(span, fmt::format("{} cannot be constructed", type->to_string()));
  }
  Value* object = builder_.node(NodeKind::kCreateObject, {}, type);
  editor().set_attr(object->node(), ir::AttrName::kType, ir::AttrValue(type));
  if (type->as_class()->find_method("__init__")) {
    call_method(object, "__init__", arguments, span);
  }
  return object;
}

}  // namespace tierup::frontend::torchscript
