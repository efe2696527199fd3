// Products of any strides in which nothing is copied first, for gemm_block_*.cc: single rows and
// columns of other types than f32, and matrices of a few numbers.
//
// Several sums are under way at a time, each in the order of the depth, as everywhere
// (gemm_row_body.h, decision 0019).
#pragma once

#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

typedef uint32_t WordVector __attribute__((vector_size(kVectorBytes)));
typedef uint64_t LongVector __attribute__((vector_size(kVectorBytes)));
template <>
struct VectorOf<uint32_t> {
  using Type = WordVector;
};
template <>
struct VectorOf<uint64_t> {
  using Type = LongVector;
};
inline WordVector multiply_add(WordVector a, WordVector b, WordVector c) { return a * b + c; }
inline LongVector multiply_add(LongVector a, LongVector b, LongVector c) { return a * b + c; }

// One lane of multiply_add.
template <typename T>
inline T multiply_add_one(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float> && kFuses)
    return __builtin_fmaf(a, b, c);
  else if constexpr (std::is_same_v<T, double> && kFuses)
    return __builtin_fma(a, b, c);
  else
    return a * b + c;
}

// One line of numbers times several others: element p of line i stands at i * line + p * step.
template <typename T>
struct ThinLines {
  int64_t count, k;
  const T* x;
  int64_t x_step;
  const T* lines;
  int64_t line, step;
  T* out;
  int64_t out_step;
};

template <int kCount, typename T>
inline void sum_lines(const ThinLines<T>& p, int64_t first) {
  const T* lines = p.lines + first * p.line;
  T sums[kCount] = {};
  for (int64_t depth = 0; depth < p.k; ++depth) {
    const T x = p.x[depth * p.x_step];
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i)
      sums[i] = multiply_add_one(x, lines[i * p.line + depth * p.step], sums[i]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) p.out[(first + i) * p.out_step] = sums[i];
}

// kCount vectors of lines that stand side by side.
template <int kCount, typename T>
inline void sum_vectors(const ThinLines<T>& p, int64_t first) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kLanesOfT = kVectorBytes / static_cast<int>(sizeof(T));
  Vector sums[kCount] = {};
  for (int64_t depth = 0; depth < p.k; ++depth) {
    const Vector x = p.x[depth * p.x_step] - Vector{};
    const T* lines = p.lines + first + depth * p.step;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      Vector right;
      std::memcpy(&right, lines + i * kLanesOfT, sizeof(right));
      sums[i] = multiply_add(x, right, sums[i]);
    }
  }
  std::memcpy(p.out + first, sums, sizeof(sums));
}

// A vector of lines that each stand in one piece: squares of them are transposed in registers.
inline void sum_squares(const ThinLines<double>& p, int64_t first) {
  const double* lines = p.lines + first * p.line;
  const auto x = [&](int64_t depth) { return p.x[depth * p.x_step] - DoubleVector{}; };
  DoubleVector sum{};
  int64_t depth = 0;
  for (; depth + kVectorDoubles <= p.k; depth += kVectorDoubles) {
    DoubleVector square[kVectorDoubles];
#pragma GCC unroll 8
    for (int i = 0; i < kVectorDoubles; ++i)
      std::memcpy(&square[i], lines + i * p.line + depth, sizeof(DoubleVector));
    transpose(square);
#pragma GCC unroll 8
    for (int i = 0; i < kVectorDoubles; ++i) sum = multiply_add(x(depth + i), square[i], sum);
  }
  if (const int64_t left = p.k - depth; left > 0) {
    DoubleVector square[kVectorDoubles];
#pragma GCC unroll 8
    for (int i = 0; i < kVectorDoubles; ++i)
      square[i] = load_part(lines + i * p.line + depth, left);
    transpose(square);
    for (int64_t i = 0; i < left; ++i) sum = multiply_add(x(depth + i), square[i], sum);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kVectorDoubles; ++i) p.out[(first + i) * p.out_step] = sum[i];
}

template <typename T>
inline void multiply_lines(const ThinLines<T>& p) {
  constexpr int kLanesOfT = kVectorBytes / static_cast<int>(sizeof(T));
  int64_t i = 0;
  if constexpr (std::is_same_v<T, double>) {
    if (p.step == 1) {
      for (; i + kVectorDoubles <= p.count; i += kVectorDoubles) sum_squares(p, i);
    }
  }
  if (p.line == 1 && p.out_step == 1) {
    for (; i + 4 * kLanesOfT <= p.count; i += 4 * kLanesOfT) sum_vectors<4>(p, i);
    for (; i + kLanesOfT <= p.count; i += kLanesOfT) sum_vectors<1>(p, i);
  }
  for (; i + 8 <= p.count; i += 8) sum_lines<8>(p, i);
  if (i + 4 <= p.count) {
    sum_lines<4>(p, i);
    i += 4;
  }
  switch (p.count - i) {
    case 3: return sum_lines<3>(p, i);
    case 2: return sum_lines<2>(p, i);
    case 1: return sum_lines<1>(p, i);
    default: return;
  }
}

template <typename T>
void run_thin(const GemmMatrices<T>& p) {
  for (int64_t batch = 0; batch < p.count; ++batch) {
    const T* a = p.a + batch * p.a_batch;
    const T* b = p.b + batch * p.b_batch;
    T* c = p.c + batch * p.c_batch;
    if (p.n == 1) {
      multiply_lines<T>({p.m, p.k, b, p.b_row, a, p.a_row, p.a_col, c, p.c_row});
      continue;
    }
    for (int64_t i = 0; i < p.m; ++i) {
      multiply_lines<T>(
          {p.n, p.k, a + i * p.a_row, p.a_col, b, p.b_col, p.b_row, c + i * p.c_row, 1});
    }
  }
}

// Eight vectors of sums, whose lanes are added up at the end.
template <typename T>
T long_dot(int64_t n, const T* x, const T* y) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kLanesOfT = kVectorBytes / static_cast<int>(sizeof(T));
  constexpr int kSums = 8;
  Vector sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanesOfT <= n; i += kSums * kLanesOfT) {
#pragma GCC unroll 8
    for (int s = 0; s < kSums; ++s) {
      Vector left;
      Vector right;
      std::memcpy(&left, x + i + s * kLanesOfT, sizeof(left));
      std::memcpy(&right, y + i + s * kLanesOfT, sizeof(right));
      sums[s] = multiply_add(left, right, sums[s]);
    }
  }
  T lanes[kSums * kLanesOfT];
  std::memcpy(lanes, sums, sizeof(lanes));
  for (int64_t lane = 0; i < n; ++i, ++lane)
    lanes[lane] = multiply_add_one(x[i], y[i], lanes[lane]);
  for (int half = kSums * kLanesOfT / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

}  // namespace
}  // namespace tierup::kernels
