// Which of the compiled variants of a kernel this processor runs.
#pragma once

#include <cstdint>

namespace tierup::kernels {

enum class InstructionSet : uint8_t { kBase, kAvx2, kAvx512 };

// kAvx2 stands for AVX2, FMA, F16C and BMI2; kAvx512 adds F, DQ, BW and VL, as the build flags of
// *_avx2.cc and *_avx512.cc do. The environment variable TIERUP_INSTRUCTION_SET=base or avx2, read
// once, keeps the process below what the processor has: its kernels, oneDNN's and those that the
// code generator makes.
InstructionSet instruction_set();

// Keeps all kernels of the process at `most` or below, for tests and comparisons; kernels already
// running are not affected. kAvx512 lifts the limit.
void limit_instruction_set(InstructionSet most);

// What one of three variants of a kernel gives: that of the instruction set at hand.
template <typename Made>
Made of_instruction_set(Made (*base)(), Made (*avx2)(), Made (*avx512)()) {
  switch (instruction_set()) {
    case InstructionSet::kAvx512: return avx512();
    case InstructionSet::kAvx2: return avx2();
    case InstructionSet::kBase: break;
  }
  return base();
}

}  // namespace tierup::kernels
