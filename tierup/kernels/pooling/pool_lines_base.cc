// Pooling of lines without vector extensions beyond the platform's own, and the choice of a
// variant.
#include <cstddef>

#include "tierup/base/machine.h"
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

namespace {

// Whether lines leave lanes idle that planes would fill, and so many planes stay in the nearest
// cache.
bool is_by_planes(const PoolWindow& w) {
  const int64_t lanes = pool_kernels().lanes;
  const int64_t floats = cache_sizes().first_level / 2 / int64_t{sizeof(float)};
  return w.in[2] <= lanes && w.planes >= lanes &&
         (w.in_points() + w.out_points()) * lanes <= floats;
}

// Runs one of the loops with memory for `floats` and the taps.
void run_with_scratch(PoolLinesFn run, PoolLines lines, int64_t floats, int64_t begin,
                      int64_t end) {
  const int64_t taps = lines.w.kernel[2] * int64_t{sizeof(int64_t)};
  const int64_t bytes = floats * int64_t{sizeof(float)};
  auto* scratch = static_cast<std::byte*>(thread_scratch(static_cast<size_t>(bytes + taps)));
  lines.scratch = reinterpret_cast<float*>(scratch);
  lines.taps = reinterpret_cast<int64_t*>(scratch + bytes);
  run(lines, begin, end);
}

}  // namespace

void pool_lines(const PoolWindow& w, const PoolFold& fold, const float* in, float* out,
                const float* column_counts, const float* line_counts) {
  const PoolLines all{w, in, out, column_counts, line_counts, nullptr, nullptr};
  const int64_t numbers = std::max(w.in_points(), w.out_points());
  if (is_by_planes(w)) {
    const int64_t lanes = pool_kernels().lanes;
    const int64_t groups = (w.planes + lanes - 1) / lanes;
    parallel_for(0, groups, grain_of(numbers * lanes), [&](int64_t begin, int64_t end) {
      run_with_scratch(fold.planes, all, PlaneRoom(w, lanes).floats(), begin * lanes,
                       std::min(end * lanes, w.planes));
    });
    return;
  }
  const int64_t lines = std::max<int64_t>(w.out[0] * w.out[1], 1);
  const LineRoom room(w);
  parallel_for(0, w.planes * lines, grain_of(numbers / lines), [&](int64_t begin, int64_t end) {
    run_with_scratch(fold.lines, all, room.together() * room.floats(), begin, end);
  });
}

}  // namespace tierup::kernels
