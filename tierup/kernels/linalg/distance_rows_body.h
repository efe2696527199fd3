// The code of distance_rows.h for one instruction set: sums of some rows and columns stand in
// registers while the length streams by.
#pragma once

#include <type_traits>

#include "tierup/kernels/linalg/distance_rows.h"
#include "tierup/kernels/simd/simd_exponential.h"

namespace tierup::kernels::TIERUP_SIMD {
namespace {

constexpr int kRows = 2;  // With kVectors each, half of sixteen registers.
constexpr int kVectors = 4;

template <DistanceNorm kNorm, typename V>
TIERUP_INLINE V with_difference(V sum, V difference, V power) {
  if constexpr (kNorm == DistanceNorm::kTwo)
    return multiply_add(difference, difference, sum);
  else if constexpr (kNorm == DistanceNorm::kOne)
    return sum + abs(difference);
  else if constexpr (kNorm == DistanceNorm::kLargest)
    return select((abs(difference) > sum) | (difference != difference), abs(difference), sum);
  else if constexpr (kNorm == DistanceNorm::kCount)
    return sum + select(difference == V(0), V(0), V(1));
  else
    return sum + pow(abs(difference), power);
}
template <DistanceNorm kNorm, typename V>
TIERUP_INLINE V finished(V sum, V inverse) {
  if constexpr (kNorm == DistanceNorm::kTwo)
    return sqrt(sum);
  else if constexpr (kNorm == DistanceNorm::kPower)
    return pow(sum, inverse);
  else
    return sum;
}

template <DistanceNorm kNorm, int kHeight, int kWidth, typename T>
void distance_tile(const DistanceRows<T>& call, int64_t row, int64_t column) {
  using V = Vec<T>;
  const V power(call.power);
  V sums[kHeight][kWidth];
  for (auto& line : sums) {
    for (V& sum : line) sum = V(0.0);
  }
  const T* from = call.rows + row * call.length;
  const T* to = call.columns + column;
  for (int64_t k = 0; k < call.length; ++k, ++from, to += kDistanceColumns) {
    V y[kWidth];
    for (int v = 0; v < kWidth; ++v) y[v] = V::load(to + v * V::kLanes);
    for (int r = 0; r < kHeight; ++r) {
      const V x(static_cast<double>(from[r * call.length]));
      for (int v = 0; v < kWidth; ++v)
        sums[r][v] = with_difference<kNorm>(sums[r][v], x - y[v], power);
    }
  }
  const V inverse(1 / call.power);
  for (int r = 0; r < kHeight; ++r) {
    for (int v = 0; v < kWidth; ++v) {
      const int64_t place = column + v * V::kLanes;
      const int64_t left = call.count - place;
      T* out = call.out + (row + r) * call.out_stride + place;
      const V distance = finished<kNorm>(sums[r][v], inverse);
      if (left >= V::kLanes)
        distance.store(out);
      else if (left > 0)
        distance.store_some(out, left);
    }
  }
}

template <DistanceNorm kNorm, int kWidth, typename T>
void distance_strip(const DistanceRows<T>& call, int64_t column) {
  // Powers are long; two rows of them would be code without gain.
  constexpr int kHeight = kNorm == DistanceNorm::kPower ? 1 : kRows;
  int64_t row = 0;
  for (; row + kHeight <= call.row_count; row += kHeight) {
    distance_tile<kNorm, kHeight, kWidth>(call, row, column);
  }
  for (; row < call.row_count; ++row) distance_tile<kNorm, 1, kWidth>(call, row, column);
}

template <DistanceNorm kNorm, typename T>
void distances_of(const DistanceRows<T>& call) {
  constexpr int64_t kLanes = Vec<T>::kLanes;
  if constexpr (kNorm == DistanceNorm::kPower) {
    for (int64_t column = 0; column < call.count; column += kLanes)
      distance_strip<kNorm, 1>(call, column);
    return;
  }
  int64_t column = 0;
  for (; column + kVectors * kLanes <= call.count; column += kVectors * kLanes) {
    distance_strip<kNorm, kVectors>(call, column);
  }
  const int64_t left = call.count - column;
  if (left > 2 * kLanes) return distance_strip<kNorm, kVectors>(call, column);
  if (left > kLanes) return distance_strip<kNorm, 2>(call, column);
  if (left > 0) distance_strip<kNorm, 1>(call, column);
}

template <typename T>
void all_distances(const DistanceRows<T>& call) {
  switch (call.norm) {
    case DistanceNorm::kCount: return distances_of<DistanceNorm::kCount>(call);
    case DistanceNorm::kOne: return distances_of<DistanceNorm::kOne>(call);
    case DistanceNorm::kTwo: return distances_of<DistanceNorm::kTwo>(call);
    case DistanceNorm::kLargest: return distances_of<DistanceNorm::kLargest>(call);
    case DistanceNorm::kPower:
      if constexpr (std::is_same_v<T, float>) distances_of<DistanceNorm::kPower>(call);
  }
}

}  // namespace
}  // namespace tierup::kernels::TIERUP_SIMD
