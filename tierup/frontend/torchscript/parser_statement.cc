// Statements and blocks.
#include <array>

#include "tierup/frontend/torchscript/parser.h"
#include "tierup/frontend/torchscript/syntax_error.h"

namespace tierup::frontend::torchscript {
namespace {

struct AugmentedEntry {
  Symbol symbol;
  Op op;
};

constexpr auto kAugmented = std::to_array<AugmentedEntry>({
    {"+=", Op::kAdd},
    {"-=", Op::kSub},
    {"*=", Op::kMul},
    {"/=", Op::kDiv},
    {"%=", Op::kMod},
    {"//=", Op::kFloorDiv},
    {"**=", Op::kPow},
    {"@=", Op::kMatmul},
    {"|=", Op::kBitOr},
    {"&=", Op::kBitAnd},
    {"^=", Op::kBitXor},
    {"<<=", Op::kShiftLeft},
    {">>=", Op::kShiftRight},
});

}  // namespace

Stmt* Parser::make_statement(StmtKind kind, uint32_t begin) {
  Stmt* statement = unit_.nodes_.make<Stmt>();
  statement->kind = kind;
  statement->span = {begin, begin};
  return statement;
}

// ":" and an indented block, or simple statements on the same line.
Block Parser::parse_suite() {
  const Nesting nesting(*this);
  expect(":");
  if (!at_kind(TokenKind::kNewline)) {
    Collected<const Stmt*> one;
    one.push_back(parse_simple_statement());
    return keep(one);
  }
  Collected<const Stmt*> block;
  take();
  if (!at_kind(TokenKind::kIndent)) fail_expected("an indented block");
  take();
  while (!at_kind(TokenKind::kDedent) && !at_kind(TokenKind::kEnd)) {
    block.push_back(parse_statement());
  }
  if (at_kind(TokenKind::kDedent)) take();
  return keep(block);
}

const Stmt* Parser::parse_statement() {
  if (at("if")) return parse_if();
  if (at("while")) return parse_while();
  if (at("for")) return parse_for();
  if (at("with")) return parse_with();
  if (at("def")) {
    Stmt* statement = make_statement(StmtKind::kDef, begin());
    statement->function = parse_function(false);
    statement->span = statement->function->span;
    return statement;
  }
  return parse_simple_statement();
}

const Stmt* Parser::parse_simple_statement() {
  struct Word {
    Symbol symbol;
    StmtKind kind;
  };
  constexpr auto kWords = std::to_array<Word>(
      {{"pass", StmtKind::kPass}, {"break", StmtKind::kBreak}, {"continue", StmtKind::kContinue}});
  if (at("assert")) return parse_assert();
  if (at("del")) return parse_names_or_targets(StmtKind::kDelete);
  if (at("global")) return parse_names_or_targets(StmtKind::kGlobal);
  if (at("return") || at("raise")) {
    Stmt* statement = make_statement(at("return") ? StmtKind::kReturn : StmtKind::kRaise, begin());
    take();
    if (!at_kind(TokenKind::kNewline)) statement->value = parse_expression_list();
    statement->span.end = previous_end();
    expect_newline();
    return statement;
  }
  for (const Word& word : kWords) {
    if (!at(word.symbol)) continue;
    Stmt* statement = make_statement(word.kind, begin());
    statement->span = take();
    expect_newline();
    return statement;
  }
  return parse_expression_statement();
}

const Stmt* Parser::parse_expression_statement() {
  Stmt* statement = make_statement(StmtKind::kExpr, begin());
  const Expr* first = parse_expression_list();
  if (at("=") || at(":")) {
    parse_assignment(statement, first);
  } else {
    statement->value = first;
    for (const AugmentedEntry& entry : kAugmented) {
      if (!at(entry.symbol)) continue;
      statement->kind = StmtKind::kAugAssign;
      statement->op = entry.op;
      check_target(first);
      statement->targets = keep({first});
      take();
      statement->value = parse_expression_list();
      break;
    }
  }
  statement->span.end = previous_end();
  expect_newline();
  return statement;
}

// "a = b = value", "a : T = value", "a : T", "a = value  # type: T".
void Parser::parse_assignment(Stmt* statement, const Expr* first) {
  statement->kind = StmtKind::kAssign;
  check_target(first);
  if (accept(":")) {
    statement->targets = keep({first});
    statement->annotation = parse_expression();
    if (accept("=")) statement->value = parse_expression_list();
    return;
  }
  Collected<const Expr*> targets;
  targets.push_back(first);
  while (accept("=")) {
    if (statement->value != nullptr) {
      check_target(statement->value);
      targets.push_back(statement->value);
    }
    statement->value = parse_expression_list();
  }
  statement->targets = keep(targets);
  const TypeComment* comment = type_comment_between(previous_end(), begin());
  if (comment != nullptr && at_kind(TokenKind::kNewline)) {
    with_comment_tokens(*comment, [&] { statement->annotation = parse_expression(); });
  }
}

// An "elif" becomes an if statement inside the else block.
const Stmt* Parser::parse_if() {
  const Nesting nesting(*this);
  Stmt* statement = make_statement(StmtKind::kIf, begin());
  take();
  statement->value = parse_expression();
  statement->span.end = previous_end();
  statement->body = parse_suite();
  if (at("elif")) {
    Collected<const Stmt*> one;
    one.push_back(parse_if());
    statement->orelse = keep(one);
  } else if (accept("else")) {
    statement->orelse = parse_suite();
  }
  return statement;
}

const Stmt* Parser::parse_while() {
  Stmt* statement = make_statement(StmtKind::kWhile, begin());
  take();
  statement->value = parse_expression();
  statement->span.end = previous_end();
  statement->body = parse_suite();
  return statement;
}

const Stmt* Parser::parse_for() {
  Stmt* statement = make_statement(StmtKind::kFor, begin());
  take();
  statement->targets = keep({parse_target_list()});
  expect("in");
  statement->value = parse_expression_list();
  statement->span.end = previous_end();
  statement->body = parse_suite();
  return statement;
}

const Stmt* Parser::parse_with() {
  Stmt* statement = make_statement(StmtKind::kWith, begin());
  take();
  Collected<WithItem> items;
  do {
    WithItem item;
    item.value = parse_expression();
    if (accept("as")) {
      item.target = parse_expression();
      check_target(item.target);
    }
    items.push_back(item);
  } while (accept(","));
  statement->items = keep(items);
  statement->span.end = previous_end();
  statement->body = parse_suite();
  return statement;
}

const Stmt* Parser::parse_assert() {
  Stmt* statement = make_statement(StmtKind::kAssert, begin());
  take();
  statement->value = parse_expression();
  if (accept(",")) statement->message = parse_expression();
  statement->span.end = previous_end();
  expect_newline();
  return statement;
}

const Stmt* Parser::parse_names_or_targets(StmtKind kind) {
  Stmt* statement = make_statement(kind, begin());
  take();
  Collected<const Expr*> targets;
  do {
    const Expr* target = parse_expression();
    check_target(target);
    if (kind == StmtKind::kGlobal && !target->is(ExprKind::kName)) {
      fail_here(target->span, "expected a name");
    }
    targets.push_back(target);
  } while (accept(","));
  statement->targets = keep(targets);
  statement->span.end = previous_end();
  expect_newline();
  return statement;
}

// The tree's depth is bounded, so this may recurse.
void Parser::check_target(const Expr* target, int level) const {
  switch (target->kind) {
    case ExprKind::kName:
    case ExprKind::kAttribute:
    case ExprKind::kSubscript: return;
    case ExprKind::kStarred:
      if (level == 0) break;
      return check_target(target->child(), level + 1);
    case ExprKind::kTuple:
    case ExprKind::kList:
      for (const Expr* child : target->children) check_target(child, level + 1);
      return;
    default: break;
  }
  fail_here(target->span, "cannot assign to this expression");
}

}  // namespace tierup::frontend::torchscript
