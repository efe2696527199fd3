// The code of distance_rows.h for one instruction set: sums of some rows and columns stand in
// registers while the length streams by.
#pragma once

#include "tierup/kernels/linalg/distance_rows.h"
#include "tierup/kernels/simd/simd.h"

namespace tierup::kernels::TIERUP_SIMD {
namespace {

using Floats = Vec<float>;
constexpr int kRows = 2;  // With kVectors each, half of sixteen registers.
constexpr int kVectors = 4;

template <DistanceNorm kNorm, int kHeight, int kWidth>
void distance_tile(const DistanceRows& call, int64_t row, int64_t column) {
  Floats sums[kHeight][kWidth];
  for (auto& line : sums) {
    for (Floats& sum : line) sum = Floats(0.0);
  }
  const float* from = call.rows + row * call.length;
  const float* to = call.columns + column;
  for (int64_t k = 0; k < call.length; ++k, ++from, to += kDistanceColumns) {
    Floats y[kWidth];
    for (int v = 0; v < kWidth; ++v) y[v] = Floats::load(to + v * Floats::kLanes);
    for (int r = 0; r < kHeight; ++r) {
      const Floats x(static_cast<double>(from[r * call.length]));
      for (int v = 0; v < kWidth; ++v) {
        const Floats difference = x - y[v];
        sums[r][v] = kNorm == DistanceNorm::kTwo ? multiply_add(difference, difference, sums[r][v])
                                                 : sums[r][v] + abs(difference);
      }
    }
  }
  for (int r = 0; r < kHeight; ++r) {
    for (int v = 0; v < kWidth; ++v) {
      const int64_t place = column + v * Floats::kLanes;
      const int64_t left = call.count - place;
      float* out = call.out + (row + r) * call.out_stride + place;
      const Floats distance = kNorm == DistanceNorm::kTwo ? sqrt(sums[r][v]) : sums[r][v];
      if (left >= Floats::kLanes)
        distance.store(out);
      else if (left > 0)
        distance.store_some(out, left);
    }
  }
}

template <DistanceNorm kNorm, int kWidth>
void distance_strip(const DistanceRows& call, int64_t column) {
  int64_t row = 0;
  for (; row + kRows <= call.row_count; row += kRows) {
    distance_tile<kNorm, kRows, kWidth>(call, row, column);
  }
  for (; row < call.row_count; ++row) distance_tile<kNorm, 1, kWidth>(call, row, column);
}

template <DistanceNorm kNorm>
void distances_of(const DistanceRows& call) {
  int64_t column = 0;
  for (; column + kVectors * Floats::kLanes <= call.count; column += kVectors * Floats::kLanes) {
    distance_strip<kNorm, kVectors>(call, column);
  }
  const int64_t left = call.count - column;
  if (left > 2 * Floats::kLanes) return distance_strip<kNorm, kVectors>(call, column);
  if (left > Floats::kLanes) return distance_strip<kNorm, 2>(call, column);
  if (left > 0) distance_strip<kNorm, 1>(call, column);
}

inline void all_distances(const DistanceRows& call) {
  call.norm == DistanceNorm::kTwo ? distances_of<DistanceNorm::kTwo>(call)
                                  : distances_of<DistanceNorm::kOne>(call);
}

}  // namespace
}  // namespace tierup::kernels::TIERUP_SIMD
