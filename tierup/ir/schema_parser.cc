// Parser of schema strings: one pass by hand over the text, about a microsecond per schema.
//
//   schema  := name ['.' overload] '(' arguments ')' '->' returns
//   argument:= type [name] ['=' default]       '*' makes the rest kwarg-only, '...' any number
//   type    := base { mark | '[' [size] ']' | '?' }
//   mark    := '(' sets ['!'] ['->' sets] ')'  of the value to its left; before '[' of its elements
#include <array>
#include <charconv>
#include <cstdlib>

#include "tierup/ir/schema.h"

namespace tierup::ir {
namespace {

constexpr int kMaxDepth = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

// Lists and optionals of the simple types are shared, since nearly every schema has some.
class SharedTypes {
 public:
  static const SharedTypes& instance() {
    static const SharedTypes types;
    return types;
  }
  TypePtr list(const TypePtr& element) const {
    const auto kind = static_cast<size_t>(element->kind());
    return kind < kCount ? lists_[kind] : Type::list(element);
  }
  TypePtr optional(const TypePtr& element) const {
    const auto kind = static_cast<size_t>(element->kind());
    return kind < kCount ? optionals_[kind] : Type::optional(element);
  }

 private:
  static constexpr size_t kCount = static_cast<size_t>(TypeKind::kList);
  SharedTypes() {
    for (size_t i = 0; i < kCount; ++i) {
      const TypePtr& type = Type::simple(static_cast<TypeKind>(i));
      lists_[i] = Type::list(type);
      optionals_[i] = Type::optional(type);
    }
  }
  std::array<TypePtr, kCount> lists_;
  std::array<TypePtr, kCount> optionals_;
};

struct BaseType {
  std::string_view name;
  TypeKind kind;
  bool spelled;  // The name is not what the type itself prints as.
};
constexpr auto kBaseTypes = std::to_array<BaseType>({
    {"Tensor", TypeKind::kTensor, false},
    {"int", TypeKind::kInt, false},
    {"bool", TypeKind::kBool, false},
    {"float", TypeKind::kFloat, false},
    {"SymInt", TypeKind::kInt, true},
    {"Scalar", TypeKind::kNumber, false},
    {"str", TypeKind::kStr, false},
    {"ScalarType", TypeKind::kInt, true},
    {"Device", TypeKind::kDevice, false},
    {"Layout", TypeKind::kInt, true},
    {"MemoryFormat", TypeKind::kInt, true},
    {"Generator", TypeKind::kGenerator, false},
    {"complex", TypeKind::kComplex, false},
    {"Any", TypeKind::kAny, false},
    {"AnyEnumType", TypeKind::kAnyEnum, false},
    {"AnyClassType", TypeKind::kAnyClass, false},
    {"AnyListType", TypeKind::kAnyList, false},
    {"AnyTupleType", TypeKind::kAnyTuple, false},
    {"NoneType", TypeKind::kNone, false},
    {"None", TypeKind::kNone, true},
    {"number", TypeKind::kNumber, true},
    {"Stream", TypeKind::kStream, false},
    {"Storage", TypeKind::kStorage, false},
    {"Capsule", TypeKind::kCapsule, false},
    {"PyObject", TypeKind::kCapsule, true},
    {"Dimname", TypeKind::kStr, true},
    {"DimnameList", TypeKind::kStr, true},
    {"QScheme", TypeKind::kInt, true},
    {"DeviceIndex", TypeKind::kInt, true},
    {"int64_t", TypeKind::kInt, true},
    {"SymFloat", TypeKind::kFloat, true},
    {"SymBool", TypeKind::kBool, true},
    {"SymNumber", TypeKind::kNumber, true},
    {"ConstQuantizerPtr", TypeKind::kCapsule, true},
});

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema schema() {
    Schema result;
    parse_name(result);
    expect('(');
    parse_arguments(result);
    if (!accept("->")) fail_here("expected '->'");
    parse_returns(result);
    expect_end();
    return result;
  }

  TypePtr whole_type() {
    Argument argument;
    parse_type(argument, 0);
    expect_end();
    return std::move(argument.type);
  }

 private:
  [[noreturn]] void fail_here(std::string_view what) const {
    fail(ErrorCode::kSyntax, "Schema \"{}\": {} at offset {}", text_, what, at_);
  }

  // Characters.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (is_space(peek())) ++at_;
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_here(std::string("expected '") + c + "'");
  }
  void expect_end() {
    skip_space();
    if (at_ != text_.size()) fail_here("text after the end");
  }
  std::string_view accept_name() {
    skip_space();
    const size_t begin = at_;
    while (is_name(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view accept_dotted_name() {
    skip_space();
    const size_t begin = at_;
    while (is_name(peek()) || peek() == '.') ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void parse_name(Schema& result) {
    skip_space();
    const size_t end = text_.find('(', at_);
    if (end == std::string_view::npos || end == at_) fail_here("expected a name and '('");
    const std::string_view qualified = text_.substr(at_, end - at_);
    const size_t colons = qualified.find("::");
    const size_t dot = qualified.find('.', colons == std::string_view::npos ? 0 : colons);
    const bool has_overload = colons != std::string_view::npos && dot != std::string_view::npos;
    result.name = qualified.substr(0, has_overload ? dot : std::string_view::npos);
    if (has_overload) result.overload = qualified.substr(dot + 1);
    at_ = end;
  }

  void parse_arguments(Schema& result) {
    if (accept(')')) return;
    bool kwarg_only = false;
    result.arguments.reserve(8);
    do {
      if (result.is_vararg) fail_here("an argument after '...'");
      if (accept("...")) {
        result.is_vararg = true;
      } else if (accept('*')) {
        if (kwarg_only) fail_here("a second '*'");
        kwarg_only = true;
      } else {
        Argument& argument = result.arguments.emplace_back();
        parse_argument(argument);
        argument.kwarg_only = kwarg_only;
        argument.is_out =
            kwarg_only && (argument.alias.is_write || argument.element_alias.is_write);
      }
    } while (accept(','));
    expect(')');
  }

  void parse_returns(Schema& result) {
    if (accept("...")) {
      result.is_varret = true;
      return;
    }
    skip_space();
    if (peek() != '(') {
      parse_argument(result.returns.emplace_back());
      return;
    }
    ++at_;
    if (accept(')')) return;
    do {
      parse_argument(result.returns.emplace_back());
    } while (accept(','));
    expect(')');
  }

  void parse_argument(Argument& argument) {
    parse_type(argument, 0);
    argument.name = accept_name();
    if (accept('='))
      argument.default_value = parse_default(*argument.type, argument.broadcast_size);
  }

  // Types.
  void parse_type(Argument& argument, int depth) {
    if (depth > kMaxDepth) fail_here("types nested too deeply");
    argument.type = parse_base(argument, depth);
    while (true) {
      const char c = peek();
      if (c == '(') {
        ++at_;
        parse_mark(argument.alias);
      } else if (c == '[') {
        ++at_;
        skip_space();
        if (is_digit(peek())) argument.broadcast_size = parse_integer();
        expect(']');
        argument.type = SharedTypes::instance().list(argument.type);
        argument.element_alias = std::move(argument.alias);
        argument.alias = {};
      } else if (c == '?') {
        ++at_;
        argument.type = SharedTypes::instance().optional(argument.type);
      } else {
        return;
      }
    }
  }

  TypePtr parse_base(Argument& argument, int depth) {
    if (accept('(')) return Type::tuple(parse_elements(depth));
    const std::string_view name = accept_dotted_name();
    if (name.empty()) fail_here("expected a type");
    for (const BaseType& base : kBaseTypes) {
      if (base.name != name) continue;
      if (base.spelled) argument.spelling = name;
      return Type::simple(base.kind);
    }
    if (peek() == '(' || peek() == '[') {
      const size_t begin = at_ - name.size();
      if (TypePtr type = parse_parametric(name, depth)) {
        if (type->is(TypeKind::kCapsule)) argument.spelling = text_.substr(begin, at_ - begin);
        return type;
      }
    }
    if (name.find('.') != std::string_view::npos) {  // A custom class: opaque here.
      argument.spelling = name;
      return Type::simple(TypeKind::kCapsule);
    }
    if (name[0] < 'a' || name[0] > 'z') fail_here("unknown type");
    return Type::variable(std::string(name));
  }

  // "Dict(str, t)" and the like; null (and nothing consumed) for another name.
  TypePtr parse_parametric(std::string_view name, int depth) {
    const bool is_dict = name == "Dict";
    const bool is_future = name == "Future";
    const bool is_await = name == "Await";
    const bool is_rref = name == "RRef";
    const bool is_union = name == "Union";
    const bool is_optional = name == "Optional";
    const bool is_list = name == "List";
    if (!(is_dict || is_future || is_await || is_rref || is_union || is_optional || is_list)) {
      return nullptr;
    }
    const char close = peek() == '(' ? ')' : ']';
    ++at_;
    std::vector<TypePtr> elements = parse_elements(depth, close);
    if (elements.size() != (is_dict ? 2u : is_union ? elements.size() : 1u) || elements.empty()) {
      fail_here("wrong number of element types");
    }
    if (is_dict) return Type::dict(elements[0], elements[1]);
    if (is_future) return Type::future(elements[0]);
    if (is_await) return Type::await(elements[0]);
    if (is_union) return Type::union_of(std::move(elements));
    if (is_optional) return Type::optional(elements[0]);
    if (is_list) return Type::list(elements[0]);
    return Type::simple(TypeKind::kCapsule);  // Remote references never hold a value here.
  }

  std::vector<TypePtr> parse_elements(int depth, char close = ')') {
    std::vector<TypePtr> elements;
    if (accept(close)) return elements;
    do {
      Argument element;
      parse_type(element, depth + 1);
      accept_name();  // Elements of a tuple may be named.
      elements.push_back(std::move(element.type));
    } while (accept(','));
    expect(close);
    return elements;
  }

  std::string parse_sets() {
    skip_space();
    const size_t begin = at_;
    while (is_name(peek()) || peek() == '*' || peek() == '|') ++at_;
    if (at_ == begin) fail_here("expected an alias set");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void parse_mark(AliasInfo& alias) {
    alias.set = parse_sets();
    alias.is_write = accept('!');
    if (accept("->")) alias.after = parse_sets();
    expect(')');
  }

  // Defaults.
  int64_t parse_integer() {
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail_here("expected an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  IValue parse_number() {
    const size_t begin = at_;
    if (peek() == '-') ++at_;
    bool is_float = false;
    while (is_digit(peek()) || peek() == '.' || peek() == 'e' || peek() == 'E' ||
           ((peek() == '-' || peek() == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))) {
      is_float |= !is_digit(peek());
      ++at_;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    if (!is_float) {
      at_ = begin;
      return parse_integer();
    }
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0') fail_here("not a number");
    if (peek() == 'j') {
      ++at_;
      return complex128(0.0, value);
    }
    return value;
  }

  std::string parse_string() {
    const char quote = text_[at_++];
    std::string result;
    while (peek() != quote) {
      if (at_ >= text_.size()) fail_here("string without end");
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ >= text_.size()) fail_here("string without end");
        c = text_[at_++];
        c = c == 'n'   ? '\n'
            : c == 't' ? '\t'
            : c == 'r' ? '\r'
            : c == 'f' ? '\f'
            : c == 'v' ? '\v'
                       : c;
      }
      result += c;
    }
    ++at_;
    return result;
  }

  IValue parse_constant(const Type& type) {
    const size_t begin = at_;
    const std::string_view name = accept_dotted_name();
    if (name == "None") return IValue();
    if (name == "True") return true;
    if (name == "False") return false;
    if (name == "contiguous_format" || name == "strided") return 0;
    if (name == "preserve_format" || name == "Mean" || name == "sparse") return 1;
    if (name == "channels_last" || name == "Sum") return 2;
    if (name == "channels_last_3d") return 3;
    if (name == "inf") return HUGE_VAL;
    if (name == "nan") return std::strtod("nan", nullptr);
    if (type.is(TypeKind::kDevice)) return Device::parse(name);
    if (const auto dtype = parse_dtype(name)) return static_cast<int64_t>(*dtype);
    at_ = begin;
    fail_here("unknown constant");
  }

  IValue parse_literal(const Type& type) {
    skip_space();
    const char c = peek();
    if (c == '"' || c == '\'') {
      std::string text = parse_string();
      if (type.is(TypeKind::kDevice)) return Device::parse(text);
      return text;
    }
    if (c == '-' && text_.substr(at_, 4) == "-inf") {
      at_ += 4;
      return -HUGE_VAL;
    }
    if (is_digit(c) || c == '-' || c == '.') {
      IValue value = parse_number();
      if (type.is(TypeKind::kFloat) && value.is_int()) return value.to_float();
      return value;
    }
    return parse_constant(type);
  }

  IValue parse_default(const Type& type, std::optional<int64_t> size) {
    if (type.is(TypeKind::kOptional)) return parse_default(*type.element(), size);
    if (!type.is(TypeKind::kList)) return parse_literal(type);
    std::vector<IValue> items;
    if (accept('[')) {
      if (!accept(']')) {
        do {
          items.push_back(parse_literal(*type.element()));
        } while (accept(','));
        expect(']');
      }
    } else {
      IValue value = parse_literal(*type.element());
      if (value.is_none()) return value;
      if (!size) fail_here("one value for a list of no stated size");
      if (*size > 16) fail_here("size of a list too large");
      items.assign(static_cast<size_t>(*size), value);
    }
    return make_ref<ListValue>(type.element(), std::move(items));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).schema(); }

TypePtr parse_schema_type(std::string_view text) { return Parser(text).whole_type(); }

}  // namespace tierup::ir
