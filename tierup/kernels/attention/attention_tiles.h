// The inner loops of attention, compiled once per instruction set; attention_floats.cc cuts the
// work into their pieces.
//
// Queries stand in the lanes of vectors: scores of a block of keys are a product of the keys, read
// where they lie, and the queries turned on their side; the running maximum and sum of each query
// are one lane each; and the values, read where they lie too, times the exponentials make the
// result on its side. Nothing is packed but the queries, whatever the sizes. A few queries alone
// fill no lanes: these go one by one, over keys and values as they stand.
#pragma once

#include <cstdint>

#include "tierup/kernels/attention/attention_floats.h"

namespace tierup::kernels {

// Some of the queries that read one head of keys: row i is query i % queries of the i / queries-th
// query head of the group.
struct AttentionRows {
  const AttentionProblem* problem = nullptr;
  const float* query = nullptr;  // Of the first query head of the group.
  const float* key = nullptr;
  const float* value = nullptr;
  const void* masks[kMostAttentionMasks] = {};  // Of the first query head.
  float* out = nullptr;
  int64_t first = 0, count = 0;
  int64_t key_block = 0;     // Keys at a time.
  float* scratch = nullptr;  // attention_scratch(...) floats, 64-byte aligned.
};
using AttentionRowsFn = void (*)(const AttentionRows& rows);

struct AttentionKernels {
  int64_t lanes;       // Queries that go together.
  int64_t most_alone;  // So many go one by one.
  AttentionRowsFn together;
  AttentionRowsFn alone;
};

AttentionKernels attention_kernels_base();
AttentionKernels attention_kernels_avx2();
AttentionKernels attention_kernels_avx512();

// Rows that share the way of keys and values to the first-level cache.
inline constexpr int64_t kAttentionBlock = 64;

// Floats that a call needs for `count` rows: the queries, results and states of a block, and the
// scores of its lanes or rows against a block of keys.
constexpr int64_t attention_scratch(const AttentionProblem& p, int64_t key_block) {
  return kAttentionBlock * (p.depth + p.width + key_block + 64) + 64;
}

}  // namespace tierup::kernels
