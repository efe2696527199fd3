#include "tierup/frontend/torchscript/parser.h"

#include <algorithm>
#include <limits>

#include "tierup/frontend/torchscript/syntax_error.h"

namespace tierup::frontend::torchscript {
namespace {

Span whole(const ir::Source& source) {
  require(source.text().size() < std::numeric_limits<uint32_t>::max(), ErrorCode::kSyntax,
          "{}: the file has 4 GiB or more", source.name());
  return {0, static_cast<uint32_t>(source.text().size())};
}

}  // namespace

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (parser.nesting_ >= kMaxNesting) {
    fail_at(*parser.unit_.source(), parser.current().span.begin, parser.current().span.end,
            fmt::format("nested more than {} levels deep", kMaxNesting),
            ErrorCode::kRecursionLimit);
  }
  ++parser.nesting_;
}

Parser::Parser(FileUnit& unit)
    : unit_(unit),
      source_text_(unit.source()->text()),
      list_(tokenize(*unit.source(), whole(*unit.source()))) {
  constexpr size_t kBytesOfToken = 56;  // Of a tree, about.
  unit_.nodes_.expect(list_.tokens.size() * kBytesOfToken);
}

const Expr* Parser::parse_only_expression() {
  if (at_kind(TokenKind::kIndent)) take();  // Leading blanks.
  const Expr* expr = parse_expression();
  while (at_kind(TokenKind::kNewline) || at_kind(TokenKind::kDedent)) take();
  if (!at_kind(TokenKind::kEnd)) fail_expected("the end of the expression");
  return expr;
}

const Token& Parser::ahead(size_t n) const {
  return list_.tokens[std::min(at_ + n, list_.tokens.size() - 1)];
}

std::string_view Parser::text(const Token& token) const {
  return source_text_.substr(token.span.begin, token.span.end - token.span.begin);
}

bool Parser::accept(Symbol symbol) {
  if (!at(symbol)) return false;
  take();
  return true;
}

void Parser::expect(Symbol symbol) {
  if (!accept(symbol)) fail_expected(fmt::format("'{}'", symbol.text()));
}

std::string_view Parser::expect_identifier(std::string_view what) {
  if (!at_kind(TokenKind::kIdentifier)) fail_expected(what);
  const std::string_view name = text();
  take();
  return name;
}

void Parser::expect_newline() {
  if (at_kind(TokenKind::kEnd)) return;
  if (!at_kind(TokenKind::kNewline)) fail_expected("the end of the line");
  take();
}

void Parser::skip_newlines() {
  while (at_kind(TokenKind::kNewline)) take();
}

void Parser::skip_line() {
  while (!at_kind(TokenKind::kNewline) && !at_kind(TokenKind::kEnd)) take();
  expect_newline();
}

Span Parser::take() {
  const Span span = current().span;
  if (at_ + 1 < list_.tokens.size()) ++at_;
  return span;
}

void Parser::fail_expected(std::string_view wanted) const {
  std::string found;
  switch (current().kind) {
    case TokenKind::kEnd: found = "the end of the file"; break;
    case TokenKind::kNewline: found = "the end of the line"; break;
    case TokenKind::kIndent: found = "deeper indentation"; break;
    case TokenKind::kDedent: found = "the end of the block"; break;
    default: found = fmt::format("'{}'", text().substr(0, 40)); break;
  }
  fail_here(current().span, fmt::format("expected {} but found {}", wanted, found));
}

void Parser::fail_here(Span span, std::string message) const {
  fail_at(*unit_.source(), span.begin, span.end, std::move(message));
}

std::shared_ptr<FileUnit> parse_file(std::shared_ptr<const ir::Source> source) {
  auto unit = std::make_shared<FileUnit>(std::move(source));
  Parser(*unit).parse_file();
  return unit;
}

ParsedExpression parse_expression(std::shared_ptr<const ir::Source> source) {
  auto unit = std::make_shared<FileUnit>(std::move(source));
  const Expr* expression = Parser(*unit).parse_only_expression();
  return {std::move(unit), expression};
}

}  // namespace tierup::frontend::torchscript
