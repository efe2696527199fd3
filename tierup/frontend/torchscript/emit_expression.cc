// Expressions: literals, names and attributes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tierup/frontend/torchscript/depth_guard.h"
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;
using Kind = Sugared::Kind;

namespace {

constexpr auto kBuiltinNames = std::to_array<std::string_view>(
    {"print",        "tuple",     "float",     "int",        "bool",
     "str",          "getattr",   "hasattr",   "isinstance", "len",
     "hex",          "oct",       "round",     "hash",       "id",
     "min",          "max",       "abs",       "all",        "any",
     "divmod",       "sum",       "list",      "dict",       "ord",
     "chr",          "bin",       "pow",       "complex",    "range",
     "zip",          "enumerate", "rangelist", "sorted",     "slice",
     "_to_tensor",   "fork",      "awaitable", "annotate",   "unchecked_cast",
     "uninitialized"});

// The tuple of an operator's results; one with fields where the schema names them.
TypePtr result_tuple_type(const ir::Node& node) {
  std::vector<TypePtr> types;
  std::vector<std::string> fields;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    types.push_back(node.output(i)->type());
    const std::string& name = node.op()->schema().returns[i].name;
    if (!name.empty()) fields.push_back(name);
  }
  if (fields.size() != types.size()) return Type::tuple(std::move(types));
  return Type::named_tuple("", std::move(fields), std::move(types));
}

TypePtr without_optional(const TypePtr& hint) {
  return hint != nullptr && hint->is(TypeKind::kOptional) ? hint->element() : hint;
}

}  // namespace

Value* FunctionEmitter::emit(const Expr& e, const TypePtr& hint) {
  return as_value(emit_sugared(e, hint), e.span);
}

Actual FunctionEmitter::emit_actual(const Expr& e, const TypePtr& hint) {
  const Sugared meaning = emit_sugared(e, hint);
  return {as_value(meaning, e.span), meaning.is_empty_literal};
}

Value* FunctionEmitter::as_value(const Sugared& meaning, const Span& span) {
  switch (meaning.kind) {
    case Kind::kValue: return meaning.value;
    case Kind::kResults: {
      const auto outputs = meaning.node->outputs();
      if (outputs.empty()) return builder_.none();
      if (outputs.size() == 1) return outputs[0];
      return builder_.node(NodeKind::kTupleConstruct, outputs, result_tuple_type(*meaning.node));
    }
    case Kind::kFunction: {
      const Ref<Callable> callable = meaning.function;
      return editor().constant(IValue(callable), Type::function(callable));
    }
    case Kind::kInvalid: fail_here(span, meaning.text);
    case Kind::kClosure:
      fail_here(span, fmt::format("the function '{}' can only be given to fork", meaning.text));
    default: fail_here(span, fmt::format("'{}' cannot be used as a value", meaning.text));
  }
}

Sugared FunctionEmitter::emit_sugared(const Expr& e, const TypePtr& hint_or_optional) {
  const DepthGuard guard(*this);
  const TypePtr hint = without_optional(hint_or_optional);
  bool is_empty = false;
  const auto literal = [&](Value* value) {
    Sugared result = Sugared::of(value);
    result.is_empty_literal = is_empty;
    return result;
  };
  switch (e.kind) {
    case ExprKind::kName: return emit_name(e);
    case ExprKind::kAttribute: return emit_attribute(e);
    case ExprKind::kCall: return emit_call(e, hint_or_optional);
    case ExprKind::kNone: return Sugared::of(builder_.none());
    case ExprKind::kBool: return Sugared::of(builder_.constant(e.boolean));
    case ExprKind::kInt:
      // A float of 1e10 and above is printed without its point.
      if (hint != nullptr && hint->is(TypeKind::kFloat)) {
        return Sugared::of(builder_.constant(static_cast<double>(e.integer)));
      }
      return Sugared::of(builder_.constant(e.integer));
    case ExprKind::kFloat: return Sugared::of(builder_.constant(e.floating));
    case ExprKind::kComplex: return Sugared::of(builder_.constant(complex128(0, e.floating)));
    case ExprKind::kString: return Sugared::of(builder_.constant(IValue(e.text)));
    case ExprKind::kList: {
      Value* value = emit_list(e, hint, &is_empty);
      return literal(value);
    }
    case ExprKind::kDict: {
      Value* value = emit_dict(e, hint, &is_empty);
      return literal(value);
    }
    case ExprKind::kTuple: return Sugared::of(emit_tuple(e, hint));
    case ExprKind::kListComprehension:
    case ExprKind::kDictComprehension: return Sugared::of(emit_comprehension(e, hint));
    case ExprKind::kTernary: return Sugared::of(emit_ternary(e, hint_or_optional));
    case ExprKind::kUnary: return Sugared::of(emit_unary(e, hint));
    case ExprKind::kBinary: return Sugared::of(emit_binary(e));
    case ExprKind::kSubscript: return Sugared::of(emit_subscript(e, hint));
    case ExprKind::kStarred: fail_here(e.span, "a starred expression is not possible here");
    case ExprKind::kEllipsis:
    case ExprKind::kSlice: fail_here(e.span, "this is only possible inside of [ ]");
  }
  fail_here(e.span, "unknown expression");
}

Sugared FunctionEmitter::builtin_name(std::string_view name) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (name == "torch") return Sugared::of(Kind::kOpNamespace, "aten");
  if (name == "ops") return Sugared::of(Kind::kOpNamespace, "");
  if (name == "CONSTANTS") return Sugared::of(Kind::kConstants, "CONSTANTS");
  if (name == "__torch__") return Sugared::of(Kind::kNamespace, "__torch__");
  if (name == "inf") return Sugared::of(builder_.constant(kInf));
  if (name == "nan") return Sugared::of(builder_.constant(kNan));
  if (name == "infj") return Sugared::of(builder_.constant(complex128(0, kInf)));
  if (name == "nanj") return Sugared::of(builder_.constant(complex128(0, kNan)));
  if (name == "NoneType") return Sugared::of(builder_.none());
  if (std::find(kBuiltinNames.begin(), kBuiltinNames.end(), name) != kBuiltinNames.end()) {
    return Sugared::of(Kind::kBuiltin, std::string(name));
  }
  return Sugared::invalid(fmt::format("undefined value {}", name));
}

Sugared FunctionEmitter::emit_name(const Expr& e) {
  if (const Binding* bound = find_name(e.text)) {
    if (bound->meaning.is(Kind::kInvalid)) fail_here(e.span, bound->meaning.text);
    return bound->meaning;
  }
  Sugared result = builtin_name(e.text);
  if (result.is(Kind::kInvalid)) fail_here(e.span, result.text);
  return result;
}

Sugared FunctionEmitter::emit_attribute(const Expr& e) {
  const Expr& base = *e.child();
  const std::string name(e.text);
  if (base.is(ExprKind::kName)) {
    // A local variable may hide "torch" or "ops"; files are printed so all the same.
    const Binding* bound = find_name(base.text);
    if (bound == nullptr) return member(builtin_name(base.text), name, e.span);
    if (base.text == "torch" || base.text == "ops" || base.text == "CONSTANTS" ||
        base.text == "__torch__") {
      const Sugared& local = bound->meaning;
      const ClassType* type = local.is(Kind::kValue) ? local.value->type()->as_class() : nullptr;
      const bool is_member =
          type != nullptr && (type->find_attribute(name).has_value() || type->find_method(name));
      if (!is_member) return member(builtin_name(base.text), name, e.span);
    }
  }
  return member(emit_sugared(base), name, e.span);
}

Sugared FunctionEmitter::member(const Sugared& base, const std::string& name, const Span& span) {
  switch (base.kind) {
    case Kind::kOpNamespace:
      if (base.text.empty()) return Sugared::of(Kind::kOpNamespace, name);
      if (base.text == "aten" && name == "autograd") return base;
      return Sugared::of(Kind::kOp, base.text + "::" + name);
    case Kind::kConstants: {
      const IValue& value = unit_.constant(name);
      return Sugared::of(editor().constant(value, value.is_none() ? Type::none() : nullptr));
    }
    case Kind::kNamespace: return qualified(base.text + "." + name, span);
    case Kind::kType: return type_member(base.type, name, span);
    case Kind::kValue:
    case Kind::kResults: return value_member(as_value(base, span), name, span);
    case Kind::kInvalid: fail_here(span, base.text);
    default: fail_here(span, fmt::format("'{}' has no attribute '{}'", base.text, name));
  }
}

// "__torch__.a.b" as far as it is known: a definition, or a namespace that may hold one.
Sugared FunctionEmitter::qualified(std::string name, const Span& span) {
  set_range(span);
  const Definition& found = unit_.find(name);
  if (found.type != nullptr) return Sugared::of(found.type);
  if (found.function) return Sugared::of(found.function);
  return Sugared::of(Kind::kNamespace, std::move(name));
}

Sugared FunctionEmitter::type_member(const TypePtr& type, const std::string& name,
                                     const Span& span) {
  if (const EnumType* enum_type = type->as_enum()) {
    if (Ref<EnumValue> member = enum_type->find(name)) {
      return Sugared::of(editor().constant(IValue(std::move(member)), type));
    }
  }
  if (const ClassType* class_type = type->as_class()) {
    if (name == "__new__") return Sugared::bound(Kind::kBuiltin, nullptr, "__new__");
    // A hook or method by the class: a function that takes the object first.
    if (const Ref<Callable> method = class_type->find_method(name)) {
      return Sugared::of(Ref<ScriptFunction>(static_cast<ScriptFunction*>(method.get())));
    }
  }
  // A class's name may be the folder of further definitions.
  return qualified(type->name() + "." + name, span);
}

std::optional<Sugared> FunctionEmitter::tensor_property(Value* value, const std::string& name) {
  constexpr auto kProperties = std::to_array<std::string_view>(
      {"dtype",     "device",        "data",      "grad",    "layout",        "name",
       "itemsize",  "nbytes",        "is_cpu",    "is_cuda", "requires_grad", "is_xpu",
       "is_sparse", "is_sparse_csr", "is_mkldnn", "is_mps",  "is_quantized",  "is_vulkan",
       "is_ipu",    "is_meta",       "is_nested", "is_mtia", "is_maia"});
  struct Alias {
    std::string_view name;
    std::string_view op;
  };
  constexpr auto kAliases = std::to_array<Alias>({{"shape", "aten::size"},
                                                  {"ndim", "aten::dim"},
                                                  {"T", "aten::numpy_T"},
                                                  {"H", "aten::matrix_H"},
                                                  {"mT", "aten::mT"},
                                                  {"mH", "aten::mH"},
                                                  {"real", "aten::real"},
                                                  {"imag", "aten::imag"},
                                                  {"is_leaf", "aten::is_leaf"}});
  CallArguments arguments;
  arguments.positional.push_back({value});
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return call_op(std::string(alias.op), arguments, {});
  }
  if (std::find(kProperties.begin(), kProperties.end(), name) == kProperties.end()) return {};
  return call_op("prim::" + name, arguments, {});
}

Sugared FunctionEmitter::value_member(Value* value, const std::string& name, const Span& span) {
  const TypePtr type = value->type();
  if (builder_.is_poisoned(value)) return Sugared::bound(Kind::kBoundOp, value, name);
  switch (type->kind()) {
    case TypeKind::kTensor:
      if (std::optional<Sugared> property = tensor_property(value, name)) return *property;
      break;
    case TypeKind::kTuple: {
      const auto& fields = type->fields();
      const auto found = std::find(fields.begin(), fields.end(), name);
      if (found == fields.end()) break;
      const auto index = static_cast<size_t>(found - fields.begin());
      Value* item = builder_.node(NodeKind::kTupleIndex, {value}, type->element(index));
      editor().set_attr(item->node(), ir::AttrName::kIndex,
                        ir::AttrValue(static_cast<int64_t>(index)));
      return Sugared::of(item);
    }
    case TypeKind::kClass:
    case TypeKind::kInterface: {
      const ClassType& class_type = *type->as_class();
      if (class_type.find_method(name)) return Sugared::bound(Kind::kMethod, value, name);
      if (const auto index = class_type.find_attribute(name)) {
        const TypePtr& attribute = class_type.attributes()[*index].type;
        Value* result = builder_.node(NodeKind::kGetAttr, {value}, attribute);
        editor().set_attr(result->node(), ir::AttrName::kName, ir::AttrValue(name));
        return Sugared::of(result);
      }
      if (class_type.find_method("__" + name + "_getter")) {
        return Sugared::of(call_method(value, "__" + name + "_getter", {}, span));
      }
      fail_here(span,
                fmt::format("'{}' object has no attribute or method '{}'", type->name(), name));
    }
    case TypeKind::kEnum:
    case TypeKind::kAnyEnum: {
      const EnumType* enum_type = type->as_enum();
      if (name == "name")
        return Sugared::of(builder_.node(NodeKind::kEnumName, {value}, Type::str()));
      if (name == "value") {
        return Sugared::of(
            builder_.node(NodeKind::kEnumValue, {value},
                          enum_type != nullptr ? enum_type->value_type() : Type::any()));
      }
      break;
    }
    case TypeKind::kDevice:
      if (name == "type" || name == "index") {
        CallArguments arguments;
        arguments.positional.push_back({value});
        return call_op("prim::" + name, arguments, span);
      }
      break;
    default: break;
  }
  return Sugared::bound(Kind::kBoundOp, value, "aten::" + name);
}

TypePtr FunctionEmitter::common_type(const std::vector<Value*>& values) const {
  TypePtr common;
  for (Value* value : values) {
    if (builder_.is_poisoned(value)) return Type::any();
    common = common == nullptr ? value->type() : unify(common, value->type());
    if (common == nullptr) return nullptr;
  }
  return common;
}

Value* FunctionEmitter::emit_list(const Expr& e, const TypePtr& hint, bool* is_empty) {
  const bool hinted = hint != nullptr && hint->is(TypeKind::kList);
  std::vector<Value*> items;
  for (const Expr* child : e.children) {
    items.push_back(emit(*child, hinted ? hint->element() : nullptr));
  }
  TypePtr element = hinted ? hint->element() : nullptr;
  if (hinted) {
    for (size_t i = 0; i < items.size(); ++i) {
      items[i] = typed_as(items[i], element, e.child(i)->span, "List element");
    }
  } else if (items.empty()) {
    element = Type::tensor();
    *is_empty = true;
  } else {
    element = common_type(items);
    if (element == nullptr) {
      // [1e12, 1.5] is printed as [1000000000000, 1.5].
      const auto is_float = [](const Value* v) { return v->type()->is(TypeKind::kFloat); };
      const bool numbers = std::all_of(items.begin(), items.end(), [&](const Value* v) {
        return is_float(v) || is_int_constant(v);
      });
      if (numbers) {
        for (Value*& item : items) {
          if (!is_float(item)) item = float_constant(builder_, item);
        }
        element = Type::floating();
      } else {
        std::vector<TypePtr> types;
        for (const Value* item : items) types.push_back(item->type());
        element = Type::union_of(std::move(types));
      }
    }
  }
  return builder_.node(NodeKind::kListConstruct, items, Type::list(element));
}

Value* FunctionEmitter::emit_dict(const Expr& e, const TypePtr& hint, bool* is_empty) {
  const bool hinted = hint != nullptr && hint->is(TypeKind::kDict);
  std::vector<Value*> items;
  std::vector<Value*> values;
  for (size_t i = 0; i < e.children.size(); ++i) {
    const TypePtr wanted = hinted ? hint->element(i % 2) : nullptr;
    Value* item = emit(*e.child(i), wanted);
    if (hinted) item = typed_as(item, wanted, e.child(i)->span, "Dict entry");
    items.push_back(item);
    if (i % 2 == 1) values.push_back(item);
  }
  TypePtr type = hint;
  if (!hinted && items.empty()) {
    *is_empty = true;
    type = Type::dict(Type::str(), Type::tensor());
  } else if (!hinted) {
    TypePtr value = common_type(values);
    if (value == nullptr) {
      std::vector<TypePtr> types;
      for (const Value* item : values) types.push_back(item->type());
      value = Type::union_of(std::move(types));
    }
    type = Type::dict(items[0]->type(), value);
  }
  return builder_.node(NodeKind::kDictConstruct, items, type);
}

Value* FunctionEmitter::emit_tuple(const Expr& e, const TypePtr& hint) {
  const bool hinted =
      hint != nullptr && hint->is(TypeKind::kTuple) && hint->elements().size() == e.children.size();
  std::vector<Value*> items;
  std::vector<TypePtr> types;
  for (size_t i = 0; i < e.children.size(); ++i) {
    const Expr& child = *e.child(i);
    if (child.is(ExprKind::kStarred)) {
      Value* tuple = emit(*child.child());
      for (Value* item :
           unpack(Sugared::of(tuple), tuple->type()->elements().size(), true, child.span)) {
        items.push_back(item);
      }
      continue;
    }
    items.push_back(emit(child, hinted ? hint->element(i) : nullptr));
  }
  for (const Value* item : items) types.push_back(item->type());
  return builder_.node(NodeKind::kTupleConstruct, items, Type::tuple(std::move(types)));
}

}  // namespace tierup::frontend::torchscript
