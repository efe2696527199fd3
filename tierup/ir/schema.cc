// Schema: queries and the text form (the reverse of schema_parser.cc).
#include "tierup/ir/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tierup::ir {
namespace {

std::string_view base_name(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kAny: return "Any";
    case TypeKind::kNone: return "NoneType";
    case TypeKind::kTensor: return "Tensor";
    case TypeKind::kInt: return "int";
    case TypeKind::kFloat: return "float";
    case TypeKind::kBool: return "bool";
    case TypeKind::kComplex: return "complex";
    case TypeKind::kNumber: return "Scalar";
    case TypeKind::kStr: return "str";
    case TypeKind::kDevice: return "Device";
    case TypeKind::kGenerator: return "Generator";
    case TypeKind::kStream: return "Stream";
    case TypeKind::kStorage: return "Storage";
    case TypeKind::kCapsule: return "Capsule";
    case TypeKind::kAnyList: return "AnyListType";
    case TypeKind::kAnyTuple: return "AnyTupleType";
    case TypeKind::kAnyEnum: return "AnyEnumType";
    case TypeKind::kAnyClass: return "AnyClassType";
    default: return {};
  }
}

// Prints one argument's type with its marks where schema strings have them: after the base type
// for a plain or optional value, after the brackets for the list itself.
class TypePrinter {
 public:
  explicit TypePrinter(const Argument& argument) : argument_(argument) {}

  std::string print() {
    print_type(*argument_.type, mark(argument_.alias), mark(argument_.element_alias), true);
    return std::move(out_);
  }

 private:
  static std::string mark(const AliasInfo& alias) {
    if (alias.empty()) return {};
    std::string text = "(" + alias.set;
    if (alias.is_write) text += '!';
    if (!alias.after.empty()) text += " -> " + alias.after;
    return text + ")";
  }

  void print_type(const Type& type, const std::string& own, const std::string& inner,
                  bool spelled) {
    switch (type.kind()) {
      case TypeKind::kOptional:
        print_type(*type.element(), own, inner, spelled);
        out_ += '?';
        return;
      case TypeKind::kList:
        print_type(*type.element(), inner, {}, spelled);
        out_ += '[';
        if (spelled && argument_.broadcast_size && !sized_) {
          out_ += std::to_string(*argument_.broadcast_size);
          sized_ = true;
        }
        out_ += ']';
        out_ += own;
        return;
      case TypeKind::kTuple:
        out_ += '(';
        print_elements(type);
        break;
      case TypeKind::kDict:
      case TypeKind::kFuture:
      case TypeKind::kAwait:
      case TypeKind::kRRef:
      case TypeKind::kUnion:
        out_ += type.is(TypeKind::kDict)     ? "Dict("
                : type.is(TypeKind::kFuture) ? "Future("
                : type.is(TypeKind::kAwait)  ? "Await("
                : type.is(TypeKind::kRRef)   ? "RRef("
                                             : "Union(";
        print_elements(type);
        break;
      default: print_base(type, spelled);
    }
    out_ += own;
  }

  void print_elements(const Type& type) {
    for (size_t i = 0; i < type.elements().size(); ++i) {
      if (i > 0) out_ += ", ";
      print_type(*type.element(i), {}, {}, false);
    }
    out_ += ')';
  }

  void print_base(const Type& type, bool spelled) {
    if (spelled && !argument_.spelling.empty()) {
      out_ += argument_.spelling;
    } else if (const std::string_view name = base_name(type); !name.empty()) {
      out_ += name;
    } else {
      out_ += type.name().empty() ? type.to_string() : type.name();
    }
  }

  const Argument& argument_;
  std::string out_;
  bool sized_ = false;
};

void print_string(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '\f': out += "\\f"; break;
      case '\v': out += "\\v"; break;
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\'': out += "\\'"; break;
      default: out += c;
    }
  }
  out += '"';
}

void print_default(std::string& out, const IValue& value) {
  if (value.is_none()) {
    out += "None";
  } else if (value.is_bool()) {
    out += value.to_bool() ? "True" : "False";
  } else if (value.is_int()) {
    out += std::to_string(value.to_int());
  } else if (value.is_float()) {
    std::string text = fmt::format("{:.17g}", value.to_float());
    if (std::isfinite(value.to_float()) && text.find_first_of(".e") == std::string::npos)
      text += '.';
    out += text;
  } else if (value.is_str()) {
    print_string(out, value.to_str());
  } else if (value.is_device()) {
    print_string(out, value.to_device().to_string());
  } else if (value.is_list()) {
    out += '[';
    bool first = true;
    for (const IValue& item : value.to_list().items) {
      if (!first) out += ", ";
      first = false;
      print_default(out, item);
    }
    out += ']';
  } else {
    out += to_text(value);
  }
}

// "int[2] stride=1": one number for a list of so many equal ones, as PyTorch prints it.
bool is_one_for_all(const Argument& argument) {
  if (!argument.broadcast_size || *argument.broadcast_size < 2 || !argument.spelling.empty() ||
      !argument.default_value->is_list()) {
    return false;
  }
  const std::vector<IValue>& items = argument.default_value->to_list().items;
  return items.size() == static_cast<size_t>(*argument.broadcast_size) &&
         std::all_of(items.begin(), items.end(), [&](const IValue& item) {
           return item.is_int() && item.to_int() == items[0].to_int();
         });
}

void print_argument(std::string& out, const Argument& argument) {
  out += TypePrinter(argument).print();
  if (!argument.name.empty()) {
    out += ' ';
    out += argument.name;
  }
  if (argument.default_value) {
    out += '=';
    print_default(out, is_one_for_all(argument) ? argument.default_value->to_list().items[0]
                                                : *argument.default_value);
  }
}

void print_returns(std::string& out, const Schema& schema) {
  if (schema.is_varret) {
    out += "...";
    return;
  }
  std::string text;
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    if (i > 0) text += ", ";
    print_argument(text, schema.returns[i]);
  }
  // A leading tuple would read as the list of returns without its own parentheses.
  const bool bare = schema.returns.size() == 1 && !text.starts_with('(');
  out += bare ? text : "(" + text + ")";
}

}  // namespace

std::string Schema::qualified_name() const {
  return overload.empty() ? name : name + "." + overload;
}

std::string Schema::to_string() const {
  std::string out = qualified_name() + "(";
  bool kwarg_only = false;
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ", ";
    first = false;
  };
  for (const Argument& argument : arguments) {
    separate();
    if (argument.kwarg_only && !kwarg_only) {
      out += "*, ";
      kwarg_only = true;
    }
    print_argument(out, argument);
  }
  if (is_vararg) {
    separate();
    out += "...";
  }
  out += ") -> ";
  print_returns(out, *this);
  return out;
}

std::optional<size_t> Schema::find_argument(std::string_view wanted) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == wanted) return i;
  }
  return std::nullopt;
}

bool Schema::is_mutating() const {
  return std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) {
    return argument.alias.is_write || argument.element_alias.is_write;
  });
}

}  // namespace tierup::ir
