// DebugRanges: from positions in an archive's code file to the user's own source (debug_pkl).
#pragma once

#include <memory>
#include <vector>

#include "tierup/ir/source.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::frontend::torchscript {

class DebugRanges {
 public:
  // From the unpickled table: ("FORMAT_WITH_STRING_TABLE", strings, ranges), or the older tuple of
  // ranges. Entries of another shape are skipped: the table only serves error messages.
  static std::shared_ptr<const DebugRanges> from_table(const IValue& table);

  // The user's range for a byte offset of the code file; null if there is none.
  std::shared_ptr<const ir::SourceRange> find(size_t offset) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    size_t offset;
    std::shared_ptr<const ir::SourceRange> range;  // Null: nothing known from here on.
  };
  std::vector<Entry> entries_;  // Sorted by offset.
};

}  // namespace tierup::frontend::torchscript
