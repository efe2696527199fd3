// What the machine lets this process have, as models are run by it.
#pragma once

#include <memory>
#include <string>

#include "tierup/export.h"
#include "tierup/options.h"

namespace tierup::v1 {

struct MachineInfo {
  // The level that kernels are chosen by, "sse42", "avx2", "avx512" or "neon": the processor's, or
  // what the environment's TIERUP_INSTRUCTION_SET lowers it to.
  std::string instruction_set;
  int allowed_cores = 0;  // That the process may run on.
  double cpu_quota = 0;   // Of its control groups, in cores; 0: none.
  int threads = 0;        // Of one operator where Options::threads is 0, after both.
};
TIERUP_API MachineInfo machine_info();

// Why plans of a module with these options get no compiled kernels although the options ask for
// them; empty: they can have them, or none are asked for. Loads the code generator (tens of
// milliseconds) if nothing has yet. Throws kInvalidArgument as check_tiering().
TIERUP_API std::string code_generator_failure(const Options& options = {});

// Threads of one operator in what this thread does beside a module's calls, which have their
// options': backward passes, losses, clipping, steps of optimisers. Ends with the scope, whose
// thread must be the same. 0: MachineInfo::threads, which is what there is without any scope.
// Throws kInvalidArgument as Module::load for Options::threads.
class TIERUP_API ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tierup::v1
