// The table is a help for error messages and comes from an untrusted file: whatever does not have
// the expected shape is left out, and nothing here fails.
#include "tierup/frontend/torchscript/debug_ranges.h"

#include <algorithm>
#include <limits>
#include <map>

namespace tierup::frontend::torchscript {
namespace {

// Source texts are rebuilt from lines once per distinct list of lines; longer ones are dropped.
constexpr size_t kMaxTextBytes = size_t{1} << 20;

const std::vector<IValue>* items_of(const IValue& value) {
  if (value.is_tuple()) return &value.to_tuple().items;
  if (value.is_list()) return &value.to_list().items;
  return nullptr;
}

bool read_index(const IValue& value, size_t& out) {
  if (!value.is_int() || value.to_int() < 0) return false;
  out = static_cast<size_t>(value.to_int());
  return true;
}

class TableReader {
 public:
  explicit TableReader(const std::vector<IValue>* strings) : strings_(strings) {}

  // ((lines, file, first_line), start, end), or null.
  std::shared_ptr<const ir::SourceRange> range(const IValue& value) {
    const auto* parts = items_of(value);
    if (parts == nullptr || parts->size() < 3) return nullptr;
    size_t begin = 0;
    size_t end = 0;
    if (!read_index((*parts)[1], begin) || !read_index((*parts)[2], end)) return nullptr;
    auto source = this->source((*parts)[0]);
    if (source == nullptr || begin > end || end > source->text().size()) return nullptr;
    return std::make_shared<ir::SourceRange>(
        ir::SourceRange{std::move(source), begin, end, nullptr});
  }

 private:
  std::shared_ptr<const ir::Source> source(const IValue& value) {
    const auto* parts = items_of(value);
    if (parts == nullptr || parts->size() < 3) return nullptr;
    std::string text;
    std::string name;
    if (!read_text((*parts)[0], text) || !read_name((*parts)[1], name)) return nullptr;
    size_t first_line = 0;
    if (!read_index((*parts)[2], first_line) || first_line > std::numeric_limits<int>::max() / 2) {
      return nullptr;
    }
    if (text.empty()) return nullptr;  // How the table says that nothing is known.
    // Ranges of one function share its text.
    auto& cached = sources_[{name, text}];
    if (cached == nullptr) {
      cached = std::make_shared<const ir::Source>(name, text, static_cast<int>(first_line));
    }
    return cached;
  }

  // An inline text, or lists of indices of lines.
  bool read_text(const IValue& value, std::string& out) const {
    if (value.is_str()) {
      out += value.to_str();
      return out.size() <= kMaxTextBytes;
    }
    size_t index = 0;
    if (read_index(value, index)) {
      if (strings_ == nullptr || index >= strings_->size() || !(*strings_)[index].is_str())
        return false;
      out += (*strings_)[index].to_str();
      return out.size() <= kMaxTextBytes;
    }
    const auto* parts = items_of(value);
    if (parts == nullptr) return false;
    for (const IValue& part : *parts) {
      const auto* lines = items_of(part);
      if (lines == nullptr) {
        if (!read_text(part, out)) return false;
        continue;
      }
      for (const IValue& line : *lines) {
        if (items_of(line) != nullptr || !read_text(line, out)) return false;
      }
    }
    return true;
  }

  bool read_name(const IValue& value, std::string& out) const {
    if (value.is_none()) return true;
    if (value.is_str()) {
      out = value.to_str();
      return true;
    }
    size_t index = 0;
    if (!read_index(value, index) || strings_ == nullptr || index >= strings_->size()) return false;
    if (!(*strings_)[index].is_str()) return false;
    out = (*strings_)[index].to_str();
    return true;
  }

  const std::vector<IValue>* strings_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const ir::Source>> sources_;
};

}  // namespace

std::shared_ptr<const DebugRanges> DebugRanges::from_table(const IValue& table) {
  auto result = std::make_shared<DebugRanges>();
  const auto* ranges = items_of(table);
  const std::vector<IValue>* strings = nullptr;
  if (ranges != nullptr && ranges->size() == 3 && (*ranges)[0].is_str()) {
    strings = items_of((*ranges)[1]);
    ranges = items_of((*ranges)[2]);
  }
  if (ranges == nullptr) return result;
  TableReader reader(strings);
  for (const IValue& row : *ranges) {
    const auto* parts = items_of(row);
    size_t offset = 0;
    if (parts == nullptr || parts->size() < 2 || !read_index((*parts)[0], offset)) continue;
    result->entries_.push_back({offset, reader.range((*parts)[1])});
  }
  std::stable_sort(result->entries_.begin(), result->entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  return result;
}

std::shared_ptr<const ir::SourceRange> DebugRanges::find(size_t offset) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), offset,
                       [](size_t at, const Entry& entry) { return at < entry.offset; });
  return after == entries_.begin() ? nullptr : std::prev(after)->range;
}

}  // namespace tierup::frontend::torchscript
