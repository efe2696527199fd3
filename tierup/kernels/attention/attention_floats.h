// Scaled dot-product attention over f32 operands that lie anywhere: for compiled programs, which
// know all shapes beforehand and own the memory of the result, and for tier 0.
#pragma once

#include <cstdint>
#include <limits>

namespace tierup::kernels {

// Strides count elements, of [batch, heads, rows, columns]; columns of query, key, value and the
// result lie side by side. A mask's strides are 0 where it is broadcast.
struct AttentionProblem {
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, depth = 0, width = 0;
  int64_t group = 1;  // So many query heads, side by side, share a head of keys and values.
  double scale = 1;
  bool is_causal = false;
  bool mask_is_bool = false;  // True where a key is seen; else numbers to be added to the scores.
  bool mask_hides = false;    // Of bools: true where a key is not seen.
  float hidden_score = -std::numeric_limits<float>::infinity();  // Of keys that a bool hides.
  float unseen = 0;  // The result of a query that sees no key: all its scores are -infinity.
  int64_t query_strides[4] = {};
  int64_t key_strides[4] = {};
  int64_t value_strides[4] = {};
  int64_t mask_strides[4] = {};
  int64_t out_strides[4] = {};
};

// `mask` may be null.
void attend_floats(const AttentionProblem& problem, const float* query, const float* key,
                   const float* value, const void* mask, float* out);

}  // namespace tierup::kernels
