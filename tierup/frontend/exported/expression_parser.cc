// Parsers of shape expressions: srepr calls ("Add(Symbol('s0', integer=True), Integer(1))") and the
// infix text of range keys and guards ("s77 + 1 <= 64 and not (s3 % 2 == 0)").
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/expression_text.h"
#include "tierup/frontend/exported/symbolic_expression.h"

namespace tierup::frontend::exported {
namespace {

constexpr int kMaxDepth = 200;

Expression number(Number value) {
  Expression e;
  e.function = "Number";
  e.number = value;
  return e;
}

Expression call(std::string function, std::vector<Expression> operands) {
  Expression e;
  e.function = std::move(function);
  e.operands = std::move(operands);
  return e;
}

// Short spellings and aliases to the canonical name.
std::string canonical(std::string_view name) {
  constexpr auto kAliases =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"Eq", "Equality"},
                                                                    {"Ne", "Unequality"},
                                                                    {"Gt", "StrictGreaterThan"},
                                                                    {"Ge", "GreaterThan"},
                                                                    {"Lt", "StrictLessThan"},
                                                                    {"Le", "LessThan"},
                                                                    {"max", "Max"},
                                                                    {"min", "Min"},
                                                                    {"abs", "Abs"},
                                                                    {"math.floor", "FloorToInt"},
                                                                    {"math.ceil", "CeilToInt"},
                                                                    {"math.trunc", "TruncToInt"}});
  for (const auto& [alias, target] : kAliases) {
    if (alias == name) return std::string(target);
  }
  return std::string(name);
}

std::optional<Expression> constant_call(const std::string& name) {
  if (name == "One") return number({false, 1, 0});
  if (name == "Zero") return number({false, 0, 0});
  if (name == "NegativeOne") return number({false, -1, 0});
  if (name == "Infinity" || name == "IntInfinity") return number({false, INT64_MAX, 0});
  if (name == "NegativeIntInfinity" || name == "NegativeInfinity")
    return number({false, INT64_MIN, 0});
  return std::nullopt;
}

class SreprParser {
 public:
  SreprParser(std::string_view text, SymbolTable& symbols) : text_(text), symbols_(symbols) {}

  Expression parse() {
    Expression e = expression(0);
    if (text_.peek() != '\0') text_.fail("text after the expression");
    return e;
  }

 private:
  Expression expression(int depth) {
    if (depth > kMaxDepth) text_.fail("nested too deeply");
    const char c = text_.peek();
    if (c == '\'' || c == '"') {
      Expression e;
      e.function = "String:" + text_.string();
      return e;
    }
    if (c == '-' || c == '+' || (c >= '0' && c <= '9') || c == '.') return number(text_.number());
    const std::string name = text_.name();
    if (!text_.accept("(")) return bare_name(name);
    std::vector<Expression> operands;
    bool keywords = false;
    while (!text_.accept(")")) {
      if (!operands.empty() || keywords) text_.expect(",");
      const auto mark = text_.position();
      if (text_.accept_name() && text_.accept("=")) {  // An assumption such as integer=True.
        keywords = true;
        expression(depth + 1);
        continue;
      }
      text_.rewind(mark);
      operands.push_back(expression(depth + 1));
    }
    return finish(name, std::move(operands));
  }

  Expression bare_name(const std::string& name) {
    if (name == "true" || name == "True") return number({false, 1, 0});
    if (name == "false" || name == "False") return number({false, 0, 0});
    if (name == "oo" || name == "int_oo") return number({false, INT64_MAX, 0});
    return call(canonical(name), {});
  }

  Expression finish(const std::string& name, std::vector<Expression> operands) {
    if (auto constant = constant_call(name)) return *constant;
    if (name == "Symbol") {
      if (operands.empty() || !operands[0].function.starts_with("String:"))
        text_.fail("a symbol without name");
      Expression e;
      e.function = "Symbol";
      e.symbol = symbols_.intern(std::string_view(operands[0].function).substr(7));
      return e;
    }
    if (name == "Integer" && operands.size() == 1) return std::move(operands[0]);
    if (name == "Float" && !operands.empty()) {
      if (operands[0].function == "Number")
        return number({true, 0, operands[0].number.as_double()});
      const std::string digits = operands[0].function.substr(7);
      return number({true, 0, std::strtod(digits.c_str(), nullptr)});
    }
    if (name == "Rational" && operands.size() == 2 && operands[1].number.integer != 0) {
      return number({true, 0, operands[0].number.as_double() / operands[1].number.as_double()});
    }
    return call(canonical(name), std::move(operands));
  }

  ExpressionText text_;
  SymbolTable& symbols_;
};

class InfixParser {
 public:
  InfixParser(std::string_view text, SymbolTable& symbols) : text_(text), symbols_(symbols) {}

  Expression parse() {
    Expression e = disjunction(0);
    if (text_.peek() != '\0') text_.fail("text after the expression");
    return e;
  }

 private:
  Expression disjunction(int depth) {
    if (depth > kMaxDepth) text_.fail("nested too deeply");
    Expression left = conjunction(depth);
    while (text_.accept_word("or")) left = call("Or", {std::move(left), conjunction(depth)});
    return left;
  }

  Expression conjunction(int depth) {
    Expression left = negation(depth);
    while (text_.accept_word("and")) left = call("And", {std::move(left), negation(depth)});
    return left;
  }

  Expression negation(int depth) {
    if (depth > kMaxDepth) text_.fail("nested too deeply");
    if (text_.accept_word("not")) return call("Not", {negation(depth + 1)});
    return comparison(depth);
  }

  Expression comparison(int depth) {
    Expression left = sum(depth);
    constexpr auto kOperators =
        std::to_array<std::pair<std::string_view, const char*>>({{"==", "Equality"},
                                                                 {"!=", "Unequality"},
                                                                 {"<=", "LessThan"},
                                                                 {">=", "GreaterThan"},
                                                                 {"<", "StrictLessThan"},
                                                                 {">", "StrictGreaterThan"}});
    for (const auto& [token, function] : kOperators) {
      if (text_.accept(token)) return call(function, {std::move(left), sum(depth)});
    }
    return left;
  }

  Expression sum(int depth) {
    Expression left = product(depth);
    while (true) {
      if (text_.accept("+")) {
        left = call("Add", {std::move(left), product(depth)});
      } else if (text_.accept("-")) {
        left =
            call("Add", {std::move(left), call("Mul", {number({false, -1, 0}), product(depth)})});
      } else {
        return left;
      }
    }
  }

  Expression product(int depth) {
    Expression left = unary(depth);
    while (true) {
      if (text_.accept("//")) {
        left = call("FloorDiv", {std::move(left), unary(depth)});
      } else if (text_.peek_is("**")) {
        return left;
      } else if (text_.accept("*")) {
        left = call("Mul", {std::move(left), unary(depth)});
      } else if (text_.accept("/")) {
        left = call("IntTrueDiv", {std::move(left), unary(depth)});
      } else if (text_.accept("%")) {
        left = call("PythonMod", {std::move(left), unary(depth)});
      } else {
        return left;
      }
    }
  }

  Expression unary(int depth) {
    if (depth > kMaxDepth) text_.fail("nested too deeply");
    if (text_.accept("-")) return call("Mul", {number({false, -1, 0}), unary(depth + 1)});
    Expression base = atom(depth);
    if (text_.accept("**")) return call("Pow", {std::move(base), unary(depth + 1)});
    return base;
  }

  Expression atom(int depth) {
    if (text_.accept("(")) {
      Expression inner = disjunction(depth + 1);
      text_.expect(")");
      return inner;
    }
    const char c = text_.peek();
    if ((c >= '0' && c <= '9') || c == '.') return number(text_.number());
    // "L['x'].size()[0]" is one symbol: a source that the caller resolves.
    const std::string name = text_.source_or_name();
    if (name == "True") return number({false, 1, 0});
    if (name == "False") return number({false, 0, 0});
    if (!text_.peek_is("(")) {
      Expression e;
      e.function = "Symbol";
      e.symbol = symbols_.intern(name);
      return e;
    }
    text_.expect("(");
    std::vector<Expression> operands;
    while (!text_.accept(")")) {
      if (!operands.empty()) text_.expect(",");
      operands.push_back(disjunction(depth + 1));
    }
    return call(canonical(name), std::move(operands));
  }

  ExpressionText text_;
  SymbolTable& symbols_;
};

}  // namespace

Expression parse_srepr(std::string_view text, SymbolTable& symbols) {
  return SreprParser(text, symbols).parse();
}

Expression parse_infix(std::string_view text, SymbolTable& symbols) {
  return InfixParser(text, symbols).parse();
}

}  // namespace tierup::frontend::exported
