// See text_values.h.
#include "tierup/ir/text_values.h"

#include <array>

#include "tierup/tensor/half.h"

namespace tierup::ir {
namespace {

constexpr int kMaxDepth = 100;
constexpr int64_t kMaxWrittenElements = 1 << 20;

// "Float" -> kFloat, as scalar_type_name writes it.
std::optional<ScalarType> scalar_type_from_name(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(ScalarType::kFloat8E8M0FNU); ++code) {
    try {
      const ScalarType type = scalar_type_from_code(code);
      if (scalar_type_name(type) == name) return type;
    } catch (const Error&) {
      continue;  // A gap in the codes.
    }
  }
  return std::nullopt;
}

class TypeParser {
 public:
  TypeParser(TextCursor& cursor, const TextContext& context) : cursor_(cursor), context_(context) {}

  TypePtr type(int depth = 0) {
    if (depth > kMaxDepth) cursor_.fail_here("types nested too deeply");
    const std::string name(cursor_.accept_name());
    if (name.empty()) cursor_.fail_here("expected a type");
    if (name == "Function") return function();
    if (cursor_.peek() == '[') {
      if (TypePtr found = parametric(name, depth)) return found;
    }
    if (TypePtr found = simple(name)) return found;
    if (name == "Tensor") return tensor(std::nullopt);
    if (const auto dtype = scalar_type_from_name(name)) return tensor(*dtype);
    if (context_.types) {
      if (TypePtr found = context_.types(name)) return found;
    }
    if (name.find('.') != std::string::npos) cursor_.fail_here("unknown type " + name);
    return Type::variable(name);
  }

 private:
  static TypePtr simple(std::string_view name) {
    for (int kind = 0; kind < static_cast<int>(TypeKind::kList); ++kind) {
      if (static_cast<TypeKind>(kind) == TypeKind::kTensor) continue;
      const TypePtr& type = Type::simple(static_cast<TypeKind>(kind));
      if (type->to_string() == name) return type;
    }
    return nullptr;
  }

  TypePtr function() {
    cursor_.expect("[");
    const std::string name = cursor_.expect_name("a function's name");
    cursor_.expect("]");
    Ref<Callable> callable = context_.functions ? context_.functions(name) : nullptr;
    if (!callable) cursor_.fail_here("unknown function " + name);
    return Type::function(std::move(callable));
  }

  std::vector<TypePtr> elements(int depth) {
    cursor_.expect("[");
    std::vector<TypePtr> result;
    if (cursor_.accept("()")) {
      cursor_.expect("]");
      return result;
    }
    do {
      result.push_back(type(depth + 1));
    } while (cursor_.accept(","));
    cursor_.expect("]");
    return result;
  }

  TypePtr parametric(std::string_view name, int depth) {
    const bool is_known = name == "List" || name == "Dict" || name == "Tuple" ||
                          name == "Optional" || name == "Union" || name == "Future" ||
                          name == "Await";
    if (!is_known) return nullptr;
    std::vector<TypePtr> inner = elements(depth);
    if (name == "Tuple") return Type::tuple(std::move(inner));
    if (name == "Union" && !inner.empty()) return Type::union_of(std::move(inner));
    if (inner.size() != (name == "Dict" ? 2u : 1u)) cursor_.fail_here("wrong number of types");
    if (name == "List") return Type::list(inner[0]);
    if (name == "Dict") return Type::dict(inner[0], inner[1]);
    if (name == "Optional") return Type::optional(inner[0]);
    if (name == "Future") return Type::future(inner[0]);
    return Type::await(inner[0]);
  }

  TypePtr tensor(std::optional<ScalarType> dtype) {
    TensorFacts facts;
    facts.dtype = dtype;
    if (cursor_.peek() == '(') {
      cursor_.expect("(");
      if (!cursor_.accept(")")) {
        do {
          fact(facts);
        } while (cursor_.accept(","));
        cursor_.expect(")");
      }
    }
    return facts == TensorFacts{} ? Type::tensor() : Type::tensor_with(std::move(facts));
  }

  void fact(TensorFacts& facts) {
    if (cursor_.accept("rank=0")) {
      facts.sizes.emplace();
    } else if (cursor_.accept("strides=[")) {
      facts.strides.emplace();
      if (cursor_.accept("]")) return;
      do {
        facts.strides->push_back(dim());
      } while (cursor_.accept(","));
      cursor_.expect("]");
    } else if (cursor_.accept("requires_grad=")) {
      facts.requires_grad = cursor_.expect_integer() != 0;
    } else if (cursor_.accept("undefined=")) {
      facts.undefined = cursor_.expect_integer() != 0;
    } else if (cursor_.accept("device=")) {
      std::string name(cursor_.accept_name());
      if (cursor_.accept_directly(':')) name += ":" + std::to_string(cursor_.expect_integer());
      facts.device = Device::parse(name);
    } else {
      if (!facts.sizes) facts.sizes.emplace();
      facts.sizes->push_back(dim());
    }
  }

  Dim dim() {
    if (cursor_.accept("*")) return {};
    if (cursor_.accept("s")) return {Dim::Kind::kSymbol, cursor_.expect_integer()};
    return {Dim::Kind::kStatic, cursor_.expect_integer()};
  }

  TextCursor& cursor_;
  const TextContext& context_;
};

class ConstantParser {
 public:
  ConstantParser(TextCursor& cursor, const TextContext& context)
      : cursor_(cursor), context_(context) {}

  IValue value(int depth = 0) {
    if (depth > kMaxDepth) cursor_.fail_here("constants nested too deeply");
    if (cursor_.sees("\"")) return cursor_.expect_string();
    if (cursor_.sees("<")) return from_table();
    if (cursor_.sees_number()) {
      const TextCursor::Number number = cursor_.expect_number();
      return number.is_float ? IValue(number.floating) : IValue(number.integer);
    }
    const std::string name(cursor_.accept_name());
    if (name == "None") return {};
    if (name == "True") return true;
    if (name == "False") return false;
    if (name == "device") return device();
    if (name == "complex") return complex();
    if (name == "list") return list(depth);
    if (name == "tuple") return tuple(depth);
    if (name == "dict") return dict(depth);
    if (name == "tensor") return tensor();
    cursor_.fail_here("expected a constant");
  }

 private:
  IValue from_table() {
    cursor_.expect("<");
    cursor_.accept_name();
    if (!cursor_.accept("$") || context_.constants == nullptr) {
      cursor_.fail_here("a constant without text needs its table");
    }
    const int64_t index = cursor_.expect_integer();
    cursor_.expect(">");
    if (index < 0 || static_cast<size_t>(index) >= context_.constants->size()) {
      cursor_.fail_here("no such constant in the table");
    }
    return (*context_.constants)[static_cast<size_t>(index)];
  }

  IValue device() {
    cursor_.expect("(");
    const Device device = Device::parse(cursor_.expect_string());
    cursor_.expect(")");
    return device;
  }

  double number() {
    const TextCursor::Number number = cursor_.expect_number();
    return number.is_float ? number.floating : static_cast<double>(number.integer);
  }

  IValue complex() {
    cursor_.expect("(");
    const double real = number();
    cursor_.expect(",");
    const double imaginary = number();
    cursor_.expect(")");
    return complex128(real, imaginary);
  }

  std::vector<IValue> items(int depth) {
    std::vector<IValue> result;
    cursor_.expect("(");
    if (cursor_.accept(")")) return result;
    do {
      result.push_back(value(depth + 1));
    } while (cursor_.accept(","));
    cursor_.expect(")");
    return result;
  }

  IValue list(int depth) {
    cursor_.expect("[");
    TypePtr element = parse_type(cursor_, context_);
    cursor_.expect("]");
    return make_ref<ListValue>(std::move(element), items(depth));
  }

  IValue tuple(int depth) {
    TypePtr named;
    if (cursor_.accept("[")) {
      named = parse_type(cursor_, context_);
      cursor_.expect("]");
    }
    return make_ref<TupleValue>(items(depth), std::move(named));
  }

  IValue dict(int depth) {
    cursor_.expect("[");
    TypePtr key = parse_type(cursor_, context_);
    cursor_.expect(",");
    TypePtr mapped = parse_type(cursor_, context_);
    cursor_.expect("]");
    auto result = make_ref<DictValue>(std::move(key), std::move(mapped));
    cursor_.expect("(");
    if (cursor_.accept(")")) return result;
    do {
      IValue k = value(depth + 1);
      cursor_.expect(":");
      result->set(std::move(k), value(depth + 1));
    } while (cursor_.accept(","));
    cursor_.expect(")");
    return result;
  }

  IValue tensor() {
    cursor_.expect("(");
    const auto dtype = scalar_type_from_name(cursor_.accept_name());
    if (!dtype) cursor_.fail_here("expected an element type");
    cursor_.expect(",");
    cursor_.expect("[");
    IntVector sizes;
    if (!cursor_.accept("]")) {
      do {
        sizes.push_back(cursor_.expect_integer());
      } while (cursor_.accept(","));
      cursor_.expect("]");
    }
    const int64_t count = numel_of(sizes);
    if (count > kMaxWrittenElements) cursor_.fail_here("tensor too large for text");
    Tensor result = Tensor::empty(sizes, *dtype);
    cursor_.expect(",");
    cursor_.expect("[");
    dispatch_real(*dtype, "parse_graph", [&]<typename T>(TypeTag<T>) {
      for (int64_t i = 0; i < count; ++i) {
        if (i > 0) cursor_.expect(",");
        const TextCursor::Number item = cursor_.expect_number();
        const Scalar scalar = item.is_float ? Scalar(item.floating) : Scalar(item.integer);
        result.data<T>()[i] = scalar.to<T>();
      }
    });
    cursor_.expect("]");
    cursor_.expect(")");
    return result;
  }

  TextCursor& cursor_;
  const TextContext& context_;
};

}  // namespace

TypePtr parse_type(TextCursor& cursor, const TextContext& context) {
  return TypeParser(cursor, context).type();
}

IValue parse_constant(TextCursor& cursor, const TextContext& context) {
  return ConstantParser(cursor, context).value();
}

}  // namespace tierup::ir
