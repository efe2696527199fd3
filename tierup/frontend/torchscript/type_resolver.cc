// See type_resolver.h.
#include "tierup/frontend/torchscript/type_resolver.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/syntax_error.h"

namespace tierup::frontend::torchscript {
namespace {

struct SimpleName {
  std::string_view name;
  TypeKind kind;
};
constexpr auto kSimpleNames = std::to_array<SimpleName>({
    {"Tensor", TypeKind::kTensor},
    {"int", TypeKind::kInt},
    {"float", TypeKind::kFloat},
    {"bool", TypeKind::kBool},
    {"str", TypeKind::kStr},
    {"complex", TypeKind::kComplex},
    {"number", TypeKind::kNumber},
    {"Device", TypeKind::kDevice},
    {"Stream", TypeKind::kStream},
    {"Generator", TypeKind::kGenerator},
    {"Any", TypeKind::kAny},
    {"NoneType", TypeKind::kNone},
    {"None", TypeKind::kNone},
    {"Capsule", TypeKind::kCapsule},
    {"list", TypeKind::kAnyList},
    {"tuple", TypeKind::kAnyTuple},
    {"Tuple", TypeKind::kAnyTuple},
    {"List", TypeKind::kAnyList},
});

bool is_tensor_alias(std::string_view name) {
  constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool"});
  if (name.starts_with("torch.")) name.remove_prefix(6);
  if (name == "Tensor") return true;
  if (!name.ends_with("Tensor")) return false;
  name.remove_suffix(6);
  for (const std::string_view prefix : kPrefixes) {
    if (name == prefix) return true;
  }
  return false;
}

TypePtr simple_type(std::string_view name) {
  for (const SimpleName& entry : kSimpleNames) {
    if (entry.name == name) return Type::simple(entry.kind);
  }
  return is_tensor_alias(name) ? Type::tensor() : nullptr;
}

// The arguments of "X[a, b]", or of "X[(a, b)]".
std::vector<const Expr*> generic_arguments(const Expr& subscript) {
  std::vector<const Expr*> arguments(subscript.children.begin() + 1, subscript.children.end());
  if (arguments.size() == 1 && arguments[0] != nullptr && arguments[0]->is(ExprKind::kTuple)) {
    const Expr& tuple = *arguments[0];
    return {tuple.children.begin(), tuple.children.end()};
  }
  return arguments;
}

// 2 for "BroadcastingList2" and "_size_2_t"; nullopt for other names.
std::optional<int64_t> broadcast_count(std::string_view name) {
  constexpr std::string_view kList = "BroadcastingList";
  constexpr std::string_view kSize = "_size_";
  if (name.starts_with(kList) && name.size() == kList.size() + 1) {
    const char digit = name.back();
    if (digit >= '1' && digit <= '9') return digit - '0';
  }
  if (name.starts_with(kSize) && name.size() == kSize.size() + 3 && name.ends_with("_t")) {
    const char digit = name[kSize.size()];
    if (digit >= '1' && digit <= '9') return digit - '0';
  }
  return std::nullopt;
}

}  // namespace

std::string dotted_name(const Expr& expression) {
  if (expression.is(ExprKind::kName)) return std::string(expression.text);
  if (!expression.is(ExprKind::kAttribute)) return "";
  std::string name = dotted_name(*expression.child());
  if (name.empty()) return name;
  name += '.';
  name += expression.text;
  return name;
}

void fail_at(const FileUnit& unit, Span span, const std::string& message) {
  try {
    fail_at(*unit.source(), span.begin, span.end, message);
  } catch (Error& error) {
    if (const auto own = unit.range(span).find_original()) error.add_context(own->highlight());
    throw;
  }
}

TypePtr TypeResolver::resolve(const Expr& annotation, const FileUnit& unit) const {
  switch (annotation.kind) {
    case ExprKind::kNone: return Type::none();
    case ExprKind::kString: return resolve_text(annotation.text);
    case ExprKind::kBinary:
      if (annotation.op == Op::kBitOr) {
        return Type::union_of(
            {resolve(*annotation.child(0), unit), resolve(*annotation.child(1), unit)});
      }
      break;
    case ExprKind::kSubscript: {
      const std::string name = dotted_name(*annotation.child());
      if (!name.empty()) return resolve_generic(annotation, name, unit);
      break;
    }
    case ExprKind::kName:
      if (TypePtr type = simple_type(annotation.text)) return type;
      if (broadcast_count(annotation.text)) return Type::list(Type::integer());
      break;
    case ExprKind::kAttribute: {
      const std::string name = dotted_name(annotation);
      if (name.empty()) break;
      if (TypePtr type = find_nominal_(name)) return type;
      if (TypePtr type = simple_type(name)) return type;
      require(!name.starts_with("__torch__.torch.classes."), ErrorCode::kUnsupported,
              "custom C++ class {} is not supported", name);
      fail_at(unit, annotation.span, fmt::format("Unknown type name '{}'", name));
    }
    default: break;
  }
  if (annotation.is(ExprKind::kName)) {
    fail_at(unit, annotation.span, fmt::format("Unknown type name '{}'", annotation.text));
  }
  fail_at(unit, annotation.span, "Expected a type");
}

TypePtr TypeResolver::resolve_generic(const Expr& annotation, std::string_view name,
                                      const FileUnit& unit) const {
  const std::vector<const Expr*> arguments = generic_arguments(annotation);
  std::vector<TypePtr> types;
  for (const Expr* argument : arguments) {
    if (argument == nullptr || argument->is(ExprKind::kSlice)) {
      fail_at(unit, annotation.span, "Expected a type");
    }
    types.push_back(resolve(*argument, unit));
  }
  const auto expect = [&](size_t count) {
    if (types.size() == count) return;
    fail_at(unit, annotation.span,
            fmt::format("{} takes {} type arguments but {} were given", name, count, types.size()));
  };
  if (name == "Tuple" || name == "tuple") return Type::tuple(std::move(types));
  if (name == "Union") {
    if (types.empty()) expect(1);
    return Type::union_of(std::move(types));
  }
  if (name == "Dict" || name == "dict") {
    expect(2);
    return Type::dict(types[0], types[1]);
  }
  expect(1);
  if (name == "List" || name == "list") return Type::list(types[0]);
  if (name == "Optional") return Type::optional(types[0]);
  if (name == "Final") return types[0];
  if (name == "Future" || name == "torch.jit.Future") return Type::future(types[0]);
  // Awaitables run when they are made here, as forks may: one type serves both.
  if (name == "Await" || name == "torch.jit._Await") return Type::future(types[0]);
  if (name == "RRef") return Type::simple(TypeKind::kRRef);
  if (broadcast_count(name)) return Type::list(types[0]);
  fail_at(unit, annotation.span, fmt::format("Unknown type name '{}'", name));
}

TypePtr TypeResolver::resolve_parameter(const Expr& annotation, const FileUnit& unit,
                                        std::optional<int64_t>* broadcast) const {
  const Expr* inner = &annotation;
  if (inner->is(ExprKind::kSubscript) && inner->child()->is_name("Optional") &&
      inner->children.size() == 2 && inner->child(1) != nullptr) {
    inner = inner->child(1);
  }
  const Expr& head = inner->is(ExprKind::kSubscript) ? *inner->child() : *inner;
  if (head.is(ExprKind::kName)) *broadcast = broadcast_count(head.text);
  return resolve(annotation, unit);
}

TypePtr TypeResolver::resolve_text(std::string_view annotation) const {
  // Nearly all tags are one simple name, which needs no parser.
  if (TypePtr type = simple_type(annotation)) return type;
  const auto source = std::make_shared<ir::Source>("type annotation", std::string(annotation));
  const ParsedExpression parsed = parse_expression(source);
  return resolve(*parsed.expression, *parsed.unit);
}

}  // namespace tierup::frontend::torchscript
