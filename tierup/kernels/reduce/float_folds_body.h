// The code of float_folds.h; each including file is compiled for one instruction set and names the
// function that returns its table. Everything here has internal linkage, so that no variant is
// merged with another.
//
// Lanes are 32 on every processor, in as many vectors as that takes: the order of sums is the same,
// and no vector is wider than a register, which the compiler would take apart number by number.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kFoldLanes = 32;

// kCount numbers, in vectors of registers.
template <int kCount>
struct Floats {
  static constexpr int kWidth = kCount < kVectorFloats ? kCount : kVectorFloats;
  static constexpr int kParts = kCount / kWidth;
  // An alias would lose the attribute here, whose size depends on a parameter.
  typedef float Part __attribute__((vector_size(kWidth * sizeof(float))));
  static_assert(sizeof(Part) == kWidth * sizeof(float));
  Part part[kParts];

  static TIERUP_INLINED Floats load(const float* p) {
    Floats result;
    for_each<kParts>(
        [&](auto i) TIERUP_INLINED { std::memcpy(&result.part[i], p + i * kWidth, sizeof(Part)); });
    return result;
  }
  static TIERUP_INLINED Floats all(float value) {
    Floats result;
    for_each<kParts>([&](auto i) TIERUP_INLINED { result.part[i] = Part{} + value; });
    return result;
  }
  TIERUP_INLINED void store(float* p) const {
    for_each<kParts>([&](auto i)
                         TIERUP_INLINED { std::memcpy(p + i * kWidth, &part[i], sizeof(Part)); });
  }
  template <typename Op>
  TIERUP_INLINED void merge(const Floats& other) {
    for_each<kParts>(
        [&](auto i) TIERUP_INLINED { part[i] = Op::merge(part[i], Op::value(other.part[i])); });
  }
  template <typename Op>
  TIERUP_INLINED void merge_numbers(const Floats& other) {
    for_each<kParts>([&](auto i)
                         TIERUP_INLINED { part[i] = Op::merge_numbers(part[i], other.part[i]); });
  }
};

// Whether one of many numbers was NaN, for some operations less than a comparison for each.
template <int kCount>
class NanWatch {
 public:
  TIERUP_INLINED void look_at(const Floats<kCount>& x) {
    for_each<Floats<kCount>::kParts>([&](auto i) TIERUP_INLINED {
      // Of magnitudes' bits, NaN's are the largest.
      const Bits bits = (Bits)x.part[i] & 0x7FFFFFFF;  // NOLINT
      most_[i] = most_[i] > bits ? most_[i] : bits;
    });
  }
  bool found() const {
    std::array<int32_t, kCount> all;
    static_assert(sizeof(all) == sizeof(most_));
    std::memcpy(all.data(), &most_, sizeof(most_));
    return std::any_of(all.begin(), all.end(), [](int32_t bits) { return bits > 0x7F800000; });
  }

 private:
  typedef int32_t Bits __attribute__((vector_size(Floats<kCount>::kWidth * sizeof(int32_t))));
  static_assert(sizeof(Bits) == sizeof(typename Floats<kCount>::Part));
  Bits most_[Floats<kCount>::kParts]{};
};

struct Plain {
  template <typename V>
  static TIERUP_INLINED V value(V x) {
    return x;
  }
};
struct Adder : Plain {
  static constexpr float kStart = 0;
  template <typename V>
  static V merge(V a, V b) {
    return a + b;
  }
  static float merge(float a, float b) { return a + b; }
};
struct Maximum : Plain {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  template <typename V>
  static V merge(V a, V b) {
    return (a > b) | (a != a) ? a : b;
  }
  static float merge(float a, float b) { return a > b || a != a ? a : b; }
  // merge() of numbers that are not NaN.
  template <typename V>
  static TIERUP_INLINED V merge_numbers(V a, V b) {
    return a > b ? a : b;
  }
};
struct Minimum : Plain {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  template <typename V>
  static V merge(V a, V b) {
    return (a < b) | (a != a) ? a : b;
  }
  static float merge(float a, float b) { return a < b || a != a ? a : b; }
  template <typename V>
  static TIERUP_INLINED V merge_numbers(V a, V b) {
    return a < b ? a : b;
  }
};
struct Multiplier : Plain {
  static constexpr float kStart = 1;
  template <typename V>
  static V merge(V a, V b) {
    return a * b;
  }
};
struct SquareAdder : Adder {
  template <typename V>
  static TIERUP_INLINED V value(V x) {
    return x * x;
  }
};
struct MagnitudeAdder : Adder {
  static TIERUP_INLINED float value(float x) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & kMagnitude);
  }
  template <typename V>
  static TIERUP_INLINED V value(V x) {
    using Bits = decltype(x < x);
    return (V)((Bits)x & static_cast<int32_t>(kMagnitude));  // NOLINT: vectors' only way.
  }

 private:
  static constexpr uint32_t kMagnitude = 0x7FFFFFFF;
};

// All lanes, and `rest` numbers that fill no more of them.
template <typename Op>
float merge_lanes(const Floats<kFoldLanes / 2>& low, const Floats<kFoldLanes / 2>& high,
                  const float* x, int64_t rest) {
  constexpr int kHalf = kFoldLanes / 2;
  std::array<float, kFoldLanes> lane;
  low.store(lane.data());
  high.store(lane.data() + kHalf);
  for (int64_t i = 0; i < rest; ++i) lane[0] = Op::merge(lane[0], Op::value(x[i]));
  for (int64_t width = kHalf; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lane[j] = Op::merge(lane[j], lane[j + width]);
  }
  return lane[0];
}

template <typename Op>
float fold(const float* x, int64_t n) {
  constexpr int kHalf = kFoldLanes / 2;
  using Half = Floats<kHalf>;
  Half low = Half::all(Op::kStart);
  Half high = low;
  int64_t i = 0;
  for (; i + kFoldLanes <= n; i += kFoldLanes) {
    low.template merge<Op>(Half::load(x + i));
    high.template merge<Op>(Half::load(x + i + kHalf));
  }
  return merge_lanes<Op>(low, high, x + i, n - i);
}

// fold() of a maximum or minimum, by single instructions as long as there is no NaN.
template <typename Op>
float fold_extremum(const float* x, int64_t n) {
  constexpr int kHalf = kFoldLanes / 2;
  using Half = Floats<kHalf>;
  Half low = Half::all(Op::kStart);
  Half high = low;
  NanWatch<kHalf> watch;
  int64_t i = 0;
  for (; i + kFoldLanes <= n; i += kFoldLanes) {
    const Half first = Half::load(x + i);
    const Half second = Half::load(x + i + kHalf);
    low.template merge_numbers<Op>(first);
    high.template merge_numbers<Op>(second);
    watch.look_at(first);
    watch.look_at(second);
  }
  if (watch.found()) return fold<Op>(x, n);
  return merge_lanes<Op>(low, high, x + i, n - i);
}

// kBlocks blocks of kWidth columns, which stay in registers down the rows. The last block ends with
// the last column, and does some columns as the one before does them.
template <typename Op, int kWidth, int kBlocks>
void fold_blocks(const float* x, int64_t rows, int64_t stride, int64_t columns, float* acc) {
  const auto column = [last = columns - kWidth](int block)
                          TIERUP_INLINED { return block + 1 < kBlocks ? block * kWidth : last; };
  Floats<kWidth> sums[kBlocks];
  for_each<kBlocks>([&](auto b)
                        TIERUP_INLINED { sums[b] = Floats<kWidth>::load(acc + column(b)); });
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for_each<kBlocks>([&](auto b) TIERUP_INLINED {
      sums[b].template merge<Op>(Floats<kWidth>::load(x + column(b)));
    });
  }
  for_each<kBlocks>([&](auto b) TIERUP_INLINED { sums[b].store(acc + column(b)); });
}

template <typename Op>
void fold_rows(const float* x, int64_t rows, int64_t stride, int64_t columns, float* acc) {
  if (columns > 48) return fold_blocks<Op, 16, 4>(x, rows, stride, columns, acc);
  if (columns > 32) return fold_blocks<Op, 16, 3>(x, rows, stride, columns, acc);
  if (columns > 16) return fold_blocks<Op, 16, 2>(x, rows, stride, columns, acc);
  if (columns == 16) return fold_blocks<Op, 16, 1>(x, rows, stride, columns, acc);
  if (columns >= 8) return fold_blocks<Op, 8, 2>(x, rows, stride, columns, acc);
  if (columns >= 4) return fold_blocks<Op, 4, 2>(x, rows, stride, columns, acc);
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for (int64_t j = 0; j < columns; ++j) acc[j] = Op::merge(acc[j], Op::value(x[j]));
  }
}

// A vector of columns and where their best numbers are. False, with nothing done, if one is NaN.
template <bool kMax>
bool find_numbers(const float* x, int64_t rows, int64_t stride, int32_t first, float* best,
                  int32_t* place) {
  constexpr int kWidth = 16;
  using Columns = Floats<kWidth>;
  typedef int32_t Places __attribute__((vector_size(sizeof(typename Columns::Part))));
  Columns top = Columns::load(best);
  Places at[Columns::kParts];
  std::memcpy(&at, place, sizeof(at));
  NanWatch<kWidth> watch;
  watch.look_at(top);
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    const Columns row = Columns::load(x);
    watch.look_at(row);
    const Places here = Places{} + (first + static_cast<int32_t>(r));
    for_each<Columns::kParts>([&](auto i) TIERUP_INLINED {
      const auto takes = kMax ? row.part[i] > top.part[i] : row.part[i] < top.part[i];
      top.part[i] = takes ? row.part[i] : top.part[i];
      at[i] = takes ? here : at[i];
    });
  }
  if (watch.found()) return false;
  top.store(best);
  std::memcpy(place, &at, sizeof(at));
  return true;
}

template <bool kMax>
void find_in_columns(const float* x, int64_t rows, int64_t stride, int64_t columns, int32_t first,
                     float* best, int32_t* place) {
  constexpr int64_t kWidth = 16;
  for (int64_t j = 0; j < columns; j += kWidth) {
    const bool is_whole = j + kWidth <= columns;
    if (is_whole && find_numbers<kMax>(x + j, rows, stride, first, best + j, place + j)) continue;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x + r * stride;
      for (int64_t k = j; k < std::min(j + kWidth, columns); ++k) {
        const bool is_better = kMax ? row[k] > best[k] : row[k] < best[k];
        if (best[k] != best[k] || !(is_better || row[k] != row[k])) continue;
        best[k] = row[k];
        place[k] = first + static_cast<int32_t>(r);
      }
    }
  }
}

// A register of doubles from as many floats.
TIERUP_INLINE DoubleVector load_wide(const float* p) {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(__AVX2__)
  return _mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  return DoubleVector{p[0], p[1]};
#endif
}

// The sum of value(x[i]) in double; value takes a DoubleVector or a double.
template <typename Value>
double wide_fold(const float* x, int64_t n, const Value& value) {
  constexpr int kWidth = kVectorFloats / 2;
  constexpr int kParts = kFoldLanes / kWidth;
  DoubleVector sums[kParts]{};
  int64_t i = 0;
  for (; i + kFoldLanes <= n; i += kFoldLanes) {
    for_each<kParts>([&](auto v)
                         TIERUP_INLINED { sums[v] += value(load_wide(x + i + v * kWidth)); });
  }
  std::array<double, kFoldLanes> lane;
  for_each<kParts>(
      [&](auto v) TIERUP_INLINED { std::memcpy(&lane[v * kWidth], &sums[v], sizeof(sums[v])); });
  for (; i < n; ++i) lane[0] += value(static_cast<double>(x[i]));
  for (int64_t width = kFoldLanes / 2; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lane[j] += lane[j + width];
  }
  return lane[0];
}
double wide_sum(const float* x, int64_t n) {
  return wide_fold(x, n, [](auto v) { return v; });
}
double wide_squares(const float* x, int64_t n, double center) {
  return wide_fold(x, n, [center](auto v) { return (v - center) * (v - center); });
}

// A bit for each number that is not at most (not at least) `bound`.
template <bool kAbove>
TIERUP_INLINE uint32_t outside(FloatVector x, FloatVector bound) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(x, bound, kAbove ? _CMP_NLE_UQ : _CMP_NGE_UQ);
#elif defined(__AVX2__)
  return static_cast<uint32_t>(
      _mm256_movemask_ps(_mm256_cmp_ps(x, bound, kAbove ? _CMP_NLE_UQ : _CMP_NGE_UQ)));
#else
  uint32_t bits = 0;
  for (uint32_t j = 0; j < kVectorFloats; ++j)
    bits |= static_cast<uint32_t>(kAbove ? !(x[j] <= bound[j]) : !(x[j] >= bound[j])) << j;
  return bits;
#endif
}

template <bool kAbove>
int64_t first_outside(const float* x, int64_t n, float bound) {
  FloatVector bounds;
  for (int j = 0; j < kVectorFloats; ++j) bounds[j] = bound;
  int64_t i = 0;
  for (; i + kVectorFloats <= n; i += kVectorFloats) {
    const uint32_t bits = outside<kAbove>(load_vector(x + i), bounds);
    if (bits != 0) return i + std::countr_zero(bits);
  }
  for (; i < n; ++i) {
    if (kAbove ? !(x[i] <= bound) : !(x[i] >= bound)) return i;
  }
  return n;
}

// A bit for each number that equals `value`, or of which neither is a number.
TIERUP_INLINE uint32_t equal(FloatVector x, FloatVector value) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(x, value, _CMP_EQ_OQ) |
         (_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) & _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
#elif defined(__AVX2__)
  const __m256 both =
      _mm256_and_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q), _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return static_cast<uint32_t>(
      _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(x, value, _CMP_EQ_OQ), both)));
#else
  uint32_t bits = 0;
  for (uint32_t j = 0; j < kVectorFloats; ++j) {
    const bool is_same = x[j] == value[j] || (x[j] != x[j] && value[j] != value[j]);
    bits |= static_cast<uint32_t>(is_same) << j;
  }
  return bits;
#endif
}

int64_t first_equal(const float* x, int64_t n, float value) {
  FloatVector values;
  for (int j = 0; j < kVectorFloats; ++j) values[j] = value;
  int64_t i = 0;
  for (; i + kVectorFloats <= n; i += kVectorFloats) {
    const uint32_t bits = equal(load_vector(x + i), values);
    if (bits != 0) return i + std::countr_zero(bits);
  }
  for (; i < n; ++i) {
    if (x[i] == value || (x[i] != x[i] && value != value)) return i;
  }
  return n;
}

// acc[j] += value(x[j], j) down the rows, for some columns; value takes a DoubleVector or a double.
template <typename Value>
TIERUP_INLINE void add_wide(const float* x, int64_t rows, int64_t stride, int64_t columns,
                            double* acc, const Value& value) {
  constexpr int64_t kWidth = kVectorFloats / 2;
  int64_t j = 0;
  for (; j + kWidth <= columns; j += kWidth) {
    DoubleVector sum;
    std::memcpy(&sum, acc + j, sizeof(sum));
    for (int64_t r = 0; r < rows; ++r) sum += value(load_wide(x + r * stride + j), j);
    std::memcpy(acc + j, &sum, sizeof(sum));
  }
  for (; j < columns; ++j) {
    for (int64_t r = 0; r < rows; ++r) acc[j] += value(static_cast<double>(x[r * stride + j]), j);
  }
}

void add_wide_rows(const float* x, int64_t rows, int64_t stride, int64_t columns, double* acc) {
  add_wide(x, rows, stride, columns, acc, [](auto v, int64_t) TIERUP_INLINED { return v; });
}

void add_wide_squares_rows(const float* x, int64_t rows, int64_t stride, int64_t columns,
                           const double* center, double* acc) {
  add_wide(x, rows, stride, columns, acc, [center](auto v, int64_t j) TIERUP_INLINED {
    decltype(v) c;
    std::memcpy(&c, center + j, sizeof(c));
    return (v - c) * (v - c);
  });
}

typedef int32_t IntVector __attribute__((vector_size(kVectorBytes)));

inline IntVector load_ints(const int32_t* from, int64_t count) {
  IntVector result{};
  if (count == kVectorFloats) {
    std::memcpy(&result, from, sizeof(result));
  } else {
    std::memcpy(&result, from, static_cast<size_t>(count) * sizeof(int32_t));
  }
  return result;
}

// Keys by vectors; comparisons give -1 where they hold.
void rank(const int32_t* keys, int64_t n, int32_t* places) {
  int32_t steps[2 * kVectorFloats] = {};
  std::fill_n(steps + kVectorFloats, kVectorFloats, -1);
  for (int64_t i = 0; i < n; i += kVectorFloats) {
    const int64_t count = n - i < kVectorFloats ? n - i : kVectorFloats;
    const IntVector own = load_ints(keys + i, count);
    IntVector minus{};
    for (int64_t j = 0; j < i; ++j) minus += keys[j] <= own;
    for (int64_t j = 0; j < count; ++j) {
      const IntVector is_behind = load_ints(steps + kVectorFloats - 1 - j, kVectorFloats);
      minus += (keys[i + j] < own) | ((keys[i + j] == own) & is_behind);
    }
    for (int64_t j = i + count; j < n; ++j) minus += keys[j] < own;
    const IntVector before = -minus;
    std::memcpy(places + i, &before, static_cast<size_t>(count) * sizeof(int32_t));
  }
}

// Keys of the rows `low` and `high` of some columns in order.
TIERUP_INLINE void put_in_order(int64_t* low, int64_t* high) {
  typedef int64_t Keys __attribute__((vector_size(kVectorBytes)));
  for (int64_t j = 0; j < FloatFolds::kSortedColumns; j += kVectorBytes / 8) {
    Keys a;
    Keys b;
    std::memcpy(&a, low + j, sizeof(a));
    std::memcpy(&b, high + j, sizeof(b));
    const Keys least = a < b ? a : b;
    const Keys most = a < b ? b : a;
    std::memcpy(low + j, &least, sizeof(least));
    std::memcpy(high + j, &most, sizeof(most));
  }
}

// Batcher's merge exchange (Knuth, The Art of Computer Programming, volume 3, 5.2.2, algorithm M):
// which rows are compared does not depend on the keys.
void sort_columns(int64_t* keys, int64_t rows) {
  constexpr int64_t kColumns = FloatFolds::kSortedColumns;
  if (rows < 2) return;
  const auto start = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows)) / 2);
  for (int64_t p = start; p > 0; p /= 2) {
    int64_t apart = p;
    int64_t wanted = 0;
    for (int64_t q = start;; q /= 2) {
      for (int64_t i = 0; i + apart < rows; ++i) {
        if ((i & p) == wanted) put_in_order(keys + i * kColumns, keys + (i + apart) * kColumns);
      }
      if (q == p) break;
      apart = q - p;
      wanted = p;
    }
  }
}

constexpr FloatFolds kFolds{.sum = fold<Adder>,
                            .max = fold_extremum<Maximum>,
                            .min = fold_extremum<Minimum>,
                            .add_rows = fold_rows<Adder>,
                            .max_rows = fold_rows<Maximum>,
                            .min_rows = fold_rows<Minimum>,
                            .squares = fold<SquareAdder>,
                            .magnitudes = fold<MagnitudeAdder>,
                            .product = fold<Multiplier>,
                            .add_square_rows = fold_rows<SquareAdder>,
                            .add_magnitude_rows = fold_rows<MagnitudeAdder>,
                            .multiply_rows = fold_rows<Multiplier>,
                            .find_max_in_rows = find_in_columns<true>,
                            .find_min_in_rows = find_in_columns<false>,
                            .first_equal = first_equal,
                            .add_wide_rows = add_wide_rows,
                            .add_wide_squares_rows = add_wide_squares_rows,
                            .wide_sum = wide_sum,
                            .wide_squares = wide_squares,
                            .first_above = first_outside<true>,
                            .first_below = first_outside<false>,
                            .rank = rank,
                            .sort_columns = sort_columns};

}  // namespace
}  // namespace tierup::kernels
