// Symbol: an operator or keyword of the language as one byte, so that the parser compares numbers.
//
// A literal converts at compile time: `at("->")` costs one comparison, and a misspelt symbol does
// not compile.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace tierup::frontend::torchscript {

// Sorted, for binary search.
inline constexpr auto kKeywords = std::to_array<std::string_view>({
    "Ellipsis", "False", "None", "NoneType", "True", "and",   "as",     "assert", "break", "class",
    "continue", "def",   "del",  "elif",     "else", "for",   "from",   "global", "if",    "import",
    "in",       "is",    "not",  "or",       "pass", "raise", "return", "while",  "with",
});
// Longest first, so that the first match at a place is the right one.
inline constexpr auto kOperators = std::to_array<std::string_view>({
    "...", "**=", "//=", "<<=", ">>=", "<=>", "->", "**", "//", "<<", ">>", "<=",
    ">=",  "==",  "!=",  "+=",  "-=",  "*=",  "/=", "%=", "|=", "&=", "^=", "@=",
    "+",   "-",   "*",   "/",   "%",   "@",   "(",  ")",  "[",  "]",  ":",  ",",
    "=",   "{",   "}",   ">",   "<",   ".",   "?",  "!",  "&",  "^",  "|",  "~",
});

class Symbol {
 public:
  constexpr Symbol() = default;  // No symbol.
  // NOLINTNEXTLINE(google-explicit-constructor): literals are symbols.
  consteval Symbol(const char* text) : id_(id_of(text)) {
    if (id_ == 0) throw "not an operator or keyword";
  }
  static constexpr Symbol keyword(size_t index) { return Symbol(static_cast<uint8_t>(index + 1)); }
  static constexpr Symbol op(size_t index) {
    return Symbol(static_cast<uint8_t>(kKeywords.size() + index + 1));
  }

  constexpr uint8_t id() const { return id_; }
  constexpr std::string_view text() const {
    if (id_ == 0) return {};
    return id_ <= kKeywords.size() ? kKeywords[id_ - 1] : kOperators[id_ - 1 - kKeywords.size()];
  }
  friend constexpr bool operator==(Symbol, Symbol) = default;

 private:
  explicit constexpr Symbol(uint8_t id) : id_(id) {}
  static constexpr uint8_t id_of(std::string_view text) {
    const auto keyword = std::find(kKeywords.begin(), kKeywords.end(), text);
    if (keyword != kKeywords.end()) return Symbol::keyword(keyword - kKeywords.begin()).id_;
    const auto found = std::find(kOperators.begin(), kOperators.end(), text);
    return found == kOperators.end() ? 0 : Symbol::op(found - kOperators.begin()).id_;
  }

  uint8_t id_ = 0;
};

inline constexpr size_t kSymbolCount = kKeywords.size() + kOperators.size() + 1;

}  // namespace tierup::frontend::torchscript
