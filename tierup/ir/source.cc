// Lines and columns of a source text, and the three-line picture that errors carry.
#include "tierup/ir/source.h"

#include <fmt/format.h>

#include <algorithm>

namespace tierup::ir {
namespace {

// Offset of the first byte of the line that holds `offset`.
size_t line_begin(const std::string& text, size_t offset) {
  if (offset == 0) return 0;
  const size_t newline = text.rfind('\n', offset - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

}  // namespace

int Source::line_of(size_t offset) const {
  const auto end = text_.begin() + static_cast<ptrdiff_t>(std::min(offset, text_.size()));
  return first_line_ + static_cast<int>(std::count(text_.begin(), end, '\n'));
}

std::string Source::line_text(size_t offset, size_t* column) const {
  offset = std::min(offset, text_.size());
  const size_t begin = line_begin(text_, offset);
  const size_t end = std::min(text_.find('\n', begin), text_.size());
  if (column != nullptr) *column = offset - begin;
  return text_.substr(begin, end - begin);
}

std::shared_ptr<const SourceRange> Source::original_of(size_t offset) const {
  return find_original_ ? find_original_(offset) : nullptr;
}

std::shared_ptr<const SourceRange> SourceRange::find_original() const {
  std::shared_ptr<const SourceRange> found = original;
  if (found == nullptr && source != nullptr) found = source->original_of(begin);
  return found != nullptr && !found->empty() ? found : nullptr;
}

std::string SourceRange::location() const {
  if (const auto own = find_original()) return own->location();
  if (source == nullptr) return {};
  return fmt::format("{}:{}", source->name(), source->line_of(begin));
}

std::string SourceRange::highlight() const {
  if (const auto own = find_original()) return own->highlight();
  if (source == nullptr) return {};
  size_t column = 0;
  const std::string line = source->line_text(begin, &column);
  const size_t room = line.size() > column ? line.size() - column : 1;
  const size_t length =
      std::clamp<size_t>(end > begin ? end - begin : 1, 1, std::max<size_t>(room, 1));
  return fmt::format("{}\n  {}\n  {}{}", location(), line, std::string(column, ' '),
                     std::string(length, '~'));
}

}  // namespace tierup::ir
