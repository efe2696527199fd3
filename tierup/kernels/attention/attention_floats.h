// Scaled dot-product attention over f32 operands that lie anywhere: for compiled programs, which
// know all shapes beforehand and own the memory of the result.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// Strides count elements, of [batch, heads, rows, columns]; columns of query, key, value and the
// result lie side by side. A mask's strides are 0 where it is broadcast.
struct AttentionProblem {
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, depth = 0, width = 0;
  double scale = 1;
  bool is_causal = false;
  bool mask_is_bool = false;  // True where a key is seen; else numbers to be added to the scores.
  int64_t query_strides[4] = {};
  int64_t key_strides[4] = {};
  int64_t value_strides[4] = {};
  int64_t mask_strides[4] = {};
  int64_t out_strides[4] = {};
};

// `mask` may be null. A query that sees nothing gives zeros.
void attend_floats(const AttentionProblem& problem, const float* query, const float* key,
                   const float* value, const void* mask, float* out);

}  // namespace tierup::kernels
