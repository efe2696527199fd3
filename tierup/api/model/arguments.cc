#include "tierup/api/model/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/base/error.h"

namespace tierup::api {
namespace {

// Nested containers deeper than this are not looked into.
constexpr int kMaxDepth = 64;

bool convert(IValue& value, const TypePtr& type, int depth);

bool convert_list(IValue& value, const TypePtr& type, int depth) {
  const bool is_list = value.is_list();
  if (!is_list && !value.is_tuple()) return false;
  std::vector<IValue> items = is_list ? value.to_list().items : value.to_tuple().items;
  for (IValue& item : items) {
    if (!convert(item, type->element(), depth + 1)) return false;
  }
  value = make_ref<ListValue>(type->element(), std::move(items));
  return true;
}

bool convert_tuple(IValue& value, const TypePtr& type, int depth) {
  const bool is_tuple = value.is_tuple();
  if (!is_tuple && !value.is_list()) return false;
  std::vector<IValue> items = is_tuple ? value.to_tuple().items : value.to_list().items;
  if (items.size() != type->elements().size()) return false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!convert(items[i], type->element(i), depth + 1)) return false;
  }
  value = make_ref<TupleValue>(std::move(items), type->fields().empty() ? nullptr : type);
  return true;
}

bool convert_dict(IValue& value, const TypePtr& type, int depth) {
  if (!value.is_dict()) return false;
  auto result = make_ref<DictValue>(type->element(0), type->element(1));
  for (auto& [key, item] : value.to_dict().entries()) {
    IValue new_key = key;
    IValue new_item = item;
    if (!convert(new_key, type->element(0), depth + 1)) return false;
    if (!convert(new_item, type->element(1), depth + 1)) return false;
    result->set(std::move(new_key), std::move(new_item));
  }
  value = std::move(result);
  return true;
}

// Python's numeric tower upwards: bool and int to float, those to complex. A number is no tensor.
bool convert_number(IValue& value, TypeKind wanted) {
  if (wanted == TypeKind::kFloat && value.is_int()) {
    value = static_cast<double>(value.to_int());
    return true;
  }
  if (wanted == TypeKind::kComplex && (value.is_int() || value.is_float())) {
    value = value.to_scalar().to_complex();
    return true;
  }
  return false;
}

bool convert(IValue& value, const TypePtr& type, int depth) {
  // A container of the right tag may still hold what its tag does not say, so that only
  // scalars and exact tags are let through unseen.
  if (value.is_instance(type)) return true;
  if (depth > kMaxDepth) return false;
  switch (type->kind()) {
    case TypeKind::kFloat:
    case TypeKind::kComplex: return convert_number(value, type->kind());
    case TypeKind::kList: return convert_list(value, type, depth);
    case TypeKind::kTuple: return convert_tuple(value, type, depth);
    case TypeKind::kDict: return convert_dict(value, type, depth);
    case TypeKind::kOptional: return value.is_none() || convert(value, type->element(), depth + 1);
    case TypeKind::kUnion:
      return std::ranges::any_of(type->elements(), [&](const TypePtr& member) {
        return convert(value, member, depth + 1);
      });
    case TypeKind::kEnum:
      if (const Ref<EnumValue> member = type->as_enum()->find_value(value)) {
        value = member;
        return true;
      }
      return false;
    default: return false;
  }
}

void check_unknown_names(const ir::Schema& schema, const NamedValues& kwargs, size_t positional) {
  const std::string name = schema.name.substr(schema.name.rfind('.') + 1);
  for (const auto& [key, value] : kwargs) {
    const auto index = schema.find_argument(key);
    if (!index.has_value() || *index == 0) {
      fail(ErrorCode::kInvalidArgument,
           "{}() got an unknown keyword argument '{}'. It is declared as {}", name, key,
           signature_text(name, schema));
    }
    require(*index >= positional, ErrorCode::kInvalidArgument,
            "{}() got argument '{}' both by position and by name", name, key);
  }
}

}  // namespace

bool convert_value(IValue& value, const TypePtr& type) { return convert(value, type, 0); }

namespace {

// "forward" of "__torch__.M.forward".
std::string short_name(const ir::Schema& schema) {
  return schema.name.substr(schema.name.rfind('.') + 1);
}

[[noreturn]] void fail_missing(const ir::Schema& schema, const ir::Argument& argument) {
  const std::string name = short_name(schema);
  fail(ErrorCode::kInvalidArgument, "{}() is missing value for argument '{}'. It is declared as {}",
       name, argument.name, signature_text(name, schema));
}

[[noreturn]] void fail_type(const ir::Schema& schema, const ir::Argument& argument,
                            const IValue& value) {
  const std::string name = short_name(schema);
  fail(ErrorCode::kTypeError,
       "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'. It is "
       "declared as {}",
       name, argument.type->to_string(), argument.name, value.type()->to_string(),
       signature_text(name, schema));
}

}  // namespace

std::vector<IValue> bind_arguments(const ir::Schema& schema, IValue self, std::vector<IValue> args,
                                   NamedValues kwargs) {
  const auto& wanted = schema.arguments;
  TIERUP_CHECK(!wanted.empty());
  if (args.size() >= wanted.size()) {
    const std::string name = short_name(schema);
    fail(ErrorCode::kInvalidArgument,
         "{}() expected at most {} argument(s) but received {} argument(s). It is declared as {}",
         name, wanted.size() - 1, args.size(), signature_text(name, schema));
  }
  if (!kwargs.empty()) check_unknown_names(schema, kwargs, args.size() + 1);
  std::vector<IValue> bound;
  bound.reserve(wanted.size());
  bound.push_back(std::move(self));
  for (size_t i = 1; i < wanted.size(); ++i) {
    const ir::Argument& argument = wanted[i];
    const auto named =
        std::ranges::find_if(kwargs, [&](const auto& pair) { return pair.first == argument.name; });
    if (i <= args.size()) {
      bound.push_back(std::move(args[i - 1]));
    } else if (named != kwargs.end()) {
      bound.push_back(std::move(named->second));
    } else {
      if (!argument.default_value.has_value()) fail_missing(schema, argument);
      bound.push_back(*argument.default_value);
      continue;
    }
    if (!convert_value(bound.back(), argument.type)) fail_type(schema, argument, bound.back());
  }
  return bound;
}

std::string signature_text(const std::string& name, const ir::Schema& schema) {
  std::string text = name + "(";
  for (size_t i = 1; i < schema.arguments.size(); ++i) {
    const ir::Argument& argument = schema.arguments[i];
    if (i > 1) text += ", ";
    text += fmt::format("{} {}", argument.type->to_string(), argument.name);
    if (argument.default_value) text += "=" + to_text(*argument.default_value);
  }
  text += ")";
  if (schema.returns.size() == 1) text += " -> " + schema.returns[0].type->to_string();
  return text;
}

}  // namespace tierup::api
