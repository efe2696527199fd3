// Weighted sums of a few numbers or lines, as resampling takes them, compiled for each instruction
// set.
#pragma once

#include <cstdint>
#include <vector>

#include "tierup/kernels/vision/resample_taps.h"

namespace tierup::kernels {

// Taps as vectors of results read them: tap k of result i at k * width + i, where `width` is the
// number of results and what fills the last vector of any instruction set.
struct LineTaps {
  LineTaps(const ResampleTaps& taps, int64_t in, int64_t out);
  int64_t count;  // For each result.
  int64_t in;
  int64_t out;
  int64_t width;
  std::vector<int32_t> index;
  std::vector<float> weight;
};

struct ResampleLoops {
  // A line of taps.out results, each the sum of its taps in order, whose products are not rounded.
  void (*along)(const float* source, const LineTaps& taps, float* target);
  // Of `count` lines of `size` numbers: target[j] = sum of line[k][j] * weight[k], as above. A
  // weight of zero leaves its line out.
  void (*across)(const float* source, const int64_t* index, const float* weight, int64_t count,
                 int64_t size, float* target);
  // Of two lines, with both products rounded: a[j] * weight[0] + b[j] * weight[1].
  void (*across_two)(const float* a, const float* b, const float* weight, int64_t size,
                     float* target);
};
ResampleLoops resample_loops_base();
ResampleLoops resample_loops_avx2();
ResampleLoops resample_loops_avx512();

// Those of this processor.
ResampleLoops resample_loops();

}  // namespace tierup::kernels
