// The code of float_folds.h; each including file is compiled for one instruction set and names the
// function that returns its table.
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/float_lanes_body.h"
#include "tierup/kernels/reduce/float_places_body.h"

namespace tierup::kernels {
namespace {

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
// Zero stands for NaN.
struct NumberAdder : Adder {
  template <typename V>
  static TIERUP_INLINED V value(V x) {
    return x == x ? x : V{};
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

// All lanes, and `rest` numbers that fill no more of them, which go to the first.
template <typename Op>
TIERUP_INLINE float merge_lanes(Floats<kFoldLanes / 2> low, const Floats<kFoldLanes / 2>& high,
                                const float* x, int64_t rest) {
  if (rest > 0) {
    float first = low.part[0][0];
    for (int64_t i = 0; i < rest; ++i) first = Op::merge(first, Op::value(x[i]));
    low.part[0][0] = first;
  }
  for_each<Floats<kFoldLanes / 2>::kParts>(
      [&](auto i) TIERUP_INLINED { low.part[i] = Op::merge(low.part[i], high.part[i]); });
  return reduce_parts(low.part,
                      [](FloatVector a, FloatVector b) TIERUP_INLINED { return Op::merge(a, b); });
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

constexpr FloatFolds kFolds{.sum = fold<Adder>,
                            .max = fold_extremum<Maximum>,
                            .min = fold_extremum<Minimum>,
                            .add_rows = fold_rows<Adder>,
                            .max_rows = fold_rows<Maximum>,
                            .min_rows = fold_rows<Minimum>,
                            .squares = fold<SquareAdder>,
                            .magnitudes = fold<MagnitudeAdder>,
                            .numbers = fold<NumberAdder>,
                            .product = fold<Multiplier>,
                            .add_square_rows = fold_rows<SquareAdder>,
                            .add_magnitude_rows = fold_rows<MagnitudeAdder>,
                            .add_number_rows = fold_rows<NumberAdder>,
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
