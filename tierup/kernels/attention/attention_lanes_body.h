// What both ways of attention share: places of rows, masks, exponentials. Everything is local to
// the including file, which is compiled for one instruction set.
#pragma once

#include <algorithm>
#include <cstring>
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

// A bool for each lane.
typedef uint8_t LaneBools __attribute__((vector_size(kVectorFloats)));

// Ones where keys are hidden, of `count` keys that lie side by side.
inline LaneBools hidden_keys(const AttentionMask& mask, const void* data, int64_t place,
                             int64_t count) {
  LaneBools seen{};
  const bool* from = static_cast<const bool*>(data) + place;
  if (count == kVectorFloats) {
    std::memcpy(&seen, from, sizeof(seen));
  } else {
    std::memcpy(&seen, from, static_cast<size_t>(count));
  }
  return mask.hides ? seen : seen ^ 1;
}

// A row's mask of `count` keys from `first` on: what it adds to the scores, or, of bools, 1 where a
// key is hidden; anything beyond.
inline FloatVector mask_piece(const AttentionMask& mask, const void* data, int64_t place,
                              int64_t first, int64_t count) {
  const int64_t step = mask.strides[3];
  count = std::min<int64_t>(count, kVectorFloats);
  if (step == 1 && mask.is_bool) {
    return __builtin_convertvector(hidden_keys(mask, data, place + first, count), FloatVector);
  }
  if (step == 1) return load_columns(static_cast<const float*>(data) + place + first, count);
  float piece[kVectorFloats] = {};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = place + (first + i) * step;
    if (mask.is_bool) {
      piece[i] = static_cast<const bool*>(data)[at] == mask.hides ? 1 : 0;
    } else {
      piece[i] = static_cast<const float*>(data)[at];
    }
  }
  return load_vector(piece);
}

inline FloatVector masked(const AttentionMask& mask, FloatVector scores, FloatVector piece) {
  if (!mask.is_bool) return scores + piece;
  return piece == 0 ? scores : mask.hidden_score - FloatVector{};
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
