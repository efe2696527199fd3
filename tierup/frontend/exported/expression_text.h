// ExpressionText: the characters of a shape expression, read token by token.
#pragma once

#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/symbolic_expression.h"

namespace tierup::frontend::exported {

class ExpressionText {
 public:
  explicit ExpressionText(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view problem) const {
    tierup::fail(ErrorCode::kCorruptArchive, "shape expression '{}': {} at {}",
                 text_.substr(0, 200), problem, at_);
  }

  // The next character that is no blank; '\0' at the end.
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool peek_is(std::string_view token) {
    peek();
    return text_.substr(at_, token.size()) == token;
  }
  bool accept(std::string_view token) {
    if (!peek_is(token)) return false;
    at_ += token.size();
    return true;
  }
  // A whole word: "or" does not match the start of "order".
  bool accept_word(std::string_view word) {
    if (!peek_is(word)) return false;
    const size_t end = at_ + word.size();
    if (end < text_.size() && is_name_char(text_[end])) return false;
    at_ = end;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}'", token));
  }

  size_t position() const { return at_; }
  void rewind(size_t position) { at_ = position; }

  bool accept_name() {
    peek();
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return at_ > begin;
  }
  // A name, possibly dotted ("math.floor").
  std::string name() {
    peek();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_name_char(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ == begin) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  // A name, or a guard's source with all its accessors: "L['d']['x'].size()[0]".
  std::string source_or_name() {
    std::string result = name();
    while (at_ < text_.size()) {
      if (text_[at_] == '[') {
        const size_t end = text_.find(']', at_);
        if (end == std::string_view::npos) fail("expected ']'");
        result += text_.substr(at_, end + 1 - at_);
        at_ = end + 1;
      } else if (text_[at_] == '.') {
        result += '.';
        ++at_;
        result += name();
      } else if (text_.substr(at_, 2) == "()") {
        result += "()";
        at_ += 2;
      } else {
        break;
      }
    }
    return result;
  }
  std::string string() {
    const char quote = peek();
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("an unterminated string");
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  Number number() {
    peek();
    if (at_ < text_.size() && text_[at_] == '+') ++at_;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    Number result;
    const auto whole = std::from_chars(begin, end, result.integer);
    const bool is_integer =
        whole.ec == std::errc() && (whole.ptr == end || (*whole.ptr != '.' && *whole.ptr != 'e'));
    if (is_integer) {
      at_ += static_cast<size_t>(whole.ptr - begin);
      return result;
    }
    const bool too_large = whole.ec == std::errc::result_out_of_range &&
                           (whole.ptr == end || (*whole.ptr != '.' && *whole.ptr != 'e'));
    if (too_large) fail("a number beyond 64 bits");
    const auto real = std::from_chars(begin, end, result.floating);
    if (real.ec != std::errc()) fail("expected a number of 64 bits");
    result.is_float = true;
    at_ += static_cast<size_t>(real.ptr - begin);
    return result;
  }

 private:
  static bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace tierup::frontend::exported
