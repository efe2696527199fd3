// The steps of store_step.h as loops over numbers in a row, and sums and products of rows:
// oneDNN's element-wise primitives take several times what the way through memory takes.
#pragma once

#include <cstdint>
#include <span>

#include "tierup/kernels/net/store_step.h"

namespace tierup::kernels::net {

// x / (1 + exp(-x)) in place, over all threads.
void swish_in_place(float* x, int64_t count);

// One thread's work, per instruction set.
struct StepLoops {
  // y = step(x), for steps that are no sums; y may be x.
  void (*apply)(const StoreStep& step, const float* x, int64_t count, float* y);
  // y = a + b, or a * b; y may be either.
  void (*add)(const float* a, const float* b, int64_t count, float* y);
  void (*multiply)(const float* a, const float* b, int64_t count, float* y);
  // y = factor * a + b.
  void (*scale_and_add)(float factor, const float* a, const float* b, int64_t count, float* y);
};
// Those of this processor.
StepLoops step_loops();
StepLoops step_loops_base();
StepLoops step_loops_avx2();
StepLoops step_loops_avx512();

// All steps on what lies in y, which sums are added to from `summand`.
void apply_steps(const StepLoops& loops, std::span<const StoreStep> steps, const float* summand,
                 int64_t count, float* y);

}  // namespace tierup::kernels::net
