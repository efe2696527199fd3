// Where a node came from: text of a source, and a range in it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tierup::ir {

struct SourceRange;

// One source text. `name` is the archive record ("code/__torch__.py"), or the user's own file
// where the archive's debug tables gave it.
class Source {
 public:
  Source(std::string name, std::string text, int first_line = 1)
      : name_(std::move(name)), text_(std::move(text)), first_line_(first_line) {}
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  // Finds the user's own line for an offset, where the archive carries one (debug_pkl). It is asked
  // only when a place is shown, since reading those tables costs more than loading the code. Set
  // before the source is shared; may be called from any thread.
  using FindOriginal = std::function<std::shared_ptr<const SourceRange>(size_t offset)>;
  void set_find_original(FindOriginal find) { find_original_ = std::move(find); }
  // Null if nothing is known.
  std::shared_ptr<const SourceRange> original_of(size_t offset) const;
  // 1-based line of a byte offset.
  int line_of(size_t offset) const;
  // The whole line around an offset, without its newline; `column` is the offset in it.
  std::string line_text(size_t offset, size_t* column = nullptr) const;

 private:
  std::string name_;
  std::string text_;
  int first_line_;
  FindOriginal find_original_;
};

// A range in a source; empty (no source) for nodes made by passes out of nothing.
// `original` is the user's own source line where it is known beforehand; else the source is asked.
struct SourceRange {
  std::shared_ptr<const Source> source;
  size_t begin = 0;
  size_t end = 0;
  std::shared_ptr<const SourceRange> original;

  bool empty() const { return source == nullptr; }
  // The user's own place: `original`, or what the source finds; null if neither knows.
  std::shared_ptr<const SourceRange> find_original() const;
  // "model.py:12" preferring the original; empty for an empty range.
  std::string location() const;
  // Location, the line and a caret under the range: three lines, for errors.
  std::string highlight() const;
};

}  // namespace tierup::ir
