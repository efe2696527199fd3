#include "tierup/kernels/gemm/gemm_thin.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// What the thin kernels count in.
template <typename T>
using ThinNumber = std::conditional_t<std::is_floating_point_v<T>, T,
                                      std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;
template <typename T>
GemmThinFn<ThinNumber<T>> thin_function() {
  if constexpr (std::is_same_v<T, float>)
    return gemm_block_kernels().thin_f32;
  else if constexpr (std::is_same_v<T, double>)
    return gemm_block_kernels().thin_f64;
  else if constexpr (sizeof(T) == 8)
    return gemm_block_kernels().thin_i64;
  else
    return gemm_block_kernels().thin_i32;
}

// All matrices of a problem, from those of one batch on.
template <typename Number>
GemmMatrices<Number> matrices_of(const GemmProblem& p) {
  return {p.batch,
          p.m,
          p.n,
          p.k,
          static_cast<const Number*>(p.a.data),
          p.a.batch_stride,
          p.a.row_stride,
          p.a.col_stride,
          static_cast<const Number*>(p.b.data),
          p.b.batch_stride,
          p.b.row_stride,
          p.b.col_stride,
          static_cast<Number*>(p.c),
          p.c_batch_stride,
          p.c_row_stride};
}

template <typename T>
void multiply_direct(const GemmMatrices<T>& matrices) {
  if constexpr (std::is_same_v<T, float>)
    gemm_block_kernels().direct_f32(matrices);
  else
    gemm_block_kernels().direct_f64(matrices);
}

template <typename T>
void add_bias(const GemmMatrices<T>& c, const T* bias) {
  if (bias == nullptr) return;
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) c.c[i * c.c_row + j] += bias[j];
  }
}

// Matrix `batch` of all, of it `rows` rows from `row` on.
template <typename T>
GemmMatrices<T> part_of(const GemmMatrices<T>& all, int64_t batch, int64_t row, int64_t rows) {
  GemmMatrices<T> part = all;
  part.count = 1;
  part.m = rows;
  part.a += batch * all.a_batch + row * all.a_row;
  part.b += batch * all.b_batch;
  part.c += batch * all.c_batch + row * all.c_row;
  return part;
}

// Few rows: columns in parallel.
template <typename T>
void multiply_columns(const GemmMatrices<T>& all, const T* bias) {
  constexpr int64_t kColumns = 64;
  const int64_t blocks = (all.n + kColumns - 1) / kColumns;
  parallel_for(0, blocks, grain_of(kColumns * all.k), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kColumns;
    GemmMatrices<T> part = all;
    part.n = std::min(end * kColumns, all.n) - first;
    part.b += first;
    part.c += first;
    multiply_direct(part);
    add_bias(part, bias == nullptr ? nullptr : bias + first);
  });
}

}  // namespace

const GemmBlockKernels& gemm_block_kernels() {
  return TIERUP_VARIANT(instruction_set(), gemm_block_base, gemm_block_avx2, gemm_block_avx512)();
}

bool is_product_alone(const GemmProblem& p) {
  return p.bias == nullptr && is_factor(p.alpha, 1) && is_factor(p.beta, 0);
}

bool is_dots(const GemmProblem& p) {
  return p.batch > 1 && p.m == 1 && p.n == 1 && p.c_batch_stride == 1 && is_product_alone(p) &&
         (p.k == 1 || (p.a.col_stride == 1 && p.b.row_stride == 1));
}

void gemm_dots(const GemmProblem& p) {
  const int64_t grain = grain_of(p.k);
  const auto* x = static_cast<const float*>(p.a.data);
  const auto* y = static_cast<const float*>(p.b.data);
  parallel_for(0, p.batch, grain, [&](int64_t begin, int64_t end) {
    gemm_block_kernels().dots_f32({end - begin, p.k, x + begin * p.a.batch_stride, p.a.batch_stride,
                                   y + begin * p.b.batch_stride, p.b.batch_stride,
                                   static_cast<float*>(p.c) + begin});
  });
}

template <typename T>
void gemm_thin(const GemmProblem& p) {
  using Number = ThinNumber<T>;
  const auto all = matrices_of<Number>(p);
  const GemmThinFn<Number> run = thin_function<T>();
  if (p.batch > 1) {
    return parallel_for(0, p.batch, grain_of(p.m * p.n * p.k), [&](int64_t begin, int64_t end) {
      GemmMatrices<Number> part = all;
      part.count = end - begin;
      part.a += begin * p.a.batch_stride;
      part.b += begin * p.b.batch_stride;
      part.c += begin * p.c_batch_stride;
      run(part);
    });
  }
  const bool by_rows = p.n == 1;
  parallel_for(0, by_rows ? p.m : p.n, grain_of(p.k), [&](int64_t begin, int64_t end) {
    GemmMatrices<Number> part = all;
    (by_rows ? part.m : part.n) = end - begin;
    if (by_rows)
      part.a += begin * p.a.row_stride;
    else
      part.b += begin * p.b.col_stride;
    part.c += begin * (by_rows ? p.c_row_stride : 1);
    run(part);
  });
}

template void gemm_thin<float>(const GemmProblem& p);
template void gemm_thin<double>(const GemmProblem& p);
template void gemm_thin<int32_t>(const GemmProblem& p);
template void gemm_thin<int64_t>(const GemmProblem& p);

template <typename T>
void gemm_direct(const GemmProblem& p) {
  const GemmMatrices<T> all = matrices_of<T>(p);
  const auto* bias = static_cast<const T*>(p.bias);
  if (p.batch == 1 && p.m <= kDirectBand) return multiply_columns(all, bias);
  const int64_t bands = (p.m + kDirectBand - 1) / kDirectBand;
  const int64_t grain = grain_of(std::min(p.m, kDirectBand) * p.n * p.k);
  parallel_for(0, p.batch * bands, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t batch = begin / bands;
      const int64_t last = std::min(end, (batch + 1) * bands);
      const int64_t row = begin % bands * kDirectBand;
      const int64_t rows = std::min(p.m, (last - batch * bands) * kDirectBand) - row;
      const GemmMatrices<T> part = part_of(all, batch, row, rows);
      multiply_direct(part);
      add_bias(part, bias);
      begin = last;
    }
  });
}

template void gemm_direct<float>(const GemmProblem& p);
template void gemm_direct<double>(const GemmProblem& p);

template <typename T>
T long_dot(int64_t n, const T* x, const T* y) {
  // Pieces are of one size whatever the number of threads, so that the sum is the same.
  constexpr int64_t kPiece = 2 * kNumbersForThread;
  LongDotFn<T> run = nullptr;
  if constexpr (std::is_same_v<T, float>)
    run = gemm_block_kernels().long_dot_f32;
  else
    run = gemm_block_kernels().long_dot_f64;
  const int64_t pieces = std::max<int64_t>(1, (n + kPiece - 1) / kPiece);
  std::vector<T> sums(static_cast<size_t>(pieces));
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      sums[static_cast<size_t>(i)] =
          run(std::min(kPiece, n - i * kPiece), x + i * kPiece, y + i * kPiece);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), T{0});
}
template float long_dot(int64_t n, const float* x, const float* y);
template double long_dot(int64_t n, const double* x, const double* y);

}  // namespace tierup::kernels
