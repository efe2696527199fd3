// Products in which nothing is copied first: single rows and columns of other types than f32,
// matrices of a few numbers, and the products of long vectors.
#pragma once

#include <type_traits>

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

// Neither a bias nor a factor.
bool is_product_alone(const GemmProblem& p);

// Of f32: of each pair of lines of a batch one sum, and sums side by side.
bool is_dots(const GemmProblem& p);
void gemm_dots(const GemmProblem& p);

// The dtypes that have thin kernels.
template <typename T>
inline constexpr bool kHasThin = std::is_floating_point_v<T> ||
                                 (std::is_integral_v<T> && sizeof(T) >= 4);

// A row or a column, or a few numbers; of f32 only columns that each lie in one piece and are not
// worth turning.
template <typename T>
bool is_thin_shape(const GemmProblem& p) {
  constexpr int64_t kMaxColumns = 8;  // Fewer than a vector has lanes.
  constexpr int64_t kMaxWork = 128;   // Takes less time than packing a matrix (measured).
  const bool is_little = p.m * p.n * p.k <= kMaxWork;
  if constexpr (std::is_same_v<T, float>)
    return p.batch > 1 && p.n < kMaxColumns && is_little && p.b.col_stride != 1;
  return p.m == 1 || p.n == 1 || is_little;
}
template <typename T>
bool is_thin(const GemmProblem& p) {
  return is_product_alone(p) && is_thin_shape<T>(p);
}

// For T of kHasThin: parts of the batch in parallel, or of the results of a single row or column.
template <typename T>
void gemm_thin(const GemmProblem& p);

// Rows that go together in a product where nothing is packed.
inline constexpr int64_t kDirectBand = 8;

// Whether packing costs more than it saves (measured), of a matrix whose rows lie in one piece: few
// rows, for which it is read once; a matrix that stays near; of floats, which a library multiplies
// well, only little depth. `p` has no factors.
template <typename T>
bool is_direct(const GemmProblem& p) {
  constexpr int64_t kNearNumbers = int64_t{1} << 15;
  constexpr int64_t kLittleDepth = 16;
  if (!is_factor(p.alpha, 1) || !is_factor(p.beta, 0) || p.b.col_stride != 1) return false;
  const bool is_near = p.k * p.n <= kNearNumbers;
  if constexpr (std::is_same_v<T, float>) return is_near && p.k <= kLittleDepth;
  return is_near || (p.m <= kDirectBand && p.batch == 1);
}

// Of floats or doubles: bands of rows in parallel, with what stands in the matrices where it is.
template <typename T>
void gemm_direct(const GemmProblem& p);

}  // namespace tierup::kernels
