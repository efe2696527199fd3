// Case, padding, classification and formatting of strings, all on ASCII bytes.
#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/base/memory_use.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/number_kernels.h"

namespace tierup::ops {
namespace {

constexpr int64_t kMaxWidth = int64_t{1} << 28;

std::string_view text_of(OpCall& call, size_t argument = 0) { return call.args[argument].to_str(); }
void give(OpCall& call, IValue value) { call.results[0] = std::move(value); }

// The C library's functions of these names depend on the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alpha(char c) { return is_upper(c) || is_lower(c); }
constexpr bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }
constexpr char swap_case(char c) { return is_upper(c) ? to_lower(c) : to_upper(c); }

template <char (*kMap)(char)>
void map_bytes(OpCall& call) {
  std::string text(text_of(call));
  std::transform(text.begin(), text.end(), text.begin(), kMap);
  give(call, std::move(text));
}

template <bool (*kTest)(char)>
void all_bytes(OpCall& call) {
  const std::string_view text = text_of(call);
  give(call, !text.empty() && std::all_of(text.begin(), text.end(), kTest));
}

void title(OpCall& call) {
  std::string text(text_of(call));
  bool after_letter = false;
  for (char& c : text) {
    c = after_letter ? to_lower(c) : to_upper(c);
    after_letter = is_alpha(c);
  }
  give(call, std::move(text));
}

void capitalize(OpCall& call) {
  std::string text(text_of(call));
  std::transform(text.begin(), text.end(), text.begin(), to_lower);
  if (!text.empty()) text[0] = to_upper(text[0]);
  give(call, std::move(text));
}

void is_printable_text(OpCall& call) {
  const std::string_view text = text_of(call);
  give(call, std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

// Some letter, and all letters of this case.
template <bool kUpper>
void is_cased_text(OpCall& call) {
  const std::string_view text = text_of(call);
  const bool any = std::any_of(text.begin(), text.end(), is_alpha);
  give(call, any && std::none_of(text.begin(), text.end(), kUpper ? is_lower : is_upper));
}

// Letters are upper exactly where a word begins.
void is_title(OpCall& call) {
  bool any = false;
  bool after_letter = false;
  for (const char c : text_of(call)) {
    if (is_alpha(c)) {
      if (is_upper(c) == after_letter) return give(call, false);
      any = true;
    }
    after_letter = is_alpha(c);
  }
  give(call, any);
}

// PyTorch takes letters and digits only: an underscore makes no identifier.
void is_identifier(OpCall& call) {
  const std::string_view text = text_of(call);
  give(call,
       !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_alnum));
}

// The bytes that a text lacks to a width.
size_t missing(std::string_view text, int64_t width) {
  require(width <= kMaxWidth, ErrorCode::kOutOfMemory, "a string of {} bytes is too long", width);
  check_object_limit(static_cast<size_t>(std::max<int64_t>(width, 0)));
  const auto size = static_cast<int64_t>(text.size());
  return width > size ? static_cast<size_t>(width - size) : 0;
}

char fill_of(OpCall& call) {
  const std::string_view fill = text_of(call, 2);
  require(fill.size() == 1, ErrorCode::kTypeError,
          "TypeError: The fill character must be exactly one character long");
  return fill[0];
}

void center(OpCall& call) {
  const std::string_view text = text_of(call);
  const char fill = fill_of(call);
  const int64_t width = call.args[1].to_int();
  const size_t padding = missing(text, width);
  // An odd rest goes left if the width is odd, as in Python.
  const size_t left = padding / 2 + (padding & static_cast<size_t>(width) & 1);
  give(call, std::string(left, fill) + std::string(text) + std::string(padding - left, fill));
}

void left_justify(OpCall& call) {
  const std::string_view text = text_of(call);
  const char fill = fill_of(call);
  give(call, std::string(text) + std::string(missing(text, call.args[1].to_int()), fill));
}

void right_justify(OpCall& call) {
  const std::string_view text = text_of(call);
  const char fill = fill_of(call);
  give(call, std::string(missing(text, call.args[1].to_int()), fill) + std::string(text));
}

// Zeros go before a sign too, unlike in Python.
void zero_fill(OpCall& call) {
  const std::string_view text = text_of(call);
  give(call, std::string(missing(text, call.args[1].to_int()), '0') + std::string(text));
}

// Columns count from the start of the text, also after a line end, unlike in Python.
void expand_tabs(OpCall& call) {
  const int64_t width = std::max<int64_t>(call.args[1].to_int(), 0);
  std::string result;
  for (const char c : text_of(call)) {
    if (c != '\t') {
      result += c;
    } else if (width > 0) {
      const auto column = static_cast<int64_t>(result.size());
      require(width <= kMaxWidth && column <= kMaxWidth, ErrorCode::kOutOfMemory,
              "a string with tabs of {} bytes is too long", width);
      result.append(static_cast<size_t>(width - column % width), ' ');
      check_object_limit(result.size());
    }
  }
  give(call, std::move(result));
}

void ordinal(OpCall& call) {
  const std::string_view text = text_of(call);
  require(text.size() == 1, ErrorCode::kInvalidArgument,
          "String for ord() must be 1 character, found {}", text.size());
  give(call, static_cast<int64_t>(static_cast<unsigned char>(text[0])));
}

// One byte, also for numbers above 255.
void character(OpCall& call) {
  const int64_t code = call.args[0].to_int();
  require(code >= 0 && code < 0x110000, ErrorCode::kInvalidArgument,
          "chr() arg not in range(0x110000), found {}", code);
  give(call, std::string(1, static_cast<char>(code)));
}

template <int kBase>
void in_base(OpCall& call) {
  const int64_t value = call.args[0].to_int();
  uint64_t magnitude = static_cast<uint64_t>(value);
  if (value < 0) magnitude = uint64_t{0} - magnitude;
  constexpr std::string_view kPrefix = kBase == 16 ? "0x" : kBase == 8 ? "0o" : "0b";
  const std::string digits = kBase == 16  ? fmt::format("{:x}", magnitude)
                             : kBase == 8 ? fmt::format("{:o}", magnitude)
                                          : fmt::format("{:b}", magnitude);
  give(call, (value < 0 ? "-" : "") + std::string(kPrefix) + digits);
}

// "{}" is replaced, left to right; nothing else is special. Further arguments are ignored.
void format(OpCall& call) {
  const std::string_view text = text_of(call);
  std::string result;
  size_t next = 1;
  size_t at = 0;
  while (true) {
    const size_t found = text.find("{}", at);
    result += text.substr(at, found == std::string_view::npos ? found : found - at);
    if (found == std::string_view::npos) break;
    require(next < call.args.size(), ErrorCode::kInvalidArgument,
            "Too few arguments for format string: {}", text);
    result += to_text(call.args[next++]);
    check_object_limit(result.size());
    at = found + 2;
  }
  give(call, std::move(result));
}

std::string_view kind_name(const IValue& value) {
  return value.is_str() ? std::string_view("String") : value.tag_name();
}

std::string format_integer(const IValue& value, char specifier) {
  require(value.is_number() && !value.is_complex(), ErrorCode::kTypeError,
          "%{} requires a number for formatting, but got {}", specifier, kind_name(value));
  return std::to_string(value.is_float() ? kernels::convert<int64_t>(value.to_float())
                                         : value.to_int());
}

// Formats in single precision, as the reference does.
std::string format_float(const IValue& value, char specifier) {
  require(value.is_number() && !value.is_complex(), ErrorCode::kTypeError,
          "%{} requires a number for formatting, but got {}", specifier, kind_name(value));
  const double number = static_cast<double>(static_cast<float>(value.to_float()));
  switch (specifier) {
    case 'f': return fmt::format("{:f}", number);
    case 'F': return fmt::format("{:F}", number);
    case 'e': return fmt::format("{:e}", number);
    default: return fmt::format("{:E}", number);
  }
}

std::string format_character(const IValue& value) {
  if (value.is_int()) return std::string(1, static_cast<char>(value.to_int()));
  require(value.is_str() && value.to_str().size() == 1, ErrorCode::kTypeError,
          "%c requires an int or char for formatting, but got {}", kind_name(value));
  return value.to_str();
}

std::string format_one(const IValue& value, char specifier) {
  switch (specifier) {
    case 's': return to_text(value);
    case 'd':
    case 'i': return format_integer(value, specifier);
    case 'f':
    case 'F':
    case 'e':
    case 'E': return format_float(value, specifier);
    case 'c': return format_character(value);
    default:
      fail(ErrorCode::kInvalidArgument,
           "The specifier %{} is not supported in TorchScript format strings", specifier);
  }
}

// "%" on strings: %s %d %i %f %F %e %E %c and %%, without widths.
void percent_format(OpCall& call) {
  const std::string_view text = text_of(call);
  std::span<const IValue> values = call.args.subspan(1);
  if (values.size() == 1 && values[0].is_tuple()) values = values[0].to_tuple().items;
  std::string result;
  size_t next = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result += text[at];
      continue;
    }
    ++at;
    require(at < text.size(), ErrorCode::kInvalidArgument, "Incomplete format specifier");
    if (text[at] == '%') {
      result += '%';
      continue;
    }
    require(next < values.size(), ErrorCode::kInvalidArgument,
            "Too few arguments for format string");
    result += format_one(values[next++], text[at]);
    check_object_limit(result.size());
  }
  require(next == values.size(), ErrorCode::kInvalidArgument,
          "Too many arguments for format string");
  give(call, std::move(result));
}

constexpr OpRow kRows[] = {
    {"aten::upper(str self) -> str", &map_bytes<to_upper>},
    {"aten::lower(str self) -> str", &map_bytes<to_lower>},
    {"aten::swapcase(str self) -> str", &map_bytes<swap_case>},
    {"aten::title(str self) -> str", &title},
    {"aten::capitalize(str self) -> str", &capitalize},
    {"aten::center(str self, int width, str fillchar=\" \") -> str", &center, ir::kMayRaise},
    {"aten::ljust(str self, int width, str fillchar=\" \") -> str", &left_justify, ir::kMayRaise},
    {"aten::rjust(str self, int width, str fillchar=\" \") -> str", &right_justify, ir::kMayRaise},
    {"aten::zfill(str self, int width) -> str", &zero_fill, ir::kMayRaise},
    {"aten::expandtabs(str self, int tabsize=8) -> str", &expand_tabs, ir::kMayRaise},
    {"aten::isdigit(str self) -> bool", &all_bytes<is_digit>},
    {"aten::isdecimal(str self) -> bool", &all_bytes<is_digit>},
    {"aten::isnumeric(str self) -> bool", &all_bytes<is_digit>},
    {"aten::isalpha(str self) -> bool", &all_bytes<is_alpha>},
    {"aten::isalnum(str self) -> bool", &all_bytes<is_alnum>},
    {"aten::isspace(str self) -> bool", &all_bytes<is_space>},
    {"aten::isprintable(str self) -> bool", &is_printable_text},
    {"aten::isupper(str self) -> bool", &is_cased_text<true>},
    {"aten::islower(str self) -> bool", &is_cased_text<false>},
    {"aten::istitle(str self) -> bool", &is_title},
    {"aten::isidentifier(str self) -> bool", &is_identifier},
    {"aten::ord(str string) -> int", &ordinal, ir::kMayRaise},
    {"aten::chr(int i) -> str", &character, ir::kMayRaise},
    {"aten::hex(int i) -> str", &in_base<16>},
    {"aten::oct(int i) -> str", &in_base<8>},
    {"aten::bin(int i) -> str", &in_base<2>},
    {"aten::format(str self, ...) -> str", &format, ir::kMayRaise},
    {"aten::percentFormat(str self, ...) -> str", &percent_format, ir::kMayRaise},
};

}  // namespace

std::span<const OpRow> string_text_rows() { return kRows; }

}  // namespace tierup::ops
