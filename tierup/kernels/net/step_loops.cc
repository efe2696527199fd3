#include "tierup/kernels/net/step_loops.h"

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {

StepLoops step_loops() {
  return TIERUP_VARIANT(instruction_set(), step_loops_base, step_loops_avx2, step_loops_avx512)();
}

void swish_in_place(float* x, int64_t count) {
  constexpr int64_t kGrain = 8192;
  const StepLoops loops = step_loops();
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    loops.apply({StoreStep::Kind::kSwish}, x + begin, end - begin, x + begin);
  });
}

void apply_steps(const StepLoops& loops, std::span<const StoreStep> steps, const float* summand,
                 int64_t count, float* y) {
  for (const StoreStep& step : steps) {
    if (step.kind == StoreStep::Kind::kSum) {
      loops.add(y, summand, count, y);
    } else {
      loops.apply(step, y, count, y);
    }
  }
}

}  // namespace tierup::kernels::net
