// Expressions over shape symbols: sympy's srepr text, as torch.export writes sizes.
//
// Each is parsed once into a tree; evaluation works on int64 with overflow checks, on double, and
// on bool. A function that this build does not know makes the expression opaque: it has
// no value, and whatever needs it is skipped, since programs compute their sizes by nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tierup::frontend::exported {

struct Number {
  bool is_float = false;
  int64_t integer = 0;
  double floating = 0;
  double as_double() const { return is_float ? floating : static_cast<double>(integer); }
};

// Values of symbols by number; nullopt while unbound.
using SymbolValues = std::vector<std::optional<Number>>;

// Interns symbol names: "s77" is one number in all expressions of a program.
class SymbolTable {
 public:
  size_t intern(std::string_view name);
  std::optional<size_t> find(std::string_view name) const;
  const std::string& name(size_t symbol) const { return names_[symbol]; }
  size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

struct Expression {
  std::string function;  // "Add", "Symbol", "Integer", "Float", "true"...; canonical names.
  Number number;
  size_t symbol = 0;
  std::vector<Expression> operands;

  bool is_symbol() const { return function == "Symbol"; }
};

// Throws kCorruptArchive for text that does not follow the grammar, or nests too deeply.
Expression parse_srepr(std::string_view text, SymbolTable& symbols);
// The plain text form of range constraints and guards: "s77 + 1", "2*s0", "Max(1, s3)".
Expression parse_infix(std::string_view text, SymbolTable& symbols);

// The value; nullopt if a symbol is unbound or a function unknown. Throws kInvalidArgument for an
// overflow or a division by zero.
std::optional<Number> evaluate(const Expression& expression, const SymbolValues& values);

// Solves a * s + b = value for the one unbound symbol of an affine expression. nullopt if it is not
// of that form; `divisible` tells whether the division came out even.
struct Solution {
  size_t symbol;
  int64_t value;
  bool divisible;
};
std::optional<Solution> solve_affine(const Expression& expression, const SymbolValues& values,
                                     int64_t value);

std::string to_string(const Expression& expression, const SymbolTable& symbols);

}  // namespace tierup::frontend::exported
