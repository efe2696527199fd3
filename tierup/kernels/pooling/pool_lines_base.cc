// Pooling of lines without vector extensions beyond the platform's own, and the choice of a
// variant.
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/pooling/pool_lines_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

PoolKernels pool_kernels_base() { return kPoolKernels; }

const PoolKernels& pool_kernels() {
  static const PoolKernels kernels = TIERUP_VARIANT(instruction_set(), pool_kernels_base,
                                                    pool_kernels_avx2, pool_kernels_avx512)();
  return kernels;
}

int64_t pool_scratch(const PoolWindow& w) { return LineRoom(w).floats(); }

void pool_lines(const PoolWindow& w, PoolLinesFn run, const float* in, float* out,
                const float* column_counts, const float* line_counts) {
  const int64_t lines = w.out[0] * w.out[1];
  const int64_t numbers = std::max(w.in_points(), w.out_points()) / std::max<int64_t>(lines, 1);
  const int64_t grain = grain_of(numbers);
  const auto bytes = static_cast<size_t>(pool_scratch(w)) * sizeof(float);
  parallel_for(0, w.planes * lines, grain, [&](int64_t begin, int64_t end) {
    auto* scratch = static_cast<float*>(thread_scratch(bytes));
    run({w, in, out, column_counts, line_counts, scratch}, begin, end);
  });
}

}  // namespace tierup::kernels
