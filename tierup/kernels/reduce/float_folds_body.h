// The code of float_folds.h; each including file is compiled for one instruction set and names the
// function that returns its table. Everything here has internal linkage, so that no variant is
// merged with another.
//
// Lanes are 32 on every processor, in as many vectors as that takes: the order of sums is the same,
// and no vector is wider than a register, which the compiler would take apart number by number.
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
    for_each<kParts>([&](auto i) TIERUP_INLINED { part[i] = Op::merge(part[i], other.part[i]); });
  }
};

struct Adder {
  static constexpr float kStart = 0;
  template <typename V>
  static V merge(V a, V b) {
    return a + b;
  }
  static float merge(float a, float b) { return a + b; }
};
struct Maximum {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  template <typename V>
  static V merge(V a, V b) {
    return (a > b) | (a != a) ? a : b;
  }
  static float merge(float a, float b) { return a > b || a != a ? a : b; }
};
struct Minimum {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  template <typename V>
  static V merge(V a, V b) {
    return (a < b) | (a != a) ? a : b;
  }
  static float merge(float a, float b) { return a < b || a != a ? a : b; }
};

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
  std::array<float, kFoldLanes> lane;
  low.store(lane.data());
  high.store(lane.data() + kHalf);
  for (; i < n; ++i) lane[0] = Op::merge(lane[0], x[i]);
  for (int64_t width = kHalf; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lane[j] = Op::merge(lane[j], lane[j + width]);
  }
  return lane[0];
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
    for (int64_t j = 0; j < columns; ++j) acc[j] = Op::merge(acc[j], x[j]);
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

constexpr FloatFolds kFolds{
    fold<Adder>,        fold<Maximum>, fold<Minimum>, fold_rows<Adder>,    fold_rows<Maximum>,
    fold_rows<Minimum>, wide_sum,      wide_squares,  first_outside<true>, first_outside<false>};

}  // namespace
}  // namespace tierup::kernels
