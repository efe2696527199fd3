// Which of the compiled variants of a kernel this processor runs.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// kBase is what every processor has that tierup runs on; it is all that AArch64 has.
enum class InstructionSet : uint8_t { kBase, kAvx2, kAvx512 };

// kAvx2 stands for AVX2, FMA, F16C and BMI2; kAvx512 adds F, DQ, BW and VL, as the build flags of
// *_avx2.cc and *_avx512.cc do. The environment variable TIERUP_INSTRUCTION_SET=base or avx2, read
// once, keeps the process below what the processor has: its kernels, oneDNN's and those that the
// code generator makes.
InstructionSet instruction_set();

// Keeps all kernels of the process at `most` or below, for tests and comparisons; kernels already
// running are not affected. kAvx512 lifts the limit.
void limit_instruction_set(InstructionSet most);

// Whether multiply_add rounds once (decision 0022): x86-64's first level lacks the instruction.
#if defined(__x86_64__)
constexpr bool fuses(InstructionSet set) { return set != InstructionSet::kBase; }
#else
constexpr bool fuses(InstructionSet /*set*/) { return true; }
#endif

// TIERUP_VARIANT(set, base, avx2, avx512): that of a kernel's variants, all of one type, which is
// compiled for the set. Other architectures have the base alone, and the others' names are none.
#if defined(__x86_64__)
#define TIERUP_VARIANT(set, base, avx2, avx512) \
  ::tierup::kernels::variant_of(set, base, avx2, avx512)
#else
#define TIERUP_VARIANT(set, base, avx2, avx512) (static_cast<void>(set), base)
#endif

template <typename Variant>
Variant* variant_of(InstructionSet set, Variant* base, Variant* avx2, Variant* avx512) {
  switch (set) {
    case InstructionSet::kAvx512: return avx512;
    case InstructionSet::kAvx2: return avx2;
    case InstructionSet::kBase: break;
  }
  return base;
}

}  // namespace tierup::kernels
