#include "tierup/kernels/simd/instruction_set.h"

#include <algorithm>
#include <atomic>

#include "tierup/base/error.h"
#include "tierup/base/instruction_limit.h"

namespace tierup::kernels {
namespace {

#if defined(__x86_64__)
InstructionSet detect() {
  require(__builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("popcnt") != 0,
          ErrorCode::kUnsupported, "tierup needs a processor with SSE4.2 and POPCNT");
  // F16C, which is used as well, came before AVX2; clang 14 cannot ask for it by name.
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                    __builtin_cpu_supports("bmi2") != 0;
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  if (avx2 && avx512) return InstructionSet::kAvx512;
  return avx2 ? InstructionSet::kAvx2 : InstructionSet::kBase;
}
#else
InstructionSet detect() { return InstructionSet::kBase; }
#endif

InstructionSet most_from_environment() {
  switch (instruction_limit()) {
    case InstructionLimit::kBase: return InstructionSet::kBase;
    case InstructionLimit::kAvx2: return InstructionSet::kAvx2;
    case InstructionLimit::kAvx512:
    case InstructionLimit::kNone: break;
  }
  return InstructionSet::kAvx512;
}

std::atomic<InstructionSet>& most_allowed() {
  static std::atomic<InstructionSet> most = InstructionSet::kAvx512;
  return most;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet found = std::min(detect(), most_from_environment());
  return std::min(found, most_allowed().load(std::memory_order_relaxed));
}

void limit_instruction_set(InstructionSet most) {
  most_allowed().store(most, std::memory_order_relaxed);
}

}  // namespace tierup::kernels
