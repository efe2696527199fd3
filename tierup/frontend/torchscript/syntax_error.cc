#include "tierup/frontend/torchscript/syntax_error.h"

#include <algorithm>

namespace tierup::frontend::torchscript {
namespace {

// Lines of hostile files may be megabytes long; a window around the place is enough.
constexpr size_t kMaxLineShown = 160;

}  // namespace

void fail_at(const ir::Source& source, size_t begin, size_t end, std::string message,
             ErrorCode code) {
  begin = std::min(begin, source.text().size());
  size_t column = 0;
  std::string line = source.line_text(begin, &column);
  const std::string place =
      fmt::format("{}:{}:{}", source.name(), source.line_of(begin), column + 1);
  size_t caret = std::min(column, line.size());
  if (line.size() > kMaxLineShown) {
    const size_t start = caret > kMaxLineShown / 2 ? caret - kMaxLineShown / 2 : 0;
    line = line.substr(start, kMaxLineShown);
    caret -= start;
  }
  const size_t room = line.size() > caret ? line.size() - caret : 1;
  const size_t width = std::clamp<size_t>(end > begin ? end - begin : 1, 1, room);
  Error error(code, std::move(message) + " (" + place + ")");
  error.add_context(line);
  error.add_context(std::string(caret, ' ') + std::string(width, '~') + " <--- here");
  throw error;
}

}  // namespace tierup::frontend::torchscript
