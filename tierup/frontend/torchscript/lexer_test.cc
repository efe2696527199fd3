#include "tierup/frontend/torchscript/lexer.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"

namespace tierup::frontend::torchscript {
namespace {

// Tokens as text, joined by blanks; layout tokens as <newline>, <indent>, <dedent>.
std::string lex(const std::string& text) {
  const ir::Source source("code/t.py", text);
  const TokenList list = tokenize(source, {0, static_cast<uint32_t>(text.size())});
  std::string result;
  for (const Token& token : list.tokens) {
    if (!result.empty()) result += ' ';
    switch (token.kind) {
      case TokenKind::kNewline: result += "<newline>"; break;
      case TokenKind::kIndent: result += "<indent>"; break;
      case TokenKind::kDedent: result += "<dedent>"; break;
      case TokenKind::kEnd: result += "<end>"; break;
      default: result += text.substr(token.span.begin, token.span.end - token.span.begin);
    }
  }
  return result;
}

TEST(Lexer, EmptyTextHasOnlyAnEnd) {
  EXPECT_EQ(lex(""), "<end>");
  EXPECT_EQ(lex("\n\n  # only a comment\n"), "<end>");
}

TEST(Lexer, IndentationMakesBlocks) {
  EXPECT_EQ(lex("a:\n  b\n  c\nd\n"),
            "a : <newline> <indent> b <newline> c <newline> <dedent> d "
            "<newline> <end>");
  EXPECT_EQ(lex("a\n  b\n    c"),
            "a <newline> <indent> b <newline> <indent> c <newline> <dedent> "
            "<dedent> <end>");
}

TEST(Lexer, BlankLinesAndCommentsDoNotCloseBlocks) {
  EXPECT_EQ(lex("a:\n  b\n\n# c\n      # d\n  e\n"),
            "a : <newline> <indent> b <newline> e <newline> <dedent> <end>");
}

TEST(Lexer, TabCountsAsOneCharacter) {
  EXPECT_EQ(lex("a:\n\tb\n c\n"), "a : <newline> <indent> b <newline> c <newline> <dedent> <end>");
}

TEST(Lexer, LineEndsVanishInBracketsAndAfterBackslash) {
  EXPECT_EQ(lex("f(a,\n b)\n"), "f ( a , b ) <newline> <end>");
  EXPECT_EQ(lex("a + \\\n  b\n"), "a + b <newline> <end>");
  EXPECT_EQ(lex("a = [\r\n1]\r\nb\r\n"), "a = [ 1 ] <newline> b <newline> <end>");
}

TEST(Lexer, LongestOperatorWins) {
  EXPECT_EQ(lex("a**=b//c<<=d...e->f<=>g"), "a **= b // c <<= d ... e -> f <=> g <newline> <end>");
}

TEST(Lexer, NumbersTakeTheShapeOfStrtod) {
  EXPECT_EQ(lex("1.5e-3 .5 2.j 017 0x1F 1e5j 3. 1if"),
            "1.5e-3 .5 2.j 017 0x1F 1e5j 3. 1 if <newline> <end>");
}

TEST(Lexer, StringsMayHoldOtherQuotesAndNewlinesIfTriple) {
  EXPECT_EQ(lex("'a\"b' \"c\\\"d\" '''e\nf'g'''"),
            "'a\"b' \"c\\\"d\" '''e\nf'g''' <newline> <end>");
  EXPECT_EQ(lex("\"\" ''"), "\"\" '' <newline> <end>");
}

TEST(Lexer, TypeCommentsAreKeptAside) {
  const std::string text = "x = []  # type: List[int]\ny  # type: ignore\n# type: (T) -> R\n";
  const ir::Source source("code/t.py", text);
  const TokenList list = tokenize(source, {0, static_cast<uint32_t>(text.size())});
  ASSERT_EQ(list.type_comments.size(), 2u);
  const Span span = list.type_comments[0].text;
  EXPECT_EQ(text.substr(span.begin, span.end - span.begin), "List[int]");
}

TEST(Lexer, BadTextIsRefusedWithItsPlace) {
  for (const char* text :
       {"a\n  b\n c\n", "'open", "f(a", "a $ b", "'x\ny'", "\\x", "caf\xC3\xA9"}) {
    EXPECT_THROW(lex(text), Error) << text;
  }
  try {
    lex("ok\nx = $\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kSyntax);
    EXPECT_NE(std::string(error.what()).find("code/t.py:2:5"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("x = $\n      ~"), std::string::npos) << error.what();
  }
}

TEST(Lexer, EndlessNestingIsRefused) { EXPECT_THROW(lex(std::string(100000, '(')), Error); }

}  // namespace
}  // namespace tierup::frontend::torchscript
