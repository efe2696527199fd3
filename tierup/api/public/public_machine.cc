#include <sched.h>

#include "tierup/api/public/facade.h"
#include "tierup/base/instruction_limit.h"
#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/machine.h"

namespace tierup::v1 {
namespace {

std::string processor_level() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return "avx512";
  return __builtin_cpu_supports("avx2") ? "avx2" : "sse42";
#else
  return "neon";
#endif
}

std::string level_in_force() {
  const std::string own = processor_level();
  const InstructionLimit limit = instruction_limit();
  const std::string lowered(instruction_limit_name(limit));
  // The names of levels do not sort: "avx2" stands below "avx512", "sse42" below both.
  const bool is_lower =
      limit == InstructionLimit::kBase || (limit == InstructionLimit::kAvx2 && own == "avx512");
  return is_lower && own != "neon" ? lowered : own;
}

}  // namespace

MachineInfo machine_info() {
  return guarded([] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof(cores), &cores);
    return MachineInfo{level_in_force(), CPU_COUNT(&cores), cpu_quota(""), usable_cores()};
  });
}

}  // namespace tierup::v1
