// What the machine lets this process have, as models are run by it.
#pragma once

#include <string>

#include "tierup/export.h"

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

}  // namespace tierup::v1
