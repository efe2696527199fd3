// Queries one by one; see attention_tiles.h. Keys and values come from memory once, a block at a
// time, for all of the queries.
#pragma once

#include "tierup/kernels/attention/attention_lanes_body.h"

namespace tierup::kernels {
namespace {

// A vector of scores: sums along the depth, then over the lanes, by a square turned on its side.
inline FloatVector dot_products(const float* query, const float* keys, int64_t stride,
                                int64_t depth, int64_t count) {
  FloatVector square[kVectorFloats];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kVectorFloats; ++i) {
    const float* key = keys + std::min(i, count - 1) * stride;
    FloatVector sum{};
    int64_t d = 0;
    for (; d + kVectorFloats <= depth; d += kVectorFloats)
      sum = multiply_add(load_vector(query + d), load_vector(key + d), sum);
    if (d < depth)
      sum = multiply_add(load_part(query + d, depth - d), load_part(key + d, depth - d), sum);
    square[i] = sum;
  }
  transpose(square);
#pragma GCC unroll 4
  for (int step = kVectorFloats / 2; step > 0; step /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < step; ++i) square[i] = square[i] + square[i + step];
  }
  return square[0];
}

inline float largest_lane(FloatVector x) {
  float best = x[0];
  for (int i = 1; i < kVectorFloats; ++i) best = x[i] > best || x[i] != x[i] ? x[i] : best;
  return best;
}

inline float sum_of(FloatVector x) {
  float sum = 0;
  for (int i = 0; i < kVectorFloats; ++i) sum += x[i];
  return sum;
}

// A row and what is known of it so far.
struct LoneRow {
  int64_t row = 0, seen = 0;
  float* query = nullptr;   // Times the scale.
  float* result = nullptr;  // [width]
  float top = kHidden;
  float sum = 0;
};

// Scores of keys from `first` on, in vectors: hidden beyond the last.
FloatVector lone_scores(const AttentionRows& call, const LoneRow& row, int64_t first, int64_t keys,
                        float* scores) {
  const AttentionProblem& p = *call.problem;
  const int64_t stride = p.key_strides[2];
  FloatVector top = kHidden - FloatVector{};
  for (int64_t k = 0; k < keys; k += kVectorFloats) {
    const int64_t count = std::min<int64_t>(kVectorFloats, keys - k);
    FloatVector some =
        dot_products(row.query, call.key + (first + k) * stride, stride, p.depth, count);
    for (int m = 0; m < p.mask_count; ++m) {
      const int64_t place = place_of(call, p.masks[m].strides, row.row);
      some =
          masked(p.masks[m], some, mask_piece(p.masks[m], call.masks[m], place, first + k, count));
    }
    for (int64_t i = count; i < kVectorFloats; ++i) some[i] = kHidden;
    store_vector(scores + k, some);
    top = larger_or_nan(some, top);
  }
  return top;
}

// result = factor * result + weights times kCount vectors of the values' columns, the last of which
// has `last` of them.
template <int kCount>
void add_values(const float* value, int64_t stride, const float* weights, int64_t keys,
                float factor, float* result, int64_t last) {
  constexpr int kWhole = kCount - 1;
  FloatVector sums[kCount];
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = load_vector(result + v * kVectorFloats) * factor;
  for (int64_t k = 0; k < keys; ++k, value += stride) {
    const FloatVector weight = weights[k] - FloatVector{};
#pragma GCC unroll 8
    for (int v = 0; v < kWhole; ++v)
      sums[v] = multiply_add(weight, load_vector(value + v * kVectorFloats), sums[v]);
    const FloatVector rest = load_columns(value + kWhole * kVectorFloats, last);
    sums[kWhole] = multiply_add(weight, rest, sums[kWhole]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) store_vector(result + v * kVectorFloats, sums[v]);
}

void attend_keys_alone(const AttentionRows& call, LoneRow& row, int64_t first, float* scores) {
  const AttentionProblem& p = *call.problem;
  const int64_t keys = std::min(call.key_block, row.seen - first);
  if (keys <= 0) return;
  const FloatVector tops = lone_scores(call, row, first, keys, scores);
  const float top = largest_lane(larger_or_nan(tops, row.top - FloatVector{}));
  const FloatVector shift = shift_of(top - FloatVector{});
  const float factor = exp_below(row.top - shift)[0];
  FloatVector sum{};
  for (int64_t k = 0; k < keys; k += kVectorFloats) {
    const FloatVector weights = exp_below(load_vector(scores + k) - shift);
    store_vector(scores + k, weights);
    sum += weights;
  }
  row.sum = row.sum * factor + sum_of(sum);
  row.top = top;
  for (int64_t d = 0; d < p.width;) {
    const int64_t left = p.width - d;
    const int64_t together = left >= 8 * kVectorFloats ? 8 : left >= 4 * kVectorFloats ? 4 : 1;
    const auto add = together == 8 ? add_values<8> : together == 4 ? add_values<4> : add_values<1>;
    add(call.value + first * p.value_strides[2] + d, p.value_strides[2], scores, keys, factor,
        row.result + d, std::min<int64_t>(left, kVectorFloats));
    d += together * kVectorFloats;
  }
}

LoneRow make_lone_row(const AttentionRows& call, int64_t index, float* memory) {
  const AttentionProblem& p = *call.problem;
  LoneRow row;
  row.row = call.first + index;
  row.seen = keys_seen(p, row.row);
  row.query = memory;
  row.result = memory + p.depth;
  const float* query = call.query + place_of(call, p.query_strides, row.row);
  for (int64_t d = 0; d < p.depth; ++d) row.query[d] = query[d] * static_cast<float>(p.scale);
  std::fill_n(row.result, p.width + kVectorFloats, 0.0F);
  return row;
}

// At most kVectorFloats / 2 rows.
void attend_alone(const AttentionRows& call) {
  const AttentionProblem& p = *call.problem;
  LoneRow rows[kVectorFloats / 2];
  float* memory = call.scratch + call.key_block + kVectorFloats;
  for (int64_t i = 0; i < call.count; ++i, memory += p.depth + p.width + kVectorFloats)
    rows[i] = make_lone_row(call, i, memory);
  for (int64_t key = 0; key < p.keys; key += call.key_block) {
    for (int64_t i = 0; i < call.count; ++i) attend_keys_alone(call, rows[i], key, call.scratch);
  }
  for (int64_t i = 0; i < call.count; ++i) {
    const LoneRow& row = rows[i];
    float* out = call.out + place_of(call, p.out_strides, row.row);
    const bool sees_nothing = row.top == kHidden;
    for (int64_t d = 0; d < p.width; ++d)
      out[d] = sees_nothing ? p.unseen : row.result[d] / row.sum;
  }
}

}  // namespace
}  // namespace tierup::kernels
