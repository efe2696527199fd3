// Planes that stand lane by lane, a register of one number of each, turned back into planes. For
// kernels compiled once per instruction set.
#pragma once

#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// planes[i * points + p] = lanes[p * kVectorFloats + i] for `count` planes of `points` numbers; the
// last registers are read whole.
inline void planes_of_lanes(const float* lanes, int64_t points, int64_t count, float* planes) {
  FloatVector square[kVectorFloats];
  for (int64_t at = 0; at < points; at += kVectorFloats) {
    for (int i = 0; i < kVectorFloats; ++i)
      square[i] = load_vector(lanes + (at + i) * kVectorFloats);
    transpose(square);
    for (int64_t i = 0; i < count; ++i)
      store_columns(planes + i * points + at, points - at, square[i]);
  }
}

}  // namespace
}  // namespace tierup::kernels
