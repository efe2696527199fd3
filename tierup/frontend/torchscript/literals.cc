// Numbers are classified by their text alone: "j" makes them imaginary, one of ". e E" floats, and
// all others are integers with C's base prefixes ("017" is octal). So "0x1e" is a float.
#include "tierup/frontend/torchscript/literals.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace tierup::frontend::torchscript {
namespace {

// Locale-free strtod of the whole text; out of range gives infinity or zero.
bool parse_double(std::string_view text, double& value) {
  std::chars_format format = std::chars_format::general;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    format = std::chars_format::hex;
    text.remove_prefix(2);
  }
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value, format);
  if (result.ec == std::errc::result_out_of_range) {
    // The exponent says on which side; without one, a leading zero means a tiny number.
    const size_t exponent = text.find_first_of("eEpP");
    const bool tiny = exponent != std::string_view::npos && exponent + 1 < text.size()
                          ? text[exponent + 1] == '-'
                          : text.front() == '0' || text.front() == '.';
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  }
  return result.ec != std::errc::invalid_argument && result.ptr == end;
}

// Digits with a base prefix, without sign; false if there are other characters or it overflows.
bool parse_magnitude(std::string_view digits, uint64_t& value) {
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
    digits.remove_prefix(1);
  }
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, base);
  return result.ec == std::errc() && result.ptr == end;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// Reads `count` hexadecimal digits at `at`; false if there are fewer.
bool read_hex(std::string_view body, size_t at, size_t count, uint32_t& code) {
  if (body.size() < at + count) return false;
  code = 0;
  for (size_t i = 0; i < count; ++i) {
    const int digit = hex_value(body[at + i]);
    if (digit < 0) return false;
    code = code * 16 + static_cast<uint32_t>(digit);
  }
  return true;
}

// The escape at body[at] (after the backslash); returns the characters consumed, 0 if it is bad.
size_t decode_escape(std::string_view body, size_t at, std::string& out) {
  constexpr std::string_view kLetters = "\\'\"abfntvr\n";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\t\v\r\n";
  const size_t letter = kLetters.find(body[at]);
  if (letter != std::string_view::npos) {
    out += kMeanings[letter];
    return 1;
  }
  uint32_t code = 0;
  switch (body[at]) {
    case 'x':
      if (!read_hex(body, at + 1, 2, code)) return 0;
      out += static_cast<char>(code);
      return 3;
    case 'u':
      if (!read_hex(body, at + 1, 4, code)) return 0;
      append_utf8(code, out);
      return 5;
    case 'U':
      if (!read_hex(body, at + 1, 8, code) || code > 0x10FFFF) return 0;
      append_utf8(code, out);
      return 9;
    case '\r':  // A line of a file with CR LF ends, joined.
      if (at + 1 >= body.size() || body[at + 1] != '\n') return 0;
      out += '\n';
      return 2;
    default: break;
  }
  if (body.size() < at + 3) return 0;
  for (size_t i = 0; i < 3; ++i) {
    const char c = body[at + i];
    if (c < '0' || c > '7') return 0;
    code = code * 8 + static_cast<uint32_t>(c - '0');
  }
  if (code > 0xFF) return 0;
  out += static_cast<char>(code);
  return 3;
}

size_t quote_width(std::string_view token) {
  const char quote = token.front();
  return token.size() >= 6 && token[1] == quote && token[2] == quote ? 3 : 1;
}

}  // namespace

std::string_view decode_number(Expr& expr) {
  std::string_view token = expr.text;
  const bool negative = token.starts_with('-');
  if (negative) token.remove_prefix(1);
  const bool imaginary = token.ends_with('j');
  if (imaginary) token.remove_suffix(1);
  const bool hex = token.starts_with("0x") || token.starts_with("0X");
  if (imaginary || token.find_first_of(".eE") != std::string_view::npos) {
    expr.kind = imaginary ? ExprKind::kComplex : ExprKind::kFloat;
    double value = 0;
    if (!parse_double(token, value)) return "invalid number";
    expr.floating = negative ? -value : value;
    return {};
  }
  expr.kind = ExprKind::kInt;
  uint64_t magnitude = 0;
  if (!parse_magnitude(token, magnitude)) {
    const size_t bad = hex ? token.find_first_not_of("0123456789abcdefABCDEF", 2)
                           : token.find_first_not_of("0123456789");
    const bool octal = !hex && token.front() == '0' && token.find_first_of("89") != token.npos;
    if (bad != std::string_view::npos || octal) return "invalid number";
    return "integer does not fit 64 bits";
  }
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  if (magnitude > kLimit || (magnitude == kLimit && !negative))
    return "integer does not fit 64 bits";
  expr.integer = static_cast<int64_t>(negative ? uint64_t{0} - magnitude : magnitude);
  return {};
}

std::optional<std::string_view> plain_string(std::string_view token) {
  const size_t width = quote_width(token);
  const std::string_view body = token.substr(width, token.size() - 2 * width);
  if (body.find('\\') != std::string_view::npos) return std::nullopt;
  return body;
}

std::string decode_string(std::string_view token, std::string& out, size_t& bad_offset) {
  const size_t width = quote_width(token);
  const std::string_view body = token.substr(width, token.size() - 2 * width);
  size_t at = 0;
  while (at < body.size()) {
    if (body[at] != '\\') {
      out += body[at++];
      continue;
    }
    const size_t used = at + 1 < body.size() ? decode_escape(body, at + 1, out) : 0;
    if (used == 0) {
      bad_offset = width + at;
      return "unknown escape in a string";
    }
    at += 1 + used;
  }
  return {};
}

}  // namespace tierup::frontend::torchscript
