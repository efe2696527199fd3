// TextCursor: a place in a text being parsed, with the few tokens that all of its parsers share.
//
// Spaces and "#" comments are skipped before every token. Errors are kSyntax and say line and
// column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tierup/base/error.h"

namespace tierup::ir {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text, int first_line = 1) : text_(text), line_(first_line) {}

  [[noreturn]] void fail_here(std::string_view what);
  size_t offset() const { return at_; }
  // The line of this place. Counted on from where it was asked last, as every node asks.
  int line();

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space();
  bool at_end() {
    skip_space();
    return at_ >= text_.size();
  }
  // Consumes the token if it comes next.
  bool accept(std::string_view token);
  void expect(std::string_view token);
  // The same without skipping space first.
  bool accept_directly(char c);
  // Whether `token` comes next; consumes nothing but space.
  bool sees(std::string_view token);
  // Letters, digits, "_", "." and "::"; empty if there are none.
  std::string_view accept_name();
  std::string expect_name(std::string_view what);
  // A string in double quotes with the escapes of quote_text.
  std::string expect_string();
  int64_t expect_integer();
  // An integer, or with a point or exponent (or inf, nan) a double.
  bool sees_number();
  struct Number {
    bool is_float = false;
    int64_t integer = 0;
    double floating = 0;
  };
  Number expect_number();
  // The rest of the line from here if it is the comment "# at ..." (without those words); else
  // empty.
  std::string_view accept_location();

 private:
  std::string_view text_;
  size_t at_ = 0;
  size_t counted_ = 0;  // Up to where line_ has counted.
  int line_;
};

}  // namespace tierup::ir
