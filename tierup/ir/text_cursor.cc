// See text_cursor.h.
#include "tierup/ir/text_cursor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tierup::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.';
}

}  // namespace

int TextCursor::line() {
  const std::string_view passed = text_.substr(0, at_).substr(counted_);
  counted_ += passed.size();
  line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
  return line_;
}

void TextCursor::fail_here(std::string_view what) {
  const size_t newline = at_ == 0 ? std::string_view::npos : text_.rfind('\n', at_ - 1);
  const size_t column = newline == std::string_view::npos ? at_ : at_ - newline - 1;
  fail(ErrorCode::kSyntax, "Graph text, line {}, column {}: {}", line(), column + 1, what);
}

void TextCursor::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

bool TextCursor::accept(std::string_view token) {
  if (!sees(token)) return false;
  at_ += token.size();
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!accept(token)) fail_here("expected '" + std::string(token) + "'");
}

bool TextCursor::accept_directly(char c) {
  if (peek() != c || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

bool TextCursor::sees(std::string_view token) {
  skip_space();
  return text_.substr(at_, token.size()) == token;
}

std::string_view TextCursor::accept_name() {
  skip_space();
  const size_t begin = at_;
  while (is_name(peek()) || text_.substr(at_, 2) == "::") at_ += peek() == ':' ? 2 : 1;
  return text_.substr(begin, at_ - begin);
}

std::string TextCursor::expect_name(std::string_view what) {
  if (sees("\"")) return expect_string();
  const std::string_view name = accept_name();
  if (name.empty()) fail_here("expected " + std::string(what));
  return std::string(name);
}

std::string TextCursor::expect_string() {
  expect("\"");
  std::string result;
  while (!accept_directly('"')) {
    if (at_ >= text_.size()) fail_here("string without end");
    char c = text_[at_++];
    if (c != '\\') {
      result += c;
      continue;
    }
    c = peek();
    ++at_;
    switch (c) {
      case 'n': result += '\n'; break;
      case 't': result += '\t'; break;
      case 'r': result += '\r'; break;
      case '"': result += '"'; break;
      case '\\': result += '\\'; break;
      case 'x': {
        int code = 0;
        const std::string_view digits = text_.substr(std::min(at_, text_.size()), 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (error != std::errc() || end != digits.data() + 2) fail_here("bad escape");
        result += static_cast<char>(code);
        at_ += 2;
        break;
      }
      default: fail_here("bad escape");
    }
  }
  return result;
}

int64_t TextCursor::expect_integer() {
  skip_space();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail_here("expected an integer");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

bool TextCursor::sees_number() {
  skip_space();
  const char c = peek();
  if (is_digit(c)) return true;
  const std::string_view rest = text_.substr(at_);
  if (c == '-') return rest.size() > 1 && (is_digit(rest[1]) || rest.starts_with("-inf"));
  const auto is_word = [&](std::string_view word) {
    return rest.starts_with(word) && (rest.size() == word.size() || !is_name(rest[word.size()]));
  };
  return is_word("inf") || is_word("nan");
}

TextCursor::Number TextCursor::expect_number() {
  if (!sees_number()) fail_here("expected a number");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Number number{.is_float = true};
  if (accept("inf")) {
    number.floating = kInfinity;
  } else if (accept("-inf")) {
    number.floating = -kInfinity;
  } else if (accept("nan")) {
    number.floating = std::numeric_limits<double>::quiet_NaN();
  } else {
    size_t end = at_ + 1;
    const auto is_part = [&](char c, char before) {
      return is_digit(c) || c == '.' || c == 'e' || ((c == '-' || c == '+') && before == 'e');
    };
    while (end < text_.size() && is_part(text_[end], text_[end - 1])) ++end;
    const std::string digits(text_.substr(at_, end - at_));
    if (digits.find_first_of(".e") == std::string::npos) {
      return {.is_float = false, .integer = expect_integer()};
    }
    char* stop = nullptr;
    number.floating = std::strtod(digits.c_str(), &stop);
    if (*stop != '\0') fail_here("not a number");
    at_ = end;
  }
  return number;
}

std::string_view TextCursor::accept_location() {
  size_t begin = at_;
  while (begin < text_.size() && text_[begin] == ' ') ++begin;
  constexpr std::string_view kMark = "# at ";
  if (text_.substr(begin, kMark.size()) != kMark) return {};
  begin += kMark.size();
  at_ = std::min(text_.find('\n', begin), text_.size());
  return text_.substr(begin, at_ - begin);
}

}  // namespace tierup::ir
