// The code of whole_folds.h; each including file is compiled for one instruction set and names the
// function that returns its table. Everything here has internal linkage, so that no variant is
// merged with another.
#include <cstring>
#include <limits>

#include "tierup/kernels/reduce/whole_folds.h"
#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

struct SumOfWholes {
  template <typename Acc>
  static constexpr Acc kStart = 0;
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return a + b;
  }
};
struct ProductOfWholes {
  template <typename Acc>
  static constexpr Acc kStart = 1;
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return a * b;
  }
};
struct MostOfWholes {
  template <typename Acc>
  static constexpr Acc kStart = std::numeric_limits<Acc>::lowest();
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return a > b ? a : b;
  }
};
struct LeastOfWholes {
  template <typename Acc>
  static constexpr Acc kStart = std::numeric_limits<Acc>::max();
  template <typename V>
  static TIERUP_INLINED V merge(V a, V b) {
    return a < b ? a : b;
  }
};

// A vector of accumulators, and as many elements as it has lanes.
template <typename T, typename Acc>
struct WholeVectors {
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Acc));
  typedef Acc Sums __attribute__((vector_size(kVectorBytes)));
  typedef T Elements __attribute__((vector_size(kLanes * sizeof(T))));

  static TIERUP_INLINED Sums load(const T* from) {
    Elements elements;
    std::memcpy(&elements, from, sizeof(elements));
    if constexpr (std::is_same_v<T, Acc>)
      return elements;
    else
      return __builtin_convertvector(elements, Sums);
  }
};

template <typename Op, typename T, typename Acc>
Acc fold_wholes(const T* x, int64_t n) {
  using Vectors = WholeVectors<T, Acc>;
  constexpr int kParts = 4;
  constexpr int kLanes = Vectors::kLanes;
  constexpr Acc kStart = Op::template kStart<Acc>;
  typename Vectors::Sums sums[kParts];
  for_each<kParts>([&](auto p) TIERUP_INLINED { sums[p] = kStart - typename Vectors::Sums{}; });
  int64_t i = 0;
  for (; i + kParts * kLanes <= n; i += kParts * kLanes) {
    for_each<kParts>([&](auto p) TIERUP_INLINED {
      sums[p] = Op::merge(sums[p], Vectors::load(x + i + p * kLanes));
    });
  }
  for (; i + kLanes <= n; i += kLanes) sums[0] = Op::merge(sums[0], Vectors::load(x + i));
  sums[0] = Op::merge(Op::merge(sums[0], sums[1]), Op::merge(sums[2], sums[3]));
  Acc result = kStart;
  for (int lane = 0; lane < kLanes; ++lane) result = Op::template merge<Acc>(result, sums[0][lane]);
  for (; i < n; ++i) result = Op::template merge<Acc>(result, static_cast<Acc>(x[i]));
  return result;
}

// kBlocks vectors of columns, which stay in registers down the rows.
template <typename Op, int kBlocks, typename T, typename Acc>
void fold_whole_columns(const T* x, int64_t rows, int64_t stride, Acc* acc) {
  using Vectors = WholeVectors<T, Acc>;
  typename Vectors::Sums sums[kBlocks];
  std::memcpy(&sums, acc, sizeof(sums));
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for_each<kBlocks>([&](auto b) TIERUP_INLINED {
      sums[b] = Op::merge(sums[b], Vectors::load(x + b * Vectors::kLanes));
    });
  }
  std::memcpy(acc, &sums, sizeof(sums));
}

template <typename Op, typename T, typename Acc>
void fold_whole_rows(const T* x, int64_t rows, int64_t stride, int64_t columns, Acc* acc) {
  constexpr int kBlocks = 4;
  constexpr int kLanes = WholeVectors<T, Acc>::kLanes;
  int64_t j = 0;
  for (; j + kBlocks * kLanes <= columns; j += kBlocks * kLanes)
    fold_whole_columns<Op, kBlocks>(x + j, rows, stride, acc + j);
  for (; j + kLanes <= columns; j += kLanes)
    fold_whole_columns<Op, 1>(x + j, rows, stride, acc + j);
  for (; j < columns; ++j) {
    for (int64_t r = 0; r < rows; ++r)
      acc[j] = Op::template merge<Acc>(acc[j], static_cast<Acc>(x[r * stride + j]));
  }
}

template <bool kMax, typename V>
TIERUP_INLINE auto takes_places(V value, V best) {
  // A NaN equals nothing, itself neither; of integers both are always false.
  const auto is_better = kMax ? value > best : value < best;
  return (is_better | (value != value)) & (best == best);
}

template <bool kMax, typename T>
void find_in_wide_rows(const T* x, int64_t rows, int64_t stride, int64_t columns, int64_t first,
                       T* best, int64_t* place) {
  constexpr int kLanes = kVectorBytes / 8;
  typedef T Values __attribute__((vector_size(kVectorBytes)));
  typedef int64_t Places __attribute__((vector_size(kVectorBytes)));
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    Values found;
    Places at;
    std::memcpy(&found, best + j, sizeof(found));
    std::memcpy(&at, place + j, sizeof(at));
    for (int64_t r = 0; r < rows; ++r) {
      Values value;
      std::memcpy(&value, x + r * stride + j, sizeof(value));
      const auto takes = takes_places<kMax>(value, found);
      found = takes ? value : found;
      at = takes ? (first + r) - Places{} : at;
    }
    std::memcpy(best + j, &found, sizeof(found));
    std::memcpy(place + j, &at, sizeof(at));
  }
  for (; j < columns; ++j) {
    for (int64_t r = 0; r < rows; ++r) {
      const T value = x[r * stride + j];
      if (!takes_places<kMax>(value, best[j])) continue;
      best[j] = value;
      place[j] = first + r;
    }
  }
}

template <typename T>
constexpr WholeFolds<T> kFoldsOf{.max = fold_wholes<MostOfWholes, T, T>,
                                 .min = fold_wholes<LeastOfWholes, T, T>,
                                 .sum = fold_wholes<SumOfWholes, T, uint64_t>,
                                 .product = fold_wholes<ProductOfWholes, T, uint64_t>,
                                 .max_rows = fold_whole_rows<MostOfWholes, T, T>,
                                 .min_rows = fold_whole_rows<LeastOfWholes, T, T>,
                                 .add_rows = fold_whole_rows<SumOfWholes, T, uint64_t>,
                                 .multiply_rows = fold_whole_rows<ProductOfWholes, T, uint64_t>};

constexpr WholeFoldTable kWholeFolds{.i64 = kFoldsOf<int64_t>,
                                     .i32 = kFoldsOf<int32_t>,
                                     .i16 = kFoldsOf<int16_t>,
                                     .i8 = kFoldsOf<int8_t>,
                                     .u8 = kFoldsOf<uint8_t>,
                                     .find_max_i64 = find_in_wide_rows<true, int64_t>,
                                     .find_min_i64 = find_in_wide_rows<false, int64_t>,
                                     .find_max_f64 = find_in_wide_rows<true, double>,
                                     .find_min_f64 = find_in_wide_rows<false, double>};

}  // namespace
}  // namespace tierup::kernels
