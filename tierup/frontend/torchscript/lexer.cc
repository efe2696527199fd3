// One pass over the bytes. Widths of indentation are counted in characters (a tab is one), and
// inside brackets line ends mean nothing. Identifiers are ASCII; other bytes may stand only in
// strings and comments.
#include "tierup/frontend/torchscript/lexer.h"

#include <algorithm>
#include <array>

#include "tierup/frontend/torchscript/syntax_error.h"

namespace tierup::frontend::torchscript {
namespace {

// The operators or keywords that begin with one ASCII character.
struct SymbolRange {
  uint8_t first = 0;
  uint8_t count = 0;
};
struct OperatorTable {
  std::array<uint8_t, kOperators.size()> order{};  // Indices by first character, longest first.
  std::array<SymbolRange, 128> ranges{};
};
constexpr OperatorTable make_operator_table() {
  OperatorTable table;
  uint8_t used = 0;
  for (size_t c = 0; c < table.ranges.size(); ++c) {
    table.ranges[c].first = used;
    for (size_t i = 0; i < kOperators.size(); ++i) {
      if (static_cast<size_t>(kOperators[i][0]) == c) table.order[used++] = static_cast<uint8_t>(i);
    }
    table.ranges[c].count = static_cast<uint8_t>(used - table.ranges[c].first);
  }
  return table;
}
constexpr OperatorTable kOperatorTable = make_operator_table();

// kKeywords is sorted: those that begin with each ASCII character stand together.
constexpr auto kKeywordRanges = [] {
  std::array<SymbolRange, 128> ranges{};
  for (size_t i = kKeywords.size(); i-- > 0;) {
    SymbolRange& range = ranges[static_cast<size_t>(kKeywords[i][0])];
    range.first = static_cast<uint8_t>(i);
    ++range.count;
  }
  return ranges;
}();

// By hand, since a call for each comparison would cost more than the few characters.
bool starts_with(std::string_view text, std::string_view start) {
  if (text.size() < start.size()) return false;
  for (size_t i = 0; i < start.size(); ++i) {
    if (text[i] != start[i]) return false;
  }
  return true;
}

Symbol keyword_symbol(std::string_view word) {
  const SymbolRange range = kKeywordRanges[static_cast<unsigned char>(word[0]) & 127];
  for (size_t i = range.first; i < size_t{range.first} + range.count; ++i) {
    if (kKeywords[i].size() == word.size() && starts_with(word, kKeywords[i])) {
      return Symbol::keyword(i);
    }
  }
  return {};
}

enum CharClass : uint8_t { kBlank = 1, kDigit = 2, kWordStart = 4, kWord = 8, kHexDigit = 16 };
constexpr auto kCharClasses = [] {
  std::array<uint8_t, 256> classes{};
  const auto mark = [&](char first, char last, int bits) {
    for (int c = first; c <= last; ++c) classes[static_cast<size_t>(c)] |= bits;
  };
  for (const char c : {' ', '\t', '\r', '\f', '\v'}) mark(c, c, kBlank);
  mark('0', '9', kDigit | kWord | kHexDigit);
  mark('a', 'z', kWordStart | kWord);
  mark('A', 'Z', kWordStart | kWord);
  mark('_', '_', kWordStart | kWord);
  mark('a', 'f', kHexDigit);
  mark('A', 'F', kHexDigit);
  return classes;
}();

bool has_class(char c, CharClass wanted) {
  return (kCharClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}
bool is_digit(char c) { return has_class(c, kDigit); }
bool is_hex_digit(char c) { return has_class(c, kHexDigit); }
bool is_word_start(char c) { return has_class(c, kWordStart); }
bool is_word(char c) { return has_class(c, kWord); }
bool is_blank(char c) { return has_class(c, kBlank); }

class Lexer {
 public:
  Lexer(const ir::Source& source, Span range)
      : source_(source), text_(source.text()), at_(range.begin), end_(range.end) {}

  TokenList run() {
    constexpr size_t kBytesOfToken = 4;  // About.
    result_.tokens.reserve((end_ - at_) / kBytesOfToken);
    skip_byte_order_mark();
    while (at_ < end_) {
      if (at_line_start_) {
        start_line();
        continue;
      }
      step();
    }
    if (!brackets_.empty()) {
      fail_at(source_, brackets_.back(), brackets_.back() + 1, "bracket is never closed");
    }
    end_line();
    while (indents_.size() > 1) {
      indents_.pop_back();
      add(TokenKind::kDedent, at_);
    }
    add(TokenKind::kEnd, at_);
    return std::move(result_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < end_ ? text_[at_ + ahead] : '\0'; }
  void add(TokenKind kind, size_t begin, Symbol symbol = {}) {
    result_.tokens.push_back(
        {kind, symbol, {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)}});
  }
  void skip_byte_order_mark() {
    if (at_ == 0 && text_.substr(0, end_).starts_with("\xEF\xBB\xBF")) at_ = 3;
  }
  // A newline token, unless the line had no other token.
  void end_line() {
    if (!result_.tokens.empty()) {
      const TokenKind last = result_.tokens.back().kind;
      if (last != TokenKind::kNewline && last != TokenKind::kIndent && last != TokenKind::kDedent) {
        add(TokenKind::kNewline, at_);
      }
    }
  }

  // Measures the indentation of a line that has tokens; skips blank and comment-only lines.
  void start_line() {
    const size_t begin = at_;
    while (at_ < end_ && is_blank(text_[at_])) ++at_;
    if (at_ >= end_) return;
    if (text_[at_] == '\n') {
      ++at_;
      return;
    }
    if (text_[at_] == '#') {
      comment();
      return;
    }
    const size_t width = at_ - begin;
    at_line_start_ = false;
    if (width == indents_.back()) return;
    if (width > indents_.back()) {
      check_nesting(indents_.size());
      indents_.push_back(width);
      add(TokenKind::kIndent, at_);
      return;
    }
    while (width < indents_.back()) {
      indents_.pop_back();
      add(TokenKind::kDedent, at_);
    }
    if (width != indents_.back()) {
      fail_at(source_, begin, at_, "indentation matches no open block");
    }
  }

  void step() {
    const char c = text_[at_];
    if (is_blank(c)) {
      ++at_;
    } else if (c == '\n') {
      if (brackets_.empty()) {
        end_line();
        at_line_start_ = true;
      }
      ++at_;
    } else if (c == '\\') {
      join_lines();
    } else if (c == '#') {
      comment();
    } else if (is_word_start(c)) {
      word();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (c == '"' || c == '\'') {
      string();
    } else {
      punctuation();
    }
  }

  void join_lines() {
    size_t next = at_ + 1;
    while (next < end_ && text_[next] == '\r') ++next;
    if (next < end_ && text_[next] != '\n') {
      fail_at(source_, at_, at_ + 1, "expected the end of the line after a backslash");
    }
    at_ = std::min<size_t>(next + 1, end_);
  }

  void comment() {
    const size_t begin = at_;
    while (at_ < end_ && text_[at_] != '\n') ++at_;
    size_t word = begin + 1;
    while (word < at_ && is_blank(text_[word])) ++word;
    constexpr std::string_view kMark = "type:";
    const std::string_view rest = text_.substr(word, at_ - word);
    if (!rest.starts_with(kMark)) return;
    size_t start = word + kMark.size();
    while (start < at_ && is_blank(text_[start])) ++start;
    if (text_.substr(start, at_ - start).starts_with("ignore")) return;
    result_.type_comments.push_back(
        {static_cast<uint32_t>(begin), {static_cast<uint32_t>(start), static_cast<uint32_t>(at_)}});
  }

  void word() {
    const size_t begin = at_;
    while (at_ < end_ && is_word(text_[at_])) ++at_;
    const Symbol keyword = keyword_symbol(text_.substr(begin, at_ - begin));
    add(keyword == Symbol() ? TokenKind::kIdentifier : TokenKind::kKeyword, begin, keyword);
  }

  void digits(bool hex) {
    while (at_ < end_ && (hex ? is_hex_digit(text_[at_]) : is_digit(text_[at_]))) ++at_;
  }

  // The shape that C's strtod takes, with an optional j.
  void number() {
    const size_t begin = at_;
    const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && is_hex_digit(peek(2));
    if (hex) at_ += 2;
    digits(hex);
    if (peek() == '.' && !(peek(1) == '.' && peek(2) == '.')) {
      ++at_;
      digits(hex);
    }
    const char e = peek();
    if (hex ? (e == 'p' || e == 'P') : (e == 'e' || e == 'E')) {
      const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        at_ += 1 + sign;
        digits(false);
      }
    }
    if (peek() == 'j') ++at_;
    add(TokenKind::kNumber, begin);
  }

  void string() {
    const size_t begin = at_;
    const char quote = text_[at_];
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (true) {
      if (at_ >= end_ || (!triple && text_[at_] == '\n')) {
        fail_at(source_, begin, at_, "string is never closed");
      }
      if (text_[at_] == '\\') {
        at_ = std::min<size_t>(at_ + 2, end_);
      } else if (text_[at_] != quote) {
        ++at_;
      } else if (!triple) {
        ++at_;
        break;
      } else if (peek(1) == quote && peek(2) == quote) {
        at_ += 3;
        break;
      } else {
        ++at_;
      }
    }
    add(TokenKind::kString, begin);
  }

  void punctuation() {
    const std::string_view rest = text_.substr(at_, end_ - at_);
    const auto first = static_cast<unsigned char>(rest[0]);
    const SymbolRange range = first < 128 ? kOperatorTable.ranges[first] : SymbolRange{};
    for (size_t i = range.first; i < size_t{range.first} + range.count; ++i) {
      const size_t index = kOperatorTable.order[i];
      if (!starts_with(rest, kOperators[index])) continue;
      track_brackets(rest[0]);
      const size_t begin = at_;
      at_ += kOperators[index].size();
      add(TokenKind::kOperator, begin, Symbol::op(index));
      return;
    }
    fail_at(source_, at_, at_ + 1, "unexpected character");
  }

  void track_brackets(char c) {
    if (c == '(' || c == '[' || c == '{') {
      check_nesting(brackets_.size());
      brackets_.push_back(at_);
    } else if ((c == ')' || c == ']' || c == '}') && !brackets_.empty()) {
      brackets_.pop_back();  // The parser checks that the kinds match.
    }
  }

  void check_nesting(size_t depth) const {
    if (depth >= static_cast<size_t>(kMaxNesting)) {
      fail_at(source_, at_, at_ + 1, fmt::format("nested more than {} levels deep", kMaxNesting),
              ErrorCode::kRecursionLimit);
    }
  }

  const ir::Source& source_;
  std::string_view text_;
  size_t at_;
  size_t end_;
  bool at_line_start_ = true;
  std::vector<size_t> indents_{0};
  std::vector<size_t> brackets_;
  TokenList result_;
};

}  // namespace

TokenList tokenize(const ir::Source& source, Span range) { return Lexer(source, range).run(); }

}  // namespace tierup::frontend::torchscript
