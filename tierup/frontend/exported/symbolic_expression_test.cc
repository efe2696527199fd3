#include "tierup/frontend/exported/symbolic_expression.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

std::optional<double> value_of(const std::string& text, int64_t s0, bool srepr = true) {
  SymbolTable symbols;
  symbols.intern("s0");
  const Expression e = srepr ? parse_srepr(text, symbols) : parse_infix(text, symbols);
  const auto value = evaluate(e, {Number{false, s0, 0}});
  if (!value) return std::nullopt;
  return value->as_double();
}

TEST(SymbolicExpression, EvaluatesSreprText) {
  EXPECT_EQ(value_of("Add(Symbol('s0', positive=True, integer=True), Integer(1))", 5), 6);
  EXPECT_EQ(value_of("Mul(Rational(1, 2), Symbol('s0', integer=True))", 8), 4);
  EXPECT_EQ(
      value_of("Piecewise(ExprCondPair(Integer(3), StrictLessThan(Symbol('s0'), Integer(2))), "
               "ExprCondPair(Symbol('s0'), true))",
               9),
      9);
  EXPECT_EQ(value_of("OpaqueUnaryFn_sqrt(Symbol('s0'))", 16), 4);
}

TEST(SymbolicExpression, DividesTowardMinusInfinity) {
  EXPECT_EQ(value_of("FloorDiv(Symbol('s0'), Integer(2))", -7), -4);
  EXPECT_EQ(value_of("PythonMod(Symbol('s0'), Integer(2))", -7), 1);
  EXPECT_EQ(value_of("(-7) // s0", 2, false), -4);
}

TEST(SymbolicExpression, ReadsGuardsWithPythonsPrecedence) {
  EXPECT_EQ(value_of("1 + s0 // 2 <= s0 and not s0 % 4 == 0", 5, false), 1);
  EXPECT_EQ(value_of("((-1) + s0) != 1", 2, false), 0);
  EXPECT_EQ(value_of("-s0 ** 2", 3, false), -9);
  EXPECT_EQ(value_of("max(s0, 3) > 3 or s0 == 1", 1, false), 1);
}

TEST(SymbolicExpression, KeepsAccessorsOfASourceTogether) {
  SymbolTable symbols;
  parse_infix("L['d']['x'].size()[0] % 4 == 0", symbols);
  EXPECT_TRUE(symbols.find("L['d']['x'].size()[0]").has_value());
}

TEST(SymbolicExpression, UnknownFunctionsHaveNoValue) {
  EXPECT_EQ(value_of("NewFunction(Symbol('s0'))", 5), std::nullopt);
}

TEST(SymbolicExpression, OverflowAndDivisionByZeroAreErrors) {
  EXPECT_THROW(value_of("Mul(Symbol('s0'), Integer(9223372036854775807))", 3), Error);
  EXPECT_THROW(value_of("FloorDiv(Integer(1), Symbol('s0'))", 0), Error);
}

TEST(SymbolicExpression, RefusesBrokenText) {
  for (const char* text : {"", "Add(", "Add(Integer(1)", "Symbol(3)", "Integer(1) x",
                           "Integer(99999999999999999999)"}) {
    SymbolTable symbols;
    EXPECT_THROW(parse_srepr(text, symbols), Error) << text;
  }
  SymbolTable symbols;
  EXPECT_THROW(parse_srepr(std::string(100000, '('), symbols), Error);
  EXPECT_THROW(parse_infix(std::string(100000, '('), symbols), Error);
  EXPECT_THROW(parse_infix(std::string(100000, '-'), symbols), Error);
}

TEST(SymbolicExpression, SolvesAffineFormsForTheOpenSymbol) {
  SymbolTable symbols;
  const Expression e = parse_infix("2*s0 + 1", symbols);
  const auto even = solve_affine(e, SymbolValues(1), 7);
  ASSERT_TRUE(even.has_value());
  EXPECT_EQ(even->value, 3);
  EXPECT_TRUE(even->divisible);
  EXPECT_FALSE(solve_affine(e, SymbolValues(1), 8)->divisible);
  EXPECT_FALSE(solve_affine(parse_infix("s0*s0", symbols), SymbolValues(1), 9).has_value());
}

}  // namespace
}  // namespace tierup::frontend::exported
