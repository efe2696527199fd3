// The code of double_folds.h; each including file is compiled for one instruction set and names the
// function that returns its table. Everything here has internal linkage, so that no variant is
// merged with another.
#include <array>
#include <cstring>
#include <limits>

#include "tierup/kernels/reduce/double_folds.h"
#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kDoubleLanes = 32;  // As fold_lanes (reduce.h) has them.

struct SumOfDoubles {
  static constexpr double kStart = 0;
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return a + b;
  }
};
struct ProductOfDoubles {
  static constexpr double kStart = 1;
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return a * b;
  }
};
struct SumOfNumbers {
  static constexpr double kStart = 0;
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return a + (b == b ? b : V{});
  }
};
struct MostOfDoubles {
  static constexpr double kStart = -std::numeric_limits<double>::infinity();
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return (a > b) | (a != a) ? a : b;
  }
};
struct LeastOfDoubles {
  static constexpr double kStart = std::numeric_limits<double>::infinity();
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return (a < b) | (a != a) ? a : b;
  }
};

TIERUP_INLINE DoubleVector load_doubles(const double* from) {
  DoubleVector result;
  std::memcpy(&result, from, sizeof(result));
  return result;
}

template <typename Op>
double fold_doubles(const double* x, int64_t n) {
  constexpr int kParts = kDoubleLanes / kVectorDoubles;
  DoubleVector sums[kParts];
  for_each<kParts>([&](auto p) TIERUP_INLINED { sums[p] = Op::kStart - DoubleVector{}; });
  int64_t i = 0;
  for (; i + kDoubleLanes <= n; i += kDoubleLanes) {
    for_each<kParts>([&](auto p) TIERUP_INLINED {
      sums[p] = Op::merge(sums[p], load_doubles(x + i + p * kVectorDoubles));
    });
  }
  std::array<double, kDoubleLanes> lane;
  static_assert(sizeof(lane) == sizeof(sums));
  std::memcpy(lane.data(), &sums, sizeof(sums));
  for (; i < n; ++i) lane[0] = Op::merge(lane[0], x[i]);
  for (int64_t width = kDoubleLanes / 2; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lane[j] = Op::merge(lane[j], lane[j + width]);
  }
  return lane[0];
}

// kBlocks vectors of columns, which stay in registers down the rows.
template <typename Op, int kBlocks>
void fold_columns(const double* x, int64_t rows, int64_t stride, double* acc) {
  DoubleVector sums[kBlocks];
  for_each<kBlocks>([&](auto b)
                        TIERUP_INLINED { sums[b] = load_doubles(acc + b * kVectorDoubles); });
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for_each<kBlocks>([&](auto b) TIERUP_INLINED {
      sums[b] = Op::merge(sums[b], load_doubles(x + b * kVectorDoubles));
    });
  }
  for_each<kBlocks>([&](auto b) TIERUP_INLINED {
    std::memcpy(acc + b * kVectorDoubles, &sums[b], sizeof(sums[b]));
  });
}

template <typename Op>
void fold_double_rows(const double* x, int64_t rows, int64_t stride, int64_t columns, double* acc) {
  constexpr int kBlocks = 4;
  int64_t j = 0;
  for (; j + kBlocks * kVectorDoubles <= columns; j += kBlocks * kVectorDoubles)
    fold_columns<Op, kBlocks>(x + j, rows, stride, acc + j);
  for (; j + kVectorDoubles <= columns; j += kVectorDoubles)
    fold_columns<Op, 1>(x + j, rows, stride, acc + j);
  for (; j < columns; ++j) {
    for (int64_t r = 0; r < rows; ++r) acc[j] = Op::merge(acc[j], x[r * stride + j]);
  }
}

constexpr DoubleFolds kDoubleFolds{.sum = fold_doubles<SumOfDoubles>,
                                   .max = fold_doubles<MostOfDoubles>,
                                   .min = fold_doubles<LeastOfDoubles>,
                                   .numbers = fold_doubles<SumOfNumbers>,
                                   .product = fold_doubles<ProductOfDoubles>,
                                   .add_rows = fold_double_rows<SumOfDoubles>,
                                   .max_rows = fold_double_rows<MostOfDoubles>,
                                   .min_rows = fold_double_rows<LeastOfDoubles>,
                                   .add_number_rows = fold_double_rows<SumOfNumbers>,
                                   .multiply_rows = fold_double_rows<ProductOfDoubles>};

}  // namespace
}  // namespace tierup::kernels
