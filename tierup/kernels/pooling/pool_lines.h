// Pooling of f32 planes line by line, compiled for each instruction set.
//
// All lines that a line of windows reaches over are folded column by column; the folded line is
// dealt out into as many parts as the windows' stride, so that the same tap of neighbouring windows
// lies side by side; and these are folded tap by tap. So no window is longer than a vector's
// operations, whatever its stride, and what windows share vertically is read once.
#pragma once

#include <cstdint>

#include "tierup/kernels/pooling/pooling_window.h"

namespace tierup::kernels {

// Input, output and what both kinds of loops need beside them. `counts` are the
// divisors of sums: of each column, times that of each line (depth and height together, w.out[0] *
// w.out[1] of them); null for the largest numbers, among which a NaN wins. A divisor of 0 stands
// for a window without elements, whose average is zero.
struct PoolLines {
  const PoolWindow& w;
  const float* in;
  float* out;
  const float* column_counts;
  const float* line_counts;
  float* scratch;
  int64_t* taps;  // Room for w.kernel[2] numbers of the loops over lines.
};
using PoolLinesFn = void (*)(const PoolLines& lines, int64_t begin, int64_t end);

// Two orders of the same operations, with the same results.
struct PoolFold {
  PoolLinesFn lines;   // Lines [begin, end) of all planes' output lines, of w.out[2] numbers each.
  PoolLinesFn planes;  // Planes [begin, end), point by point, a lane for each.
};

// All planes, on several threads.
void pool_lines(const PoolWindow& w, const PoolFold& fold, const float* in, float* out,
                const float* column_counts = nullptr, const float* line_counts = nullptr);

// The sums of so many planes of so many points, divided by `count`.
using SumPlanesFn = void (*)(const float* in, int64_t planes, int64_t points, float count,
                             float* out);

struct PoolKernels {
  PoolFold max;
  PoolFold average;
  SumPlanesFn average_planes;
  int64_t lanes;
};
PoolKernels pool_kernels_base();
PoolKernels pool_kernels_avx2();
PoolKernels pool_kernels_avx512();

// The variant for this processor.
const PoolKernels& pool_kernels();

}  // namespace tierup::kernels
