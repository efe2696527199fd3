// Evaluation, solving and printing; the parsers stand in expression_parser.cc.
#include "tierup/frontend/exported/symbolic_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

using Values = std::vector<Number>;

Number integer(int64_t value) { return {false, value, 0}; }
Number floating(double value) { return {true, 0, value}; }
Number boolean(bool value) { return integer(value ? 1 : 0); }

[[noreturn]] void fail_overflow() {
  fail(ErrorCode::kInvalidArgument, "a shape expression overflows 64 bits");
}

bool any_float(const Values& v) {
  return std::any_of(v.begin(), v.end(), [](const Number& n) { return n.is_float; });
}

Number add(const Values& v) {
  if (any_float(v)) {
    double sum = 0;
    for (const Number& n : v) sum += n.as_double();
    return floating(sum);
  }
  int64_t sum = 0;
  for (const Number& n : v) {
    if (__builtin_add_overflow(sum, n.integer, &sum)) fail_overflow();
  }
  return integer(sum);
}

Number multiply(const Values& v) {
  if (any_float(v)) {
    double product = 1;
    for (const Number& n : v) product *= n.as_double();
    // A rational factor of an integral product: sympy writes n/2 as Mul(Rational(1, 2), n).
    return product == std::floor(product) && std::abs(product) < 9e15
               ? integer(static_cast<int64_t>(product))
               : floating(product);
  }
  int64_t product = 1;
  for (const Number& n : v) {
    if (__builtin_mul_overflow(product, n.integer, &product)) fail_overflow();
  }
  return integer(product);
}

Number power(const Values& v) {
  if (v[0].is_float || v[1].is_float || v[1].integer < 0) {
    return floating(std::pow(v[0].as_double(), v[1].as_double()));
  }
  int64_t result = 1;
  int64_t base = v[0].integer;
  for (int64_t e = v[1].integer; e > 0; e >>= 1) {
    if ((e & 1) != 0 && __builtin_mul_overflow(result, base, &result)) fail_overflow();
    if (e > 1 && __builtin_mul_overflow(base, base, &base)) fail_overflow();
  }
  return integer(result);
}

void require_nonzero(int64_t divisor) {
  require(divisor != 0, ErrorCode::kInvalidArgument, "a shape expression divides by zero");
}

int64_t floor_divide(int64_t a, int64_t b) {
  require_nonzero(b);
  if (a == INT64_MIN && b == -1) fail_overflow();
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Number floor_div(const Values& v) {
  if (any_float(v)) return floating(std::floor(v[0].as_double() / v[1].as_double()));
  return integer(floor_divide(v[0].integer, v[1].integer));
}

Number ceil_div(const Values& v) {
  const int64_t a = v[0].integer;
  const int64_t q = floor_divide(a, v[1].integer);
  return integer(q * v[1].integer == a ? q : q + 1);
}

Number modulo(const Values& v) {
  if (any_float(v)) {
    const double b = v[1].as_double();
    return floating(v[0].as_double() - std::floor(v[0].as_double() / b) * b);
  }
  const int64_t b = v[1].integer;
  require_nonzero(b);
  if (b == -1) return integer(0);
  const int64_t r = v[0].integer % b;
  return integer(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

Number modular_indexing(const Values& v) { return modulo({floor_div({v[0], v[1]}), v[2]}); }

Number shift_left(const Values& v) { return multiply({v[0], power({integer(2), v[1]})}); }
Number shift_right(const Values& v) { return floor_div({v[0], power({integer(2), v[1]})}); }
Number true_divide(const Values& v) { return floating(v[0].as_double() / v[1].as_double()); }

Number to_integer(double value) {
  if (!(value >= -9.2e18 && value <= 9.2e18)) fail_overflow();
  return integer(static_cast<int64_t>(value));
}

int compare(const Number& a, const Number& b) {
  if (!a.is_float && !b.is_float)
    return a.integer < b.integer ? -1 : (a.integer > b.integer ? 1 : 0);
  return a.as_double() < b.as_double() ? -1 : (a.as_double() > b.as_double() ? 1 : 0);
}

Number pick(const Values& v, int sign) {
  Number best = v[0];
  for (const Number& n : v) best = compare(n, best) * sign > 0 ? n : best;
  return best;
}

bool truth(const Number& n) { return n.as_double() != 0; }

Number round_half_even(const Values& v) { return to_integer(std::nearbyint(v[0].as_double())); }
Number round_decimal(const Values& v) {
  const double scale = std::pow(10.0, v[1].as_double());
  return floating(std::nearbyint(v[0].as_double() * scale) / scale);
}

// Arguments are all sizes, then all strides.
Number dense_indicator(const Values& v) {
  const size_t rank = v.size() / 2;
  std::vector<size_t> order;
  for (size_t d = 0; d < rank; ++d) {
    if (v[d].integer != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return v[rank + a].integer < v[rank + b].integer; });
  int64_t expected = 1;
  for (const size_t d : order) {
    if (v[rank + d].integer != expected) return integer(0);
    expected *= v[d].integer;
  }
  return integer(1);
}

template <double (*Function)(double)>
Number unary(const Values& v) {
  return floating(Function(v[0].as_double()));
}

struct FunctionRow {
  std::string_view name;
  size_t least_operands;
  Number (*apply)(const Values& values);
};

constexpr auto kFunctions = std::to_array<FunctionRow>({
    {"Add", 0, add},
    {"Mul", 0, multiply},
    {"Pow", 2, power},
    {"PowByNatural", 2, power},
    {"FloatPow", 2,
     [](const Values& v) { return floating(std::pow(v[0].as_double(), v[1].as_double())); }},
    {"FloorDiv", 2, floor_div},
    {"CleanDiv", 2, floor_div},
    {"CeilDiv", 2, ceil_div},
    {"Mod", 2, modulo},
    {"PythonMod", 2, modulo},
    {"ModularIndexing", 3, modular_indexing},
    {"LShift", 2, shift_left},
    {"RShift", 2, shift_right},
    {"IntTrueDiv", 2, true_divide},
    {"FloatTrueDiv", 2, true_divide},
    {"ToFloat", 1, [](const Values& v) { return floating(v[0].as_double()); }},
    {"TruncToInt", 1, [](const Values& v) { return to_integer(std::trunc(v[0].as_double())); }},
    {"TruncToFloat", 1, unary<std::trunc>},
    {"FloorToInt", 1, [](const Values& v) { return to_integer(std::floor(v[0].as_double())); }},
    {"CeilToInt", 1, [](const Values& v) { return to_integer(std::ceil(v[0].as_double())); }},
    {"floor", 1, [](const Values& v) { return to_integer(std::floor(v[0].as_double())); }},
    {"ceiling", 1, [](const Values& v) { return to_integer(std::ceil(v[0].as_double())); }},
    {"RoundToInt", 1, round_half_even},
    {"RoundDecimal", 2, round_decimal},
    {"Max", 1, [](const Values& v) { return pick(v, 1); }},
    {"Min", 1, [](const Values& v) { return pick(v, -1); }},
    {"Identity", 1, [](const Values& v) { return v[0]; }},
    {"Abs", 1,
     [](const Values& v) {
       return v[0].is_float ? floating(std::abs(v[0].floating))
                            : multiply({v[0], integer(v[0].integer < 0 ? -1 : 1)});
     }},
    {"sign", 1, [](const Values& v) { return integer(compare(v[0], integer(0))); }},
    {"Equality", 2, [](const Values& v) { return boolean(compare(v[0], v[1]) == 0); }},
    {"Unequality", 2, [](const Values& v) { return boolean(compare(v[0], v[1]) != 0); }},
    {"StrictGreaterThan", 2, [](const Values& v) { return boolean(compare(v[0], v[1]) > 0); }},
    {"GreaterThan", 2, [](const Values& v) { return boolean(compare(v[0], v[1]) >= 0); }},
    {"StrictLessThan", 2, [](const Values& v) { return boolean(compare(v[0], v[1]) < 0); }},
    {"LessThan", 2, [](const Values& v) { return boolean(compare(v[0], v[1]) <= 0); }},
    {"Xor", 2, [](const Values& v) { return boolean(truth(v[0]) != truth(v[1])); }},
    {"Not", 1, [](const Values& v) { return boolean(!truth(v[0])); }},
    {"BitwiseFn_bitwise_and", 2,
     [](const Values& v) { return integer(v[0].integer & v[1].integer); }},
    {"BitwiseFn_bitwise_or", 2,
     [](const Values& v) { return integer(v[0].integer | v[1].integer); }},
    {"BitwiseFn_bitwise_xor", 2,
     [](const Values& v) { return integer(v[0].integer ^ v[1].integer); }},
    {"IsNonOverlappingAndDenseIndicator", 0, dense_indicator},
    {"OpaqueUnaryFn_sqrt", 1, unary<std::sqrt>},
    {"OpaqueUnaryFn_exp", 1, unary<std::exp>},
    {"OpaqueUnaryFn_log", 1, unary<std::log>},
    {"OpaqueUnaryFn_log2", 1, unary<std::log2>},
    {"OpaqueUnaryFn_sin", 1, unary<std::sin>},
    {"OpaqueUnaryFn_cos", 1, unary<std::cos>},
    {"OpaqueUnaryFn_tan", 1, unary<std::tan>},
    {"OpaqueUnaryFn_sinh", 1, unary<std::sinh>},
    {"OpaqueUnaryFn_cosh", 1, unary<std::cosh>},
    {"OpaqueUnaryFn_tanh", 1, unary<std::tanh>},
    {"OpaqueUnaryFn_asin", 1, unary<std::asin>},
    {"OpaqueUnaryFn_acos", 1, unary<std::acos>},
    {"OpaqueUnaryFn_atan", 1, unary<std::atan>},
    {"OpaqueUnaryFn_asinh", 1, unary<std::asinh>},
});

// And, Or, Where, Piecewise: a later operand counts only if the earlier ones leave it open.
std::optional<Number> evaluate_lazy(const Expression& e, const SymbolValues& values,
                                    bool& handled) {
  handled = true;
  const auto at = [&](size_t i) { return evaluate(e.operands[i], values); };
  if (e.function == "And" || e.function == "Or") {
    const bool stop = e.function == "Or";
    for (size_t i = 0; i < e.operands.size(); ++i) {
      const auto operand = at(i);
      if (!operand) return std::nullopt;
      if (truth(*operand) == stop) return boolean(stop);
    }
    return boolean(!stop);
  }
  if ((e.function == "Where" || e.function == "ITE") && e.operands.size() == 3) {
    const auto condition = at(0);
    return condition ? at(truth(*condition) ? 1 : 2) : std::nullopt;
  }
  if (e.function == "Piecewise") {
    for (const Expression& pair : e.operands) {
      if (pair.function != "ExprCondPair" || pair.operands.size() != 2) return std::nullopt;
      const auto condition = evaluate(pair.operands[1], values);
      if (!condition) return std::nullopt;
      if (truth(*condition)) return evaluate(pair.operands[0], values);
    }
    return std::nullopt;
  }
  handled = false;
  return std::nullopt;
}

}  // namespace

size_t SymbolTable::intern(std::string_view name) {
  if (const auto known = find(name)) return *known;
  names_.emplace_back(name);
  return names_.size() - 1;
}

std::optional<size_t> SymbolTable::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<size_t>(found - names_.begin());
}

std::optional<Number> evaluate(const Expression& e, const SymbolValues& values) {
  if (e.function == "Number") return e.number;
  if (e.is_symbol()) return e.symbol < values.size() ? values[e.symbol] : std::nullopt;
  bool handled = false;
  const auto lazy = evaluate_lazy(e, values, handled);
  if (handled) return lazy;
  const auto row = std::find_if(kFunctions.begin(), kFunctions.end(),
                                [&](const FunctionRow& f) { return f.name == e.function; });
  if (row == kFunctions.end() || e.operands.size() < row->least_operands) return std::nullopt;
  Values operands;
  for (const Expression& operand : e.operands) {
    const auto value = evaluate(operand, values);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  return row->apply(operands);
}

namespace {

// expression = factor * symbol + constant, with every other symbol bound.
struct Affine {
  int64_t factor = 0;
  int64_t constant = 0;
  std::optional<size_t> symbol;
};

std::optional<Affine> affine_of(const Expression& e, const SymbolValues& values) {
  if (const auto value = evaluate(e, values)) {
    if (value->is_float) return std::nullopt;
    return Affine{0, value->integer, std::nullopt};
  }
  if (e.is_symbol()) return Affine{1, 0, e.symbol};
  if (e.function != "Add" && e.function != "Mul") return std::nullopt;
  const bool is_sum = e.function == "Add";
  Affine result{0, is_sum ? 0 : 1, std::nullopt};
  for (const Expression& operand : e.operands) {
    const auto part = affine_of(operand, values);
    if (!part || (part->symbol && result.symbol && part->symbol != result.symbol))
      return std::nullopt;
    if (is_sum) {
      result.factor += part->factor;
      result.constant += part->constant;
    } else {
      if (part->symbol && result.symbol) return std::nullopt;
      result.factor = result.factor * part->constant + part->factor * result.constant;
      result.constant *= part->constant;
    }
    if (part->symbol) result.symbol = part->symbol;
  }
  return result;
}

}  // namespace

std::optional<Solution> solve_affine(const Expression& expression, const SymbolValues& values,
                                     int64_t value) {
  const auto affine = affine_of(expression, values);
  if (!affine || !affine->symbol || affine->factor == 0) return std::nullopt;
  const int64_t rest = value - affine->constant;
  return Solution{*affine->symbol, rest / affine->factor, rest % affine->factor == 0};
}

std::string to_string(const Expression& e, const SymbolTable& symbols) {
  if (e.function == "Number") {
    return e.number.is_float ? fmt::format("{}", e.number.floating)
                             : std::to_string(e.number.integer);
  }
  if (e.is_symbol()) return symbols.name(e.symbol);
  const std::string_view separator =
      e.function == "Add" ? " + " : (e.function == "Mul" ? "*" : ", ");
  std::string text;
  for (const Expression& operand : e.operands) {
    if (!text.empty()) text += separator;
    const bool wrap = e.function == "Mul" && operand.function == "Add";
    text += wrap ? "(" + to_string(operand, symbols) + ")" : to_string(operand, symbols);
  }
  if (e.function == "Add" || e.function == "Mul") return text;
  return e.function + "(" + text + ")";
}

}  // namespace tierup::frontend::exported
