// Sums of rows of a table that indices name, for each instruction set: what embedding bags do.
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

}  // namespace tierup::kernels
