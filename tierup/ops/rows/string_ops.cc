// Searching, splitting and slicing of strings. Strings are bytes: an index, a length and a case
// know nothing of UTF-8.
#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/base/memory_use.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/sequence_slice.h"

namespace tierup::ops {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85";
constexpr std::string_view kLineEnds = "\n\r\v\f\x1c\x1d\x1e\x85";

std::string_view text_of(OpCall& call, size_t argument = 0) { return call.args[argument].to_str(); }
void give(OpCall& call, IValue value) { call.results[0] = std::move(value); }

// The half-open range that "start" and "end" arguments name; an end of -1 means "to the end".
struct Range {
  int64_t start = 0;
  int64_t end = 0;
};
Range range_of(OpCall& call, int64_t length) {
  int64_t start = call.args[2].to_int();
  int64_t end = call.args[3].to_int();
  if (start < 0) start = std::max<int64_t>(start + length, 0);
  if (end < 0) end = std::max<int64_t>(end + length + 1, 0);
  return {start, std::min(end, length)};
}
std::string_view within(std::string_view text, Range range) {
  const auto length = static_cast<int64_t>(text.size());
  if (range.start >= length || range.end <= range.start) return {};
  return text.substr(static_cast<size_t>(range.start),
                     static_cast<size_t>(range.end - range.start));
}

// -1 if there is none. An empty text is found where the search begins.
int64_t find_first(OpCall& call) {
  const std::string_view text = text_of(call);
  const std::string_view wanted = text_of(call, 1);
  const Range range = range_of(call, static_cast<int64_t>(text.size()));
  if (wanted.empty()) return range.start;
  const size_t found = within(text, range).find(wanted);
  return found == std::string_view::npos ? -1 : range.start + static_cast<int64_t>(found);
}
int64_t find_last(OpCall& call) {
  const std::string_view text = text_of(call);
  const std::string_view wanted = text_of(call, 1);
  const Range range = range_of(call, static_cast<int64_t>(text.size()));
  if (wanted.empty()) return std::max(range.start, range.end);
  const size_t found = within(text, range).rfind(wanted);
  return found == std::string_view::npos ? -1 : range.start + static_cast<int64_t>(found);
}
int64_t required(int64_t position) {
  require(position >= 0, ErrorCode::kInvalidArgument, "ValueError: substring not found");
  return position;
}
void find(OpCall& call) { give(call, find_first(call)); }
void rfind(OpCall& call) { give(call, find_last(call)); }
void index(OpCall& call) { give(call, required(find_first(call))); }
void rindex(OpCall& call) { give(call, required(find_last(call))); }

void count(OpCall& call) {
  const std::string_view text = text_of(call);
  const std::string_view wanted = text_of(call, 1);
  const std::string_view part = within(text, range_of(call, static_cast<int64_t>(text.size())));
  if (wanted.empty()) return give(call, static_cast<int64_t>(part.size()) + 1);
  int64_t found = 0;
  for (size_t at = part.find(wanted); at != std::string_view::npos;
       at = part.find(wanted, at + wanted.size())) {
    ++found;
  }
  give(call, found);
}

void starts_with(OpCall& call) {
  const std::string_view text = text_of(call);
  const auto length = static_cast<int64_t>(text.size());
  const Range range = range_of(call, length);
  give(call, range.start <= length && within(text, range).starts_with(text_of(call, 1)));
}
void ends_with(OpCall& call) {
  const std::string_view text = text_of(call);
  const auto length = static_cast<int64_t>(text.size());
  const Range range = range_of(call, length);
  give(call, range.start <= length && within(text, range).ends_with(text_of(call, 1)));
}

void replace(OpCall& call) {
  const std::string_view text = text_of(call);
  const std::string_view old = text_of(call, 1);
  const std::string_view fresh = text_of(call, 2);
  int64_t left = call.args[3].to_int();  // Negative: all of them.
  std::string result;
  size_t at = 0;
  while (left != 0) {
    const size_t found = text.find(old, at);
    if (found == std::string_view::npos) break;
    result += text.substr(at, found - at);
    result += fresh;
    check_object_limit(result.size());
    at = found + old.size();
    if (old.empty()) {
      // Between all bytes, and at both ends.
      if (at >= text.size()) break;
      result += text[at++];
    }
    --left;
  }
  if (at < text.size()) result += text.substr(at);
  give(call, std::move(result));
}

IValue string_list(std::vector<IValue> items) {
  return make_ref<ListValue>(Type::str(), std::move(items));
}
// A text of one byte may fall into as many pieces as it has bytes, each a value of its own.
IValue piece(std::string_view text) {
  check_object_limit(text.size());
  return {std::string(text)};
}

std::vector<IValue> split_blanks(std::string_view text) {
  std::vector<IValue> items;
  size_t at = text.find_first_not_of(kBlanks);
  while (at != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    items.push_back(piece(text.substr(at, end - at)));
    at = text.find_first_not_of(kBlanks, end);
  }
  return items;
}

// Without a separator: on runs of blanks, whatever the maximum.
void split(OpCall& call) {
  std::string_view text = text_of(call);
  if (call.args[1].is_none()) return give(call, string_list(split_blanks(text)));
  const std::string_view separator = text_of(call, 1);
  require(!separator.empty(), ErrorCode::kInvalidArgument, "ValueError: empty separator");
  std::vector<IValue> items;
  for (int64_t left = call.args[2].to_int(); left != 0; --left) {
    const size_t found = text.find(separator);
    if (found == std::string_view::npos) break;
    items.push_back(piece(text.substr(0, found)));
    text.remove_prefix(found + separator.size());
  }
  items.push_back(piece(text));
  give(call, string_list(std::move(items)));
}

void rsplit(OpCall& call) {
  std::string_view text = text_of(call);
  const std::string_view separator = text_of(call, 1);
  require(!separator.empty(), ErrorCode::kInvalidArgument, "ValueError: empty separator");
  std::vector<IValue> items;
  for (int64_t left = call.args[2].to_int(); left != 0; --left) {
    const size_t found = text.rfind(separator);
    if (found == std::string_view::npos) break;
    items.push_back(piece(text.substr(found + separator.size())));
    text = text.substr(0, found);
  }
  items.push_back(piece(text));
  std::reverse(items.begin(), items.end());
  give(call, string_list(std::move(items)));
}

// Line ends that are kept become items of their own, as in PyTorch and unlike Python.
void split_lines(OpCall& call) {
  std::string_view text = text_of(call);
  const bool keep_ends = call.args[1].to_bool();
  std::vector<IValue> items;
  while (!text.empty()) {
    const size_t end = text.find_first_of(kLineEnds);
    items.push_back(piece(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    if (keep_ends) items.push_back(piece(text.substr(end, 1)));
    text.remove_prefix(end + 1);
  }
  give(call, string_list(std::move(items)));
}

void join(OpCall& call) {
  const std::string_view separator = text_of(call);
  std::string result;
  const auto& items = call.args[1].to_list().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) result += separator;
    result += items[i].to_str();
    check_object_limit(result.size());
  }
  give(call, std::move(result));
}

void give_three(OpCall& call, std::string_view a, std::string_view b, std::string_view c) {
  IValue first = piece(a);
  IValue second = piece(b);
  IValue third = piece(c);
  call.results[0] = std::move(first);
  call.results[1] = std::move(second);
  call.results[2] = std::move(third);
}

void partition(OpCall& call) {
  const std::string_view text = text_of(call);
  const std::string_view separator = text_of(call, 1);
  const size_t found = text.find(separator);
  if (found == std::string_view::npos) return give_three(call, text, "", "");
  give_three(call, text.substr(0, found), separator, text.substr(found + separator.size()));
}

void rpartition(OpCall& call) {
  const std::string_view text = text_of(call);
  const std::string_view separator = text_of(call, 1);
  const size_t found = text.rfind(separator);
  if (found == std::string_view::npos) return give_three(call, "", "", text);
  give_three(call, text.substr(0, found), separator, text.substr(found + separator.size()));
}

template <bool kLeft, bool kRight>
void strip(OpCall& call) {
  std::string_view text = text_of(call);
  const std::string_view set = text_of(call, 1);
  if (kLeft) text.remove_prefix(std::min(text.find_first_not_of(set), text.size()));
  if (kRight) text = text.substr(0, text.find_last_not_of(set) + 1);
  give(call, piece(text));
}

void length(OpCall& call) { give(call, static_cast<int64_t>(text_of(call).size())); }

void get_item(OpCall& call) {
  const std::string_view text = text_of(call);
  const auto length = static_cast<int64_t>(text.size());
  int64_t index = call.args[1].to_int();
  if (index < 0) index += length;
  require(index >= 0 && index < length, ErrorCode::kOutOfRange, "string index out of range");
  give(call, piece(text.substr(static_cast<size_t>(index), 1)));
}

void slice(OpCall& call) {
  const std::string_view text = text_of(call);
  const SlicePositions positions = slice_positions(static_cast<int64_t>(text.size()), call.args[1],
                                                   call.args[2], call.args[3].to_int());
  std::string result;
  for (int64_t i = 0; i < positions.count; ++i) {
    result += text[static_cast<size_t>(positions.first + i * positions.step)];
  }
  give(call, std::move(result));
}

void characters(OpCall& call) {
  std::vector<IValue> items;
  for (const char c : text_of(call)) items.push_back(piece(std::string_view(&c, 1)));
  give(call, string_list(std::move(items)));
}

constexpr OpRow kRows[] = {
    {"aten::len.str(str s) -> int", &length},
    {"aten::__getitem__.str(str s, int index) -> str", &get_item, ir::kMayRaise},
    {"prim::StringIndex(str string, int index) -> str", &get_item, ir::kMayRaise},
    {"aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", &slice,
     ir::kMayRaise},
    {"aten::list(str t) -> str[]", &characters},
    {"aten::find(str self, str substr, int start=0, int end=-1) -> int", &find},
    {"aten::rfind(str self, str substr, int start=0, int end=-1) -> int", &rfind},
    {"aten::index.str(str self, str substr, int start=0, int end=-1) -> int", &index,
     ir::kMayRaise},
    {"aten::rindex(str self, str substr, int start=0, int end=-1) -> int", &rindex, ir::kMayRaise},
    {"aten::count(str self, str substr, int start=0, int end=-1) -> int", &count},
    {"aten::startswith(str self, str substr, int start=0, int end=-1) -> bool", &starts_with,
     ir::kMayRaise},
    {"aten::endswith(str self, str substr, int start=0, int end=-1) -> bool", &ends_with,
     ir::kMayRaise},
    {"aten::replace(str self, str old, str new, int max=-1) -> str", &replace},
    {"aten::split.str(str self, str? separator=None, int max=-1) -> str[]", &split, ir::kMayRaise},
    {"aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", &rsplit, ir::kMayRaise},
    {"aten::splitlines(str self, bool keepends=False) -> str[]", &split_lines},
    {"aten::join(str self, str[] values) -> str", &join},
    {"aten::partition(str self, str separator) -> (str, str, str)", &partition},
    {"aten::rpartition(str self, str separator) -> (str, str, str)", &rpartition},
    {"aten::strip(str self, str chars=\" \n\t\f\v\") -> str", &strip<true, true>},
    {"aten::lstrip(str self, str chars=\" \n\t\f\v\") -> str", &strip<true, false>},
    {"aten::rstrip(str self, str chars=\" \n\t\f\v\") -> str", &strip<false, true>},
};

}  // namespace

std::span<const OpRow> string_ops_rows() { return kRows; }

}  // namespace tierup::ops
