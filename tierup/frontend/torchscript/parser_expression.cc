// Expressions, by precedence climbing over the format's own table (section 16 of the spec):
// "and" and "or" have one level, and unary "~" binds as loosely as "not".
#include <algorithm>
#include <array>

#include "tierup/frontend/torchscript/literals.h"
#include "tierup/frontend/torchscript/parser.h"
#include "tierup/frontend/torchscript/syntax_error.h"

namespace tierup::frontend::torchscript {
namespace {

constexpr int kTernaryPrecedence = 1;
constexpr int kNotPrecedence = 3;
constexpr int kComparisonPrecedence = 4;
constexpr int kUnaryPrecedence = 10;
constexpr int kPowerPrecedence = 11;

struct OperatorEntry {
  Symbol symbol;
  Op op = Op::kNothing;
  int precedence = 0;
};

constexpr auto kBinaryOperators = std::to_array<OperatorEntry>({
    {"and", Op::kAnd, 2},      {"or", Op::kOr, 2},
    {"<", Op::kLt, 4},         {">", Op::kGt, 4},
    {"==", Op::kEq, 4},        {"<=", Op::kLe, 4},
    {">=", Op::kGe, 4},        {"!=", Op::kNe, 4},
    {"in", Op::kIn, 4},        {"|", Op::kBitOr, 5},
    {"^", Op::kBitXor, 6},     {"&", Op::kBitAnd, 7},
    {"<<", Op::kShiftLeft, 8}, {">>", Op::kShiftRight, 8},
    {"+", Op::kAdd, 9},        {"-", Op::kSub, 9},
    {"*", Op::kMul, 10},       {"/", Op::kDiv, 10},
    {"//", Op::kFloorDiv, 10}, {"%", Op::kMod, 10},
    {"@", Op::kMatmul, 10},    {"**", Op::kPow, kPowerPrecedence},
});

// The same by the symbol's number; empty entries for all others.
constexpr auto kBySymbol = [] {
  std::array<OperatorEntry, kSymbolCount> table{};
  for (const OperatorEntry& entry : kBinaryOperators) table[entry.symbol.id()] = entry;
  return table;
}();

}  // namespace

Expr* Parser::make(ExprKind kind, uint32_t begin) {
  Expr* expr = unit_.nodes_.make<Expr>();
  expr->kind = kind;
  expr->span = {begin, begin};
  return expr;
}

const Expr* Parser::finish(Expr* expr) {
  expr->span.end = std::max(previous_end(), expr->span.begin);
  int depth = 0;
  for (const Expr* child : expr->children) {
    if (child != nullptr) depth = std::max<int>(depth, child->depth);
  }
  for (const KeywordArgument& keyword : expr->keywords) {
    depth = std::max<int>(depth, keyword.value->depth);
  }
  if (depth + 1 > kMaxNesting) {
    fail_at(*unit_.source(), expr->span.begin, expr->span.begin + 1,
            fmt::format("expression is nested more than {} levels deep", kMaxNesting),
            ErrorCode::kRecursionLimit);
  }
  expr->depth = static_cast<uint16_t>(depth + 1);
  return expr;
}

Parser::BinaryOperator Parser::binary_operator() const {
  const Token& token = current();
  if (token.kind != TokenKind::kOperator && token.kind != TokenKind::kKeyword) return {};
  if (at("is")) {
    if (is_symbol(ahead(), "not")) return {Op::kIsNot, kComparisonPrecedence, 2};
    return {Op::kIs, kComparisonPrecedence, 1};
  }
  if (at("not")) {
    if (is_symbol(ahead(), "in")) return {Op::kNotIn, kComparisonPrecedence, 2};
    return {};
  }
  const OperatorEntry& entry = kBySymbol[token.symbol.id()];
  return {entry.op, entry.precedence, 1};
}

const Expr* Parser::parse_expression(int precedence) {
  const Nesting nesting(*this);
  const uint32_t start = begin();
  const Expr* left = parse_prefix();
  while (true) {
    if (at("if") && precedence < kTernaryPrecedence) {
      left = parse_ternary(left);
      continue;
    }
    const BinaryOperator found = binary_operator();
    if (found.op == Op::kNothing || found.precedence <= precedence) return left;
    for (int i = 0; i < found.tokens; ++i) take();
    // "**" associates to the right: its right side may hold another one.
    const bool right_associative = found.op == Op::kPow;
    Expr* expr = make(ExprKind::kBinary, start);
    expr->op = found.op;
    expr->children = keep({left, parse_expression(found.precedence - (right_associative ? 1 : 0))});
    left = finish(expr);
  }
}

const Expr* Parser::parse_prefix() {
  const uint32_t start = begin();
  ExprKind kind = ExprKind::kUnary;
  Op op = Op::kNothing;
  int precedence = kUnaryPrecedence;
  if (at("-")) {
    return parse_minus(start);
  } else if (at("not")) {
    op = Op::kNot;
    precedence = kNotPrecedence;
  } else if (at("~")) {
    op = Op::kInvert;
    precedence = kNotPrecedence;
  } else if (at("*")) {
    kind = ExprKind::kStarred;
  } else {
    return parse_postfix();
  }
  take();
  Expr* expr = make(kind, start);
  expr->op = op;
  expr->children = keep({parse_expression(precedence)});
  return finish(expr);
}

// A minus directly before a number is part of the literal, unless something binds tighter.
const Expr* Parser::parse_minus(uint32_t start) {
  take();
  if (at_kind(TokenKind::kNumber)) {
    const Token& next = ahead();
    const bool tighter = is_symbol(next, "**") || is_symbol(next, ".") || is_symbol(next, "(") ||
                         is_symbol(next, "[");
    if (!tighter) return parse_number(/*negative=*/true, start);
  }
  Expr* expr = make(ExprKind::kUnary, start);
  expr->op = Op::kNeg;
  expr->children = keep({parse_expression(kUnaryPrecedence)});
  return finish(expr);
}

const Expr* Parser::parse_ternary(const Expr* value) {
  Expr* expr = make(ExprKind::kTernary, value->span.begin);
  expect("if");
  const Expr* condition = parse_expression();
  expect("else");
  expr->children = keep({value, condition, parse_expression()});
  return finish(expr);
}

const Expr* Parser::parse_postfix() {
  const uint32_t start = begin();
  const Expr* expr = parse_primary();
  while (true) {
    if (at("(")) {
      expr = parse_call(expr, start);
    } else if (at("[")) {
      expr = parse_subscript(expr, start);
    } else if (at(".")) {
      take();
      // Attributes may be named like keywords.
      if (!at_kind(TokenKind::kIdentifier) && !at_kind(TokenKind::kKeyword)) {
        fail_expected("a name after '.'");
      }
      Expr* attribute = make(ExprKind::kAttribute, start);
      attribute->text = text();
      take();
      attribute->children = keep({expr});
      expr = finish(attribute);
    } else {
      return expr;
    }
  }
}

const Expr* Parser::parse_call(const Expr* callee, uint32_t start) {
  Expr* call = make(ExprKind::kCall, start);
  Collected<const Expr*> children;
  Collected<KeywordArgument> keywords;
  children.push_back(callee);
  expect("(");
  while (!at(")")) {
    const bool named = (at_kind(TokenKind::kIdentifier) || at_kind(TokenKind::kKeyword)) &&
                       is_symbol(ahead(), "=");
    if (named) {
      KeywordArgument keyword{text(), nullptr, take()};
      expect("=");
      keyword.value = parse_expression();
      keyword.span.end = previous_end();
      keywords.push_back(keyword);
    } else {
      const uint32_t argument_start = begin();
      const Expr* argument = parse_expression();
      if (!keywords.empty() && !argument->is(ExprKind::kStarred)) {
        fail_here(argument->span, "positional argument after a keyword argument");
      }
      if (at("for")) {
        argument = parse_comprehension(make(ExprKind::kListComprehension, argument_start),
                                       Collected<const Expr*>(1, argument));
      }
      children.push_back(argument);
    }
    if (!accept(",")) break;
  }
  expect(")");
  call->children = keep(children);
  call->keywords = keep(keywords);
  return finish(call);
}

const Expr* Parser::parse_subscript(const Expr* base, uint32_t start) {
  Expr* subscript = make(ExprKind::kSubscript, start);
  Collected<const Expr*> children;
  children.push_back(base);
  expect("[");
  if (at("]")) fail_expected("an index");
  while (!at("]")) {
    children.push_back(parse_index());
    if (!accept(",")) break;
  }
  expect("]");
  subscript->children = keep(children);
  return finish(subscript);
}

// An expression, or "start:stop:step" with any of the three left out.
const Expr* Parser::parse_index() {
  const uint32_t start = begin();
  const Expr* first = at(":") ? nullptr : parse_expression();
  if (!at(":")) return first;
  Expr* slice = make(ExprKind::kSlice, start);
  const Expr* later[2] = {nullptr, nullptr};
  for (size_t part = 0; part < 2 && accept(":"); ++part) {
    if (!at(":") && !at("]") && !at(",")) later[part] = parse_expression();
  }
  slice->children = keep({first, later[0], later[1]});
  return finish(slice);
}

const Expr* Parser::parse_primary() {
  switch (current().kind) {
    case TokenKind::kNumber: return parse_number(/*negative=*/false, begin());
    case TokenKind::kString: return parse_string();
    case TokenKind::kIdentifier: {
      Expr* name = make(ExprKind::kName, begin());
      name->text = text();
      take();
      return finish(name);
    }
    case TokenKind::kKeyword: return parse_keyword_literal();
    default: break;
  }
  if (at("(")) return parse_parentheses();
  if (at("[")) return parse_list();
  if (at("{")) return parse_dict();
  if (at("...")) {
    Expr* ellipsis = make(ExprKind::kEllipsis, begin());
    take();
    return finish(ellipsis);
  }
  fail_expected("an expression");
}

const Expr* Parser::parse_keyword_literal() {
  Expr* expr = make(ExprKind::kNone, begin());
  if (at("True") || at("False")) {
    expr->kind = ExprKind::kBool;
    expr->boolean = at("True");
  } else if (at("NoneType")) {
    expr->kind = ExprKind::kName;
    expr->text = "NoneType";
  } else if (at("Ellipsis")) {
    expr->kind = ExprKind::kEllipsis;
  } else if (!at("None")) {
    fail_expected("an expression");
  }
  take();
  return finish(expr);
}

const Expr* Parser::parse_number(bool negative, uint32_t start) {
  Expr* expr = make(ExprKind::kInt, start);
  expr->text = text();
  if (negative) {
    // Canonical texts have no blank behind the sign.
    expr->text = start + 1 == begin() ? source_text_.substr(start, expr->text.size() + 1)
                                      : unit_.nodes_.copy("-" + std::string(text()));
  }
  const std::string_view problem = decode_number(*expr);
  if (!problem.empty()) fail_here({start, current().span.end}, std::string(problem));
  take();
  return finish(expr);
}

const Expr* Parser::parse_string() {
  Expr* expr = make(ExprKind::kString, begin());
  if (ahead().kind != TokenKind::kString) {
    if (const auto plain = plain_string(text())) {
      expr->text = *plain;
      take();
      return finish(expr);
    }
  }
  std::string decoded;
  while (at_kind(TokenKind::kString)) {
    size_t bad_offset = 0;
    const std::string problem = decode_string(text(), decoded, bad_offset);
    if (!problem.empty()) {
      const uint32_t place = begin() + static_cast<uint32_t>(bad_offset);
      fail_here({place, place + 2}, problem);
    }
    take();
  }
  expr->text = unit_.nodes_.copy(decoded);
  return finish(expr);
}

// "()", "(a)", "(a,)", "(a, b)", or a generator "(a for b in c)".
const Expr* Parser::parse_parentheses() {
  const uint32_t start = begin();
  expect("(");
  Collected<const Expr*> items;
  bool comma = false;
  while (!at(")")) {
    items.push_back(parse_expression());
    if (items.size() == 1 && at("for")) {
      Expr* generator = make(ExprKind::kListComprehension, start);
      parse_comprehension(generator, std::move(items));
      expect(")");
      return finish(generator);
    }
    comma = accept(",");
    if (!comma) break;
  }
  expect(")");
  if (items.size() == 1 && !comma) return items[0];
  Expr* tuple = make(ExprKind::kTuple, start);
  tuple->children = keep(items);
  tuple->trailing_comma = comma;
  return finish(tuple);
}

const Expr* Parser::parse_list() {
  Expr* list = make(ExprKind::kList, begin());
  Collected<const Expr*> items;
  expect("[");
  while (!at("]")) {
    items.push_back(parse_expression());
    if (items.size() == 1 && at("for")) {
      list->kind = ExprKind::kListComprehension;
      parse_comprehension(list, std::move(items));
      expect("]");
      return finish(list);
    }
    if (!accept(",")) break;
  }
  expect("]");
  list->children = keep(items);
  return finish(list);
}

const Expr* Parser::parse_dict() {
  Expr* dict = make(ExprKind::kDict, begin());
  Collected<const Expr*> items;
  expect("{");
  while (!at("}")) {
    items.push_back(parse_expression());
    expect(":");
    items.push_back(parse_expression());
    if (items.size() == 2 && at("for")) {
      dict->kind = ExprKind::kDictComprehension;
      parse_comprehension(dict, std::move(items));
      expect("}");
      return finish(dict);
    }
    if (!accept(",")) break;
  }
  expect("}");
  dict->children = keep(items);
  return finish(dict);
}

const Expr* Parser::parse_comprehension(Expr* expr, Collected<const Expr*> parts) {
  expect("for");
  parts.push_back(parse_target_list());
  expect("in");
  parts.push_back(parse_expression());
  expr->children = keep(parts);
  return finish(expr);
}

bool Parser::at_end_of_list() const {
  if (!at_kind(TokenKind::kOperator)) {
    return at_kind(TokenKind::kNewline) || at_kind(TokenKind::kEnd) || at("in");
  }
  constexpr auto kEnders = std::to_array<Symbol>(
      {"=", ")", "]", "}", ":",
       "+=", "-=", "*=", "/=", "//=", "%=", "**=", "|=", "&=", "^=", "<<=", ">>=", "@="});
  return std::find(kEnders.begin(), kEnders.end(), current().symbol) != kEnders.end();
}

const Expr* Parser::parse_expression_list(int precedence) {
  const uint32_t start = begin();
  const Expr* first = parse_expression(precedence);
  if (!at(",")) return first;
  Expr* tuple = make(ExprKind::kTuple, start);
  Collected<const Expr*> items;
  items.push_back(first);
  while (accept(",")) {
    tuple->trailing_comma = at_end_of_list();
    if (tuple->trailing_comma) break;
    items.push_back(parse_expression(precedence));
  }
  tuple->children = keep(items);
  return finish(tuple);
}

// The targets of "for" end where "in" stands, which is an operator everywhere else.
const Expr* Parser::parse_target_list() {
  const Expr* target = parse_expression_list(kComparisonPrecedence);
  check_target(target);
  return target;
}

}  // namespace tierup::frontend::torchscript
