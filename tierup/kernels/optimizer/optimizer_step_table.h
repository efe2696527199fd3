// The rules of optimizer_step.h as compiled for each instruction set.
#pragma once

#include <array>

#include "tierup/kernels/optimizer/optimizer_step.h"

namespace tierup::kernels {

// In the order of StepRule.
template <typename T>
using StepTable = std::array<void (*)(const StepNumbers& numbers, const StepSpan<T>& span), 8>;

#define TIERUP_OPTIMIZER_STEPS(set)        \
  namespace set {                          \
  const StepTable<float>& float_steps();   \
  const StepTable<double>& double_steps(); \
  }
TIERUP_OPTIMIZER_STEPS(simd_base)
TIERUP_OPTIMIZER_STEPS(simd_avx2)
TIERUP_OPTIMIZER_STEPS(simd_avx512)
#undef TIERUP_OPTIMIZER_STEPS

}  // namespace tierup::kernels
