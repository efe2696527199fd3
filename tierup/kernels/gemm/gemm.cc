#include "tierup/kernels/gemm/gemm.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/gemm/gemm_half.h"
#include "tierup/kernels/gemm/gemm_onednn.h"
#include "tierup/kernels/gemm/gemm_thin.h"
#include "tierup/kernels/gemm/gemm_tiles.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/kernels/onednn/onednn_level.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// Complex numbers by the products of their parts, in plain arithmetic (no special care for
// infinities). The four stand behind the workspace that each of them needs.
template <typename Real>
void complex_block(const GemmBlock& block) {
  GemmBlockFn kernel = nullptr;
  if constexpr (std::is_same_v<Real, float>)
    kernel = gemm_block_kernels().f32;
  else
    kernel = gemm_block_kernels().f64;
  const int64_t size = block.m * block.n;
  auto* parts = reinterpret_cast<Real*>(static_cast<char*>(block.workspace) + kGemmWorkspaceBytes);
  for (int64_t left = 0; left < 2; ++left) {
    for (int64_t right = 0; right < 2; ++right) {
      kernel({block.m, block.n, block.k, static_cast<const Real*>(block.a) + left, 2 * block.a_row,
              2 * block.a_col, static_cast<const Real*>(block.b) + right, 2 * block.b_row,
              2 * block.b_col, parts + (2 * left + right) * size, block.n, block.workspace});
    }
  }
  for (int64_t i = 0; i < block.m; ++i) {
    auto* row = reinterpret_cast<Real*>(static_cast<std::complex<Real>*>(block.acc) + i * block.ld);
    const Real* part = parts + i * block.n;
    for (int64_t j = 0; j < block.n; ++j) {
      row[2 * j] = part[j] - part[3 * size + j];
      row[2 * j + 1] = part[size + j] + part[2 * size + j];
    }
  }
}

// The accumulator of each dtype: what a block kernel writes.
template <typename T>
struct AccumulatorOf {
  using Type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <>
struct AccumulatorOf<float> {
  using Type = float;
};
template <>
struct AccumulatorOf<double> {
  using Type = double;
};
template <>
struct AccumulatorOf<Half> {
  using Type = float;
};
template <>
struct AccumulatorOf<BFloat16> {
  using Type = float;
};
template <>
struct AccumulatorOf<complex64> {
  using Type = complex64;
};
template <>
struct AccumulatorOf<complex128> {
  using Type = complex128;
};

template <typename T>
GemmBlockFn block_function() {
  if constexpr (std::is_same_v<T, float>)
    return gemm_block_kernels().f32;
  else if constexpr (std::is_same_v<T, double>)
    return gemm_block_kernels().f64;
  else if constexpr (std::is_same_v<T, Half>)
    return gemm_block_kernels().f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return gemm_block_kernels().bf16;
  else if constexpr (std::is_same_v<T, complex64>)
    return &complex_block<float>;
  else if constexpr (std::is_same_v<T, complex128>)
    return &complex_block<double>;
  else if constexpr (sizeof(T) == 8)
    return gemm_block_kernels().i64;
  else if constexpr (sizeof(T) == 4)
    return gemm_block_kernels().i32;
  else if constexpr (sizeof(T) == 2)
    return gemm_block_kernels().i16;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return gemm_block_kernels().u8;
  else
    return gemm_block_kernels().i8;
}

// C = alpha * acc + beta * C + bias for one block.
template <typename T, typename Acc>
void finish_block(const GemmProblem& p, const Acc* acc, int64_t ld, T* c, int64_t rows,
                  int64_t cols, const T* bias) {
  using Factor = std::conditional_t<std::is_integral_v<Acc>, int64_t, Acc>;
  const Acc alpha = static_cast<Acc>(p.alpha.to<Factor>());
  const Acc beta = static_cast<Acc>(p.beta.to<Factor>());
  const bool plain = alpha == Acc{1} && beta == Acc{0} && bias == nullptr;
  const bool is_sum = alpha == Acc{1} && beta == Acc{1} && bias == nullptr;
  for (int64_t i = 0; i < rows; ++i) {
    const Acc* source = acc + i * ld;
    T* target = c + i * p.c_row_stride;
    if (plain) {
      for (int64_t j = 0; j < cols; ++j) target[j] = static_cast<T>(source[j]);
      continue;
    }
    if (is_sum) {
      for (int64_t j = 0; j < cols; ++j)
        target[j] = static_cast<T>(source[j] + static_cast<Acc>(target[j]));
      continue;
    }
    for (int64_t j = 0; j < cols; ++j) {
      Acc value = alpha * source[j];
      if (beta != Acc{0}) value += beta * static_cast<Acc>(target[j]);
      if (bias != nullptr) value += static_cast<Acc>(bias[j]);
      target[j] = static_cast<T>(value);
    }
  }
}

// Rows of a matrix in blocks of about as many bands of rows each; as many blocks as give each
// thread the same work, if they are few.
struct RowBlocks {
  static constexpr int64_t kBand = 8;
  int64_t rows;
  int64_t bands;
  int64_t count;

  RowBlocks(const GemmProblem& p, int64_t others) : rows(p.m), bands((p.m + kBand - 1) / kBand) {
    count = (p.m + kGemmBlockRows - 1) / kGemmBlockRows;
    const int64_t threads = intra_op_threads();
    const int64_t least = std::max<int64_t>(1, grain_of(kBand * p.n * p.k));
    if (others % threads == 0 || others * count >= 8 * threads || count >= bands / least) return;
    const int64_t even = (count + threads - 1) / threads * threads;
    count = std::min(even, bands / least);
  }
  [[nodiscard]] int64_t begin(int64_t block) const {
    return std::min(rows, bands * block / count * kBand);
  }
};

template <typename T>
void gemm_blocked(const GemmProblem& p) {
  using Acc = typename AccumulatorOf<T>::Type;
  const GemmBlockFn kernel = block_function<T>();
  const int64_t col_blocks = (p.n + kGemmBlockCols - 1) / kGemmBlockCols;
  const RowBlocks row_blocks(p, p.batch * col_blocks);
  const int64_t per_matrix = row_blocks.count * col_blocks;
  const int64_t work = std::min(p.m, kGemmBlockRows) * std::min(p.n, kGemmBlockCols) * p.k;
  const int64_t grain = grain_of(work);
  parallel_for(0, p.batch * per_matrix, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t batch = index / per_matrix;
      const int64_t row_block = index % per_matrix / col_blocks;
      const int64_t row = row_blocks.begin(row_block);
      const int64_t col = index % col_blocks * kGemmBlockCols;
      const int64_t rows = row_blocks.begin(row_block + 1) - row;
      const int64_t cols = std::min(kGemmBlockCols, p.n - col);
      T* c = static_cast<T*>(p.c) + batch * p.c_batch_stride + row * p.c_row_stride + col;
      constexpr size_t kAccBytes = sizeof(Acc) * kGemmBlockRows * kGemmBlockCols;
      constexpr size_t kPartBytes = kIsComplex<T> ? 2 * kAccBytes : 0;
      auto* scratch =
          static_cast<char*>(thread_scratch(kAccBytes + kGemmWorkspaceBytes + kPartBytes));
      auto* acc = reinterpret_cast<Acc*>(scratch);
      const T* a =
          static_cast<const T*>(p.a.data) + batch * p.a.batch_stride + row * p.a.row_stride;
      const T* b =
          static_cast<const T*>(p.b.data) + batch * p.b.batch_stride + col * p.b.col_stride;
      GemmBlock block{
          rows,           cols,           p.k, a,    p.a.row_stride,     p.a.col_stride, b,
          p.b.row_stride, p.b.col_stride, acc, cols, scratch + kAccBytes};
      if (std::is_same_v<T, Acc> && is_product_alone(p)) {
        block.acc = c;
        block.ld = p.c_row_stride;
        kernel(block);
        continue;
      }
      kernel(block);
      const T* bias = p.bias != nullptr ? static_cast<const T*>(p.bias) + col : nullptr;
      finish_block<T, Acc>(p, acc, cols, c, rows, cols, bias);
    }
  });
}

// A thin product with a bias or factors, which follow in a second pass over a few results.
template <typename T>
void gemm_thin_scaled(const GemmProblem& p) {
  using Acc = typename AccumulatorOf<T>::Type;
  auto* sums = static_cast<Acc*>(thread_scratch(static_cast<size_t>(p.m * p.n) * sizeof(Acc)));
  GemmProblem alone = p;
  alone.alpha = 1;
  alone.beta = 0;
  alone.bias = nullptr;
  alone.c = sums;
  alone.c_row_stride = p.n;
  gemm_thin<T>(alone);
  finish_block<T, Acc>(p, sums, p.n, static_cast<T*>(p.c), p.m, p.n, static_cast<const T*>(p.bias));
}

// No products to sum: C = beta * C + bias.
template <typename T>
void gemm_without_depth(const GemmProblem& p) {
  using Acc = typename AccumulatorOf<T>::Type;
  const Acc zero{};
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    for (int64_t i = 0; i < p.m; ++i) {
      T* c = static_cast<T*>(p.c) + batch * p.c_batch_stride + i * p.c_row_stride;
      for (int64_t j = 0; j < p.n; ++j) {
        const T* bias = p.bias != nullptr ? static_cast<const T*>(p.bias) + j : nullptr;
        finish_block<T, Acc>(p, &zero, 1, c + j, 1, 1, bias);
      }
    }
  }
}

// Matrices that stay in the nearest caches: there a row takes no longer than a library's call.
constexpr int64_t kMaxOwnRowElements = int64_t{1} << 18;
// Multiplications of several rows that take no longer than a library's call.
constexpr int64_t kMaxOwnRowsWork = int64_t{1} << 16;

// Multiplications of a matrix in a batch that take no longer than those of a library (measured).
constexpr int64_t kMaxSmallWork = 4096;

bool is_small_work(int64_t m, int64_t k, int64_t n) {
  return m * n * k <= kMaxSmallWork && k * n <= kMaxSmallMatrix;
}

// Whether rows one by one are faster than tiles of rows (measured): tiles copy the matrix first,
// rows turn one that lies column by column each time anew.
bool is_better_by_rows(const GemmProblem& p) {
  if (p.m == 1) return true;
  return p.b.col_stride == 1 && p.n >= 16 ? p.m < 16 || p.k * p.n <= 4096 : p.m < 6;
}

bool are_rows(const GemmProblem& p) {
  return (p.a.col_stride == 1 || p.k == 1) && (p.b.row_stride == 1 || p.b.col_stride == 1);
}

// A single row reads its matrix once, whatever the size: as fast as memory, by the own kernel too,
// and without waiting for a library to generate code.
bool is_by_rows(const GemmProblem& p) {
  const bool single = p.batch == 1 && p.m == 1;
  return (single || is_row_work(p.batch * p.m, p.k, p.n)) && are_rows(p);
}

// A column of results is the row that the transposed product makes: lanes stand side by side then.
bool is_column(const GemmProblem& p) {
  return p.n == 1 && p.c_row_stride == 1 && (p.a.row_stride == 1 || p.a.col_stride == 1);
}

GemmProblem transposed_column(const GemmProblem& p) {
  GemmProblem row = p;
  row.m = 1;
  row.n = p.m;
  row.a = {p.b.data, p.b.batch_stride, p.b.col_stride, p.b.row_stride};
  row.b = {p.a.data, p.a.batch_stride, p.a.col_stride, p.a.row_stride};
  row.c_row_stride = row.n;
  row.bias = nullptr;
  return row;
}

// To each of the column's results.
void add_column_bias(const GemmProblem& p) {
  if (p.bias == nullptr) return;
  const float bias = *static_cast<const float*>(p.bias);
  auto* c = static_cast<float*>(p.c);
  for (int64_t i = 0; i < p.m; ++i) c[i] += bias;
}

// Columns in parallel, so that each core keeps its part of the matrix near.
void run_row(const GemmRow& row) {
  constexpr int64_t kElementsForOne = 32768;
  constexpr int64_t kColumns = 64;
  const int64_t blocks = (row.n + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kElementsForOne / (kColumns * row.k));
  parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kColumns;
    GemmRow part = row;
    part.n = std::min(end * kColumns, row.n) - first;
    part.b += first * row.b_col;
    if (row.bias != nullptr) part.bias += first;
    part.out += first;
    gemm_block_kernels().row_f32(part);
  });
}

void gemm_row(const GemmProblem& p) {
  GemmRow row{p.n,
              p.k,
              static_cast<const float*>(p.a.data),
              static_cast<const float*>(p.b.data),
              p.b.row_stride,
              p.b.col_stride,
              static_cast<const float*>(p.bias),
              static_cast<float*>(p.c)};
  if (is_factor(p.alpha, 1) && is_factor(p.beta, 0)) return run_row(row);
  row.bias = nullptr;
  row.out = static_cast<float*>(thread_scratch(static_cast<size_t>(p.n) * sizeof(float)));
  run_row(row);
  finish_block<float, float>(p, row.out, p.n, static_cast<float*>(p.c), 1, p.n,
                             static_cast<const float*>(p.bias));
}

bool is_by_lines(const GemmProblem& p) {
  return p.batch == 1 && p.m > 1 && p.m <= most_line_rows() && p.b.row_stride == 1 &&
         p.b.col_stride != 1 && (p.a.col_stride == 1 || p.k == 1) && is_factor(p.alpha, 1) &&
         is_factor(p.beta, 0);
}

// Columns in parallel, as in run_row().
void gemm_by_lines(const GemmProblem& p) {
  constexpr int64_t kElementsForOne = 32768;
  constexpr int64_t kColumns = 64;
  const int64_t blocks = (p.n + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kElementsForOne / (kColumns * p.k * p.m));
  parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kColumns;
    const auto* bias = static_cast<const float*>(p.bias);
    gemm_block_kernels().lines_f32({p.m, std::min(end * kColumns, p.n) - first, p.k,
                                    static_cast<const float*>(p.a.data), p.a.row_stride,
                                    static_cast<const float*>(p.b.data) + first * p.b.col_stride,
                                    p.b.col_stride, bias == nullptr ? nullptr : bias + first,
                                    static_cast<float*>(p.c) + first, p.c_row_stride});
  });
}

void gemm_by_rows(const GemmProblem& p) {
  GemmProblem row = p;
  row.batch = 1;
  row.m = 1;
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    row.b.data = static_cast<const float*>(p.b.data) + batch * p.b.batch_stride;
    for (int64_t i = 0; i < p.m; ++i) {
      row.a.data =
          static_cast<const float*>(p.a.data) + batch * p.a.batch_stride + i * p.a.row_stride;
      row.c = static_cast<float*>(p.c) + batch * p.c_batch_stride + i * p.c_row_stride;
      gemm_row(row);
    }
  }
}

// In a batch, a single row or column is one, too.
bool is_small(const GemmProblem& p) {
  const int64_t least = p.batch == 1 ? 2 : 1;
  return p.m >= least && p.n >= least && is_small_work(p.m, p.k, p.n) &&
         (p.b.row_stride == 1 || p.b.col_stride == 1) && is_product_alone(p);
}

void gemm_small(const GemmProblem& p) {
  const int64_t grain = std::max<int64_t>(1, 65536 / (p.m * p.n * p.k));
  parallel_for(0, p.batch, grain, [&](int64_t begin, int64_t end) {
    gemm_block_kernels().small_f32(
        {end - begin, p.m, p.n, p.k, static_cast<const float*>(p.a.data) + begin * p.a.batch_stride,
         p.a.batch_stride, p.a.row_stride, p.a.col_stride,
         static_cast<const float*>(p.b.data) + begin * p.b.batch_stride, p.b.batch_stride,
         p.b.row_stride, p.b.col_stride, static_cast<float*>(p.c) + begin * p.c_batch_stride,
         p.c_batch_stride, p.c_row_stride});
  });
}

bool is_fast(const GemmProblem& p) {
  const auto batch_fits = [&](const MatrixOperand& x, int64_t size) {
    return p.batch == 1 || x.batch_stride == 0 || x.batch_stride >= size;
  };
  return is_fast_matrix(p.m, p.k, p.a.row_stride, p.a.col_stride) &&
         is_fast_matrix(p.k, p.n, p.b.row_stride, p.b.col_stride) && batch_fits(p.a, 1) &&
         batch_fits(p.b, 1) && p.c_row_stride >= p.n;
}

// Products of bf16 by the processor's own instructions, where they take longer than a library's
// call. Few columns are not worth it.
bool is_worth_bfloat16(const GemmProblem& p) {
  constexpr int64_t kFewestColumns = 4;
  return p.batch * p.m * p.k * p.n > kMaxOwnRowsWork && p.n >= kFewestColumns && is_fast(p) &&
         instruction_set() == InstructionSet::kAvx512 && onednn_has_bfloat16();
}

}  // namespace

bool is_row_work(int64_t rows, int64_t k, int64_t n) {
  return rows == 1 ? k * n <= kMaxOwnRowElements : rows * k * n <= kMaxOwnRowsWork;
}

// Two bands with vectors of 16, one with shorter ones (measured).
int64_t most_line_rows() { return instruction_set() == InstructionSet::kAvx512 ? 16 : 4; }

bool is_small_product(int64_t m, int64_t k, int64_t n) {
  return m > 1 && n > 1 && is_small_work(m, k, n);
}

bool is_fast_matrix(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
  if (rows == 1 && cols == 1) return true;
  if (rows == 1) return col_stride >= 1;
  if (cols == 1) return row_stride >= 1;
  return (col_stride == 1 && row_stride >= cols) || (row_stride == 1 && col_stride >= rows);
}

namespace {

void multiply(const GemmProblem& problem) {
  require(problem.dtype != ScalarType::kBool, ErrorCode::kInvalidArgument,
          "matrix product not implemented for 'Bool'");
  if (problem.batch == 0 || problem.m == 0 || problem.n == 0) return;
  dispatch_all(problem.dtype, "matrix product", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if constexpr (!std::is_same_v<T, bool>) {
      if (problem.k == 0) return gemm_without_depth<T>(problem);
      if constexpr (std::is_same_v<T, float>) {
        if (is_dots(problem)) return gemm_dots(problem);
        const bool may_turn = is_column(problem);
        const GemmProblem small = may_turn ? transposed_column(problem) : problem;
        if (is_thin<T>(small)) return gemm_thin<T>(small);
        if (problem.bias == nullptr && is_small(small)) return gemm_small(small);
        if (is_by_lines(problem)) return gemm_by_lines(problem);
        const bool is_dense = problem.b.row_stride == 1 || problem.k == 1;
        if (may_turn && is_dense && problem.batch == 1) {
          gemm_by_rows(small);
          return add_column_bias(problem);
        }
        if (is_by_rows(problem)) {
          return is_better_by_rows(problem) ? gemm_by_rows(problem) : gemm_blocked<T>(problem);
        }
        const bool is_little = problem.batch * problem.m * problem.k * problem.n <= kMaxOwnRowsWork;
        if (!is_little && is_direct<T>(problem)) return gemm_direct<T>(problem);
        if (!is_little && is_for_tiles(problem)) return gemm_tiles(problem);
        if (!is_little && is_fast(problem)) return gemm_onednn(problem);
      }
      if constexpr (kHasThin<T> && !std::is_same_v<T, float>) {
        if (is_thin<T>(problem)) return gemm_thin<T>(problem);
        if (problem.batch == 1 && is_thin_shape<T>(problem)) return gemm_thin_scaled<T>(problem);
      }
      if constexpr (std::is_same_v<T, double>) {
        if (is_direct<T>(problem)) return gemm_direct<T>(problem);
      }
      if constexpr (std::is_same_v<T, BFloat16>) {
        const bool may_turn = problem.bias == nullptr && is_column(problem);
        const GemmProblem wide = may_turn ? transposed_column(problem) : problem;
        if (is_worth_bfloat16(wide)) return gemm_onednn(wide);
      }
      if (is_by_floats(problem)) return gemm_by_floats(problem);
      gemm_blocked<T>(problem);
    }
  });
}

}  // namespace

void gemm(const GemmProblem& problem) {
  const auto bytes = static_cast<size_t>(problem.k) * item_size(problem.dtype);
  const int64_t multiplications = problem.m * problem.n * problem.k;
  const WeightReading a(problem.a.data, static_cast<size_t>(problem.m) * bytes, multiplications);
  const WeightReading b(problem.b.data, static_cast<size_t>(problem.n) * bytes, multiplications);
  multiply(problem);
}

}  // namespace tierup::kernels
