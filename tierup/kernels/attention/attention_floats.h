// Scaled dot-product attention over f32 operands that lie anywhere: for compiled programs, which
// know all shapes beforehand and own the memory of the result, and for tier 0.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace tierup::kernels {

// What scores meet once they are scaled: numbers are added, bools hide keys.
struct AttentionMask {
  bool is_bool = false;
  bool hides = false;  // Of bools: true where a key is not seen, else where one is.
  float hidden_score = -std::numeric_limits<float>::infinity();  // Of keys that a bool hides.
  int64_t strides[4] = {};   // As of operands; 0 where it is broadcast.
  int64_t batch_period = 0;  // Not 0: after so many entries of the batch it begins anew.
};
inline constexpr int kMostAttentionMasks = 2;

// Strides count elements, of [batch, heads, rows, columns]; columns of query, key, value and the
// result lie side by side.
struct AttentionProblem {
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, depth = 0, width = 0;
  int64_t group = 1;  // So many query heads, side by side, share a head of keys and values.
  double scale = 1;
  bool is_causal = false;
  float unseen = 0;  // The result of a query that sees no key: all its scores are -infinity.
  int64_t query_strides[4] = {};
  int64_t key_strides[4] = {};
  int64_t value_strides[4] = {};
  int64_t out_strides[4] = {};
  int mask_count = 0;
  AttentionMask masks[kMostAttentionMasks];  // In the order in which scores meet them.
};

// `masks`: the memory of each mask of the problem.
void attend_floats(const AttentionProblem& problem, const float* query, const float* key,
                   const float* value, std::span<const void* const> masks, float* out);

}  // namespace tierup::kernels
