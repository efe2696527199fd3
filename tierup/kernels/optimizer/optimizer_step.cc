#include "tierup/kernels/optimizer/optimizer_step.h"

#include "tierup/kernels/optimizer/optimizer_step_table.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

template <typename T>
const StepTable<T>& steps() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return TIERUP_VARIANT(instruction_set(), simd_base::float_steps, simd_avx2::float_steps,
                          simd_avx512::float_steps)();
  } else {
    return TIERUP_VARIANT(instruction_set(), simd_base::double_steps, simd_avx2::double_steps,
                          simd_avx512::double_steps)();
  }
}

}  // namespace

template <typename T>
void optimizer_step(StepRule rule, const StepNumbers& numbers, const StepSpan<T>& span) {
  steps<T>()[static_cast<std::size_t>(rule)](numbers, span);
}

template <typename T>
void clamp_span(T* x, int64_t count, double limit) {
  const T high = static_cast<T>(limit);
  for (int64_t i = 0; i < count; ++i) {
    x[i] = x[i] > high ? high : x[i] < -high ? -high : x[i];
  }
}

template <typename T>
void scale_span(T* x, int64_t count, double factor) {
  const T by = static_cast<T>(factor);
  for (int64_t i = 0; i < count; ++i) x[i] *= by;
}

template void optimizer_step<float>(StepRule, const StepNumbers&, const StepSpan<float>&);
template void optimizer_step<double>(StepRule, const StepNumbers&, const StepSpan<double>&);
template void clamp_span<float>(float*, int64_t, double);
template void clamp_span<double>(double*, int64_t, double);
template void scale_span<float>(float*, int64_t, double);
template void scale_span<double>(double*, int64_t, double);

}  // namespace tierup::kernels
