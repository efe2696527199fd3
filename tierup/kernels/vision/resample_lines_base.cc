// Resampling of lines without vector extensions beyond the platform's own, and the choice of a
// variant.
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/kernels/vision/resample_lines_body.h"

namespace tierup::kernels {

LineTaps::LineTaps(const ResampleTaps& taps, int64_t in, int64_t out)
    : count(taps.count), in(in), out(out) {
  constexpr int64_t kMostFloats = 16;  // Of a vector of any instruction set.
  width = (out + kMostFloats - 1) / kMostFloats * kMostFloats;
  index.resize(static_cast<size_t>(count * width));
  weight.resize(index.size());
  for (int64_t i = 0; i < out * count; ++i) {
    const auto from = static_cast<size_t>(i);
    const auto to = static_cast<size_t>(i % count * width + i / count);
    index[to] = static_cast<int32_t>(taps.index[from]);
    weight[to] = static_cast<float>(taps.weight[from]);
  }
}

ResampleLoops resample_loops_base() { return kResampleLoops; }

ResampleLoops resample_loops() {
  return TIERUP_VARIANT(instruction_set(), resample_loops_base, resample_loops_avx2,
                        resample_loops_avx512)();
}

}  // namespace tierup::kernels
