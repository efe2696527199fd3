#include "tierup/frontend/torchscript/source_index.h"

#include <algorithm>
#include <mutex>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/debug_ranges.h"

namespace tierup::frontend::torchscript {
namespace {

// A file's debug table, read when first asked for. What is wrong with it must not hide the error
// that asks: such a table counts as absent.
ir::Source::FindOriginal late_debug_ranges(const SourceIndex::ReadDebug& read,
                                           const std::string& record) {
  struct Late {
    std::once_flag once;
    std::shared_ptr<const DebugRanges> ranges;
  };
  const auto late = std::make_shared<Late>();
  return [late, read, record](size_t offset) -> std::shared_ptr<const ir::SourceRange> {
    std::call_once(late->once, [&] {
      try {
        if (const auto table = read(record + ".debug_pkl")) {
          late->ranges = DebugRanges::from_table(*table);
        }
      } catch (const Error&) {
        late->ranges = nullptr;
      }
    });
    return late->ranges != nullptr ? late->ranges->find(offset) : nullptr;
  };
}

}  // namespace

SourceIndex::SourceIndex(ReadText read_text, ReadDebug read_debug)
    : read_text_(std::move(read_text)), read_debug_(std::move(read_debug)) {}

std::string SourceIndex::record_name(std::string_view qualifier) {
  std::string name = "code/" + std::string(qualifier);
  std::replace(name.begin(), name.end(), '.', '/');
  return name + ".py";
}

std::shared_ptr<FilesAhead> SourceIndex::parse_ahead(const std::vector<std::string>& records) {
  ahead_ = std::make_shared<FilesAhead>(
      records, [read_text = read_text_, read_debug = read_debug_](const std::string& record) {
        return parse(read_text, read_debug, record);
      });
  return ahead_;
}

std::shared_ptr<const FileUnit> SourceIndex::parse(const ReadText& read_text,
                                                   const ReadDebug& read_debug,
                                                   const std::string& record) {
  std::optional<std::string> text = read_text(record);
  if (!text) return nullptr;
  const auto source = std::make_shared<ir::Source>(record, std::move(*text));
  if (read_debug) source->set_find_original(late_debug_ranges(read_debug, record));
  return parse_file(source);
}

std::shared_ptr<const FileUnit> SourceIndex::file(std::string_view qualifier) {
  const auto known = files_.find(std::string(qualifier));
  if (known != files_.end()) return known->second;
  const std::string record = record_name(qualifier);
  const bool is_ahead = ahead_ != nullptr && ahead_->contains(record);
  std::shared_ptr<const FileUnit> unit =
      is_ahead ? ahead_->get(record) : parse(read_text_, read_debug_, record);
  files_.emplace(std::string(qualifier), unit);
  return unit;
}

SourceIndex::Definition SourceIndex::find(std::string_view qualified_name) {
  Definition definition;
  const size_t dot = qualified_name.rfind('.');
  if (dot == std::string_view::npos) return definition;
  definition.unit = file(qualified_name.substr(0, dot));
  if (definition.unit == nullptr) return definition;
  const std::string_view name = qualified_name.substr(dot + 1);
  definition.class_def = definition.unit->find_class(name);
  if (definition.class_def == nullptr) {
    definition.function = definition.unit->find_function(name);
  }
  return definition;
}

std::string demangled(std::string_view qualified_name) {
  constexpr std::string_view kMark = ".___torch_mangle_";
  std::string result;
  size_t at = 0;
  while (true) {
    const size_t found = qualified_name.find(kMark, at);
    result += qualified_name.substr(at, found == std::string_view::npos ? found : found - at);
    if (found == std::string_view::npos) return result;
    size_t end = found + kMark.size();
    while (end < qualified_name.size() && qualified_name[end] >= '0' &&
           qualified_name[end] <= '9') {
      ++end;
    }
    at = end;
  }
}

}  // namespace tierup::frontend::torchscript
