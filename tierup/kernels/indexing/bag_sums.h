// Sums of rows that indices name, for each instruction set: what embedding bags and index_add do.
//
// Every variant adds each column in the order of the indices, so that all give the same bits.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// out[j] = sum of table[index[i] * width + j], times factor[i] if there are factors, over `count`
// indices that are not `padding`. Returns how many those are.
using BagSum = int64_t (*)(const float* table, int64_t width, const int64_t* index, int64_t count,
                           const float* factor, int64_t padding, float* out);

BagSum bag_sum_base();
BagSum bag_sum_avx2();
BagSum bag_sum_avx512();

// The variant for this processor.
BagSum bag_sum();

// Rows of a source and the rows of a target that they are added to; steps in numbers.
struct RowSums {
  float* to;
  int64_t to_step;
  const float* from;
  int64_t from_step;
  const int64_t* at;  // Of source row i: target row at[i * index_step].
  int64_t index_step;
  const int64_t* rows;  // Source rows in their order; null: all from the first one on.
  int64_t count;
  int64_t numbers;  // Of each row.
};
using RowSum = void (*)(const RowSums& sums);
RowSum row_sum_base();
RowSum row_sum_avx2();
RowSum row_sum_avx512();
RowSum row_sum();

}  // namespace tierup::kernels
