// IsolatedWorker: runs cases in a child process, so that one that crashes or hangs costs only
// itself.
//
// The child goes through items and their cases in order and reports each over a pipe. When it
// dies or makes no progress, the parent notes the case at hand as failed and starts another
// child behind it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tierup/cases/case_outcome.h"

namespace tierup::cli {

// A group of cases that share an opened file. Used in the child only, but for name().
class CheckItem {
 public:
  virtual ~CheckItem() = default;
  virtual std::string name() const = 0;
  // Opens the file; returns the number of its cases. An Error fails the item as a whole.
  virtual size_t open() = 0;
  virtual void close() = 0;
  virtual std::string label(size_t index) = 0;
  virtual api::CaseOutcome run(size_t index) = 0;
};

// Called in the parent for every case that ended.
using CaseReport = std::function<void(const CheckItem& item, const std::string& label,
                                      const api::CaseOutcome& outcome)>;

struct IsolationOptions {
  int case_timeout_s = 120;
  bool isolated = true;  // False: in this process, for debuggers.
};

void run_cases(const std::vector<std::unique_ptr<CheckItem>>& items,
               const IsolationOptions& options, const CaseReport& report);

}  // namespace tierup::cli
