// The code of bag_sums.h; each including file is compiled for one instruction set and names the
// function that returns its variant. Everything here has internal linkage.
#include "tierup/kernels/indexing/bag_sums.h"
#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int kMostVectors = 4;  // Of columns that stay in registers over the indices.

struct Bag {
  const float* table;
  int64_t width;
  const int64_t* index;
  int64_t count;
  const float* factor;
  int64_t padding;
};

// kVectors vectors of columns from `column` on; the last one has `last` of them, at least one.
template <int kVectors, bool kScales>
int64_t sum_columns(const Bag& bag, int64_t column, int64_t last, float* out) {
  FloatVector sums[kVectors]{};
  int64_t added = 0;
  for (int64_t i = 0; i < bag.count; ++i) {
    if (bag.index[i] == bag.padding) continue;
    const float* row = bag.table + bag.index[i] * bag.width + column;
    FloatVector scale{};
    if constexpr (kScales) scale = scale + bag.factor[i];
    for_each<kVectors>([&](auto v) TIERUP_INLINED {
      const float* from = row + v * kVectorFloats;
      const FloatVector x = v + 1 < kVectors ? load_vector(from) : load_columns(from, last);
      sums[v] += kScales ? x * scale : x;
    });
    ++added;
  }
  for_each<kVectors>([&](auto v) TIERUP_INLINED {
    store_columns(out + column + v * kVectorFloats, v + 1 < kVectors ? kVectorFloats : last,
                  sums[v]);
  });
  return added;
}

template <bool kScales>
int64_t sum_bag(const Bag& bag, float* out) {
  int64_t added = 0;
  for (int64_t column = 0; column < bag.width; column += kMostVectors * kVectorFloats) {
    const int64_t left = bag.width - column;
    const int64_t vectors = (left + kVectorFloats - 1) / kVectorFloats;
    const int64_t last = left - (vectors - 1) * kVectorFloats;
    if (vectors > 3)
      added = sum_columns<4, kScales>(bag, column, vectors > 4 ? kVectorFloats : last, out);
    else if (vectors == 3)
      added = sum_columns<3, kScales>(bag, column, last, out);
    else if (vectors == 2)
      added = sum_columns<2, kScales>(bag, column, last, out);
    else
      added = sum_columns<1, kScales>(bag, column, last, out);
  }
  return added;
}

int64_t sum_rows_of_bag(const float* table, int64_t width, const int64_t* index, int64_t count,
                        const float* factor, int64_t padding, float* out) {
  const Bag bag{table, width, index, count, factor, padding};
  return factor != nullptr ? sum_bag<true>(bag, out) : sum_bag<false>(bag, out);
}

void add_rows(const RowSums& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t row = s.rows == nullptr ? i : s.rows[i];
    float* to = s.to + s.at[row * s.index_step] * s.to_step;
    const float* from = s.from + row * s.from_step;
    int64_t j = 0;
    for (; j + kVectorFloats <= s.numbers; j += kVectorFloats)
      store_vector(to + j, load_vector(to + j) + load_vector(from + j));
    if (j == s.numbers) continue;
    const int64_t left = s.numbers - j;
    store_columns(to + j, left, load_columns(to + j, left) + load_columns(from + j, left));
  }
}

}  // namespace
}  // namespace tierup::kernels
