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

}  // namespace

const GemmBlockKernels& gemm_block_kernels() {
  static const GemmBlockKernels kernels =
      TIERUP_VARIANT(instruction_set(), gemm_block_base, gemm_block_avx2, gemm_block_avx512)();
  return kernels;
}

bool is_product_alone(const GemmProblem& p) {
  return p.bias == nullptr && p.alpha.to_double() == 1 && p.beta.to_double() == 0;
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
  const auto* a = static_cast<const Number*>(p.a.data);
  const auto* b = static_cast<const Number*>(p.b.data);
  auto* c = static_cast<Number*>(p.c);
  const GemmMatrices<Number> all{p.batch,
                                 p.m,
                                 p.n,
                                 p.k,
                                 a,
                                 p.a.batch_stride,
                                 p.a.row_stride,
                                 p.a.col_stride,
                                 b,
                                 p.b.batch_stride,
                                 p.b.row_stride,
                                 p.b.col_stride,
                                 c,
                                 p.c_batch_stride,
                                 p.c_row_stride};
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
