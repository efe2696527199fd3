// What both ways of attention share: places of rows, masks, exponentials. Everything is local to
// the including file, which is compiled for one instruction set.
#pragma once

#include <algorithm>
#include <limits>

#include "tierup/kernels/attention/attention_tiles.h"
#include "tierup/kernels/simd/lanes_body.h"

namespace tierup::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// Of one row's query, result or mask.
inline int64_t place_of(const AttentionRows& call, const int64_t (&strides)[4], int64_t row) {
  const int64_t queries = call.problem->queries;
  return row / queries * strides[1] + row % queries * strides[2];
}

// Keys that the row's query sees at most.
inline int64_t keys_seen(const AttentionProblem& p, int64_t row) {
  return p.is_causal ? std::min(p.keys, row % p.queries + 1) : p.keys;
}

// A row's mask of `count` keys from `first` on: what it adds to the scores, or, of bools, 1 where a
// key is hidden; zeros beyond.
inline FloatVector mask_piece(const AttentionRows& call, int64_t place, int64_t first,
                              int64_t count) {
  const AttentionProblem& p = *call.problem;
  const int64_t step = p.mask_strides[3];
  count = std::min<int64_t>(count, kVectorFloats);
  float piece[kVectorFloats] = {};
  if (p.mask_is_bool) {
    const bool* seen = static_cast<const bool*>(call.mask) + place + first * step;
    for (int64_t i = 0; i < count; ++i) piece[i] = seen[i * step] == p.mask_hides ? 1 : 0;
    return load_vector(piece);
  }
  const float* added = static_cast<const float*>(call.mask) + place + first * step;
  if (step == 1 && count == kVectorFloats) return load_vector(added);
  for (int64_t i = 0; i < count; ++i) piece[i] = added[i * step];
  return load_vector(piece);
}

inline FloatVector masked(const AttentionProblem& p, FloatVector scores, FloatVector mask) {
  if (!p.mask_is_bool) return scores + mask;
  return mask == 0 ? scores : p.hidden_score - FloatVector{};
}

// The larger; NaN if one is.
inline FloatVector larger_or_nan(FloatVector x, FloatVector y) {
  return ((x > y) | (x != x)) ? x : y;
}

// exp(x) for x <= 0, 0 where it is no normal number; NaN stays.
inline FloatVector exp_below(FloatVector x) {
  const FloatVector lowest = -87.33654F - FloatVector{};
  const ExpParts parts = exp_parts(x < lowest ? lowest : x);
  const LaneInts bits = reinterpret_cast<LaneInts>(parts.growth + 1.0F) + (parts.shifted << 23);
  const FloatVector inside = x < lowest ? FloatVector{} : reinterpret_cast<FloatVector>(bits);
  return x == x ? inside : x;
}

// What exponents are taken from: nothing where no key was seen so far.
inline FloatVector shift_of(FloatVector top) { return top == kHidden ? FloatVector{} : top; }

}  // namespace
}  // namespace tierup::kernels
