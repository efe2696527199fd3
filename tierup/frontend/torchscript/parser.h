// Parser: recursive descent over the tokens of one file, filling a FileUnit.
//
// Internal to the room: callers use parse_file and parse_expression of ast.h. Expressions stand in
// parser_expression.cc, statements in parser_statement.cc, classes and functions in
// parser_definition.cc. Whatever recurses goes through a Nesting guard, and every expression
// knows its depth, so neither this parser nor those who walk its trees can overflow the stack.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tierup/base/small_vector.h"
#include "tierup/frontend/torchscript/ast.h"
#include "tierup/frontend/torchscript/lexer.h"

namespace tierup::frontend::torchscript {

class Parser {
 public:
  explicit Parser(FileUnit& unit);

  void parse_file();
  const Expr* parse_only_expression();

 private:
  // Counts one level of recursion while it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  // Tokens.
  const Token& current() const { return list_.tokens[at_]; }
  const Token& ahead(size_t n = 1) const;
  std::string_view text(const Token& token) const;
  std::string_view text() const { return text(current()); }
  bool at_kind(TokenKind kind) const { return current().kind == kind; }
  // Whether the current token is this operator or keyword.
  bool at(Symbol symbol) const { return current().symbol == symbol; }
  static bool is_symbol(const Token& token, Symbol symbol) { return token.symbol == symbol; }
  bool accept(Symbol symbol);
  void expect(Symbol symbol);
  std::string_view expect_identifier(std::string_view what);
  void expect_newline();
  void skip_newlines();
  // Skips a line, whatever stands on it.
  void skip_line();
  Span take();
  uint32_t begin() const { return current().span.begin; }
  uint32_t previous_end() const { return at_ == 0 ? 0 : list_.tokens[at_ - 1].span.end; }
  [[noreturn]] void fail_expected(std::string_view wanted) const;
  [[noreturn]] void fail_here(Span span, std::string message) const;

  // Lists are collected aside, since those of nested nodes come in between.
  template <typename T>
  using Collected = SmallVector<T, 8>;
  template <typename T>
  std::span<const T> keep(const Collected<T>& items) {
    return unit_.nodes_.copy(std::span<const T>(items));
  }
  std::span<const Expr* const> keep(std::initializer_list<const Expr*> items) {
    return unit_.nodes_.copy(std::span(items.begin(), items.size()));
  }

  // Expressions.
  Expr* make(ExprKind kind, uint32_t begin);
  // Sets span and depth of a node whose children are complete.
  const Expr* finish(Expr* expr);
  const Expr* parse_expression(int precedence = 0);
  const Expr* parse_prefix();
  const Expr* parse_minus(uint32_t begin);
  const Expr* parse_ternary(const Expr* value);
  const Expr* parse_postfix();
  const Expr* parse_call(const Expr* callee, uint32_t begin);
  const Expr* parse_subscript(const Expr* base, uint32_t begin);
  const Expr* parse_index();
  const Expr* parse_primary();
  const Expr* parse_keyword_literal();
  const Expr* parse_number(bool negative, uint32_t begin);
  const Expr* parse_string();
  const Expr* parse_parentheses();
  const Expr* parse_list();
  const Expr* parse_dict();
  // Behind the elements in `parts`: "for target in iterable", without the brackets.
  const Expr* parse_comprehension(Expr* expr, Collected<const Expr*> parts);
  // "a, b, c" without brackets is a tuple; a single one is itself.
  const Expr* parse_expression_list(int precedence = 0);
  bool at_end_of_list() const;
  // The operator at the current token with its precedence and its number of tokens.
  struct BinaryOperator {
    Op op = Op::kNothing;
    int precedence = 0;
    int tokens = 1;
  };
  BinaryOperator binary_operator() const;

  // Statements.
  Stmt* make_statement(StmtKind kind, uint32_t begin);
  Block parse_suite();
  const Stmt* parse_statement();
  const Stmt* parse_simple_statement();
  const Stmt* parse_expression_statement();
  void parse_assignment(Stmt* statement, const Expr* first);
  const Stmt* parse_if();
  const Stmt* parse_while();
  const Stmt* parse_for();
  const Stmt* parse_with();
  const Stmt* parse_assert();
  const Stmt* parse_names_or_targets(StmtKind kind);
  const Expr* parse_target_list();
  void check_target(const Expr* target, int level = 0) const;

  // Definitions.
  const FunctionDef* parse_function(bool is_method);
  Collected<Parameter> parse_parameters();
  void parse_type_comment(FunctionDef& function, Collected<Parameter>& parameters, bool is_method,
                          uint32_t from);
  const ClassDef* parse_class();
  ClassBase parse_base();
  struct Members {
    Collected<AttributeDef> attributes;
    Collected<NameList> lists;
    Collected<const FunctionDef*> methods;
  };
  void parse_member(Members& members);
  void parse_annotations_member(Members& members);
  void parse_named_member(Members& members);
  std::span<const std::string_view> parse_string_list();
  void parse_op_version_set();
  // The type comment that begins in [from, to), or null.
  const TypeComment* type_comment_between(uint32_t from, uint32_t to) const;
  // Reads a type comment's own tokens with `body`, then goes on where it was.
  template <typename Body>
  void with_comment_tokens(const TypeComment& comment, Body&& body) {
    TokenList inner = tokenize(*unit_.source(), comment.text);
    std::swap(inner, list_);
    const size_t at = std::exchange(at_, 0);
    body();
    skip_newlines();
    if (!at_kind(TokenKind::kEnd)) fail_expected("the end of the type comment");
    at_ = at;
    std::swap(inner, list_);
  }

  FileUnit& unit_;
  std::string_view source_text_;
  TokenList list_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace tierup::frontend::torchscript
