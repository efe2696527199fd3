// gemm: C = alpha * A B + beta * C + bias, the one entry of all matrix products.
//
// f32 goes to oneDNN where that is faster than tiles of our own (gemm_tiles.h), but for single rows
// and columns and small problems, which kernels of our own do without the cost of a library call or
// of its first one, which generates code; f64, f16, bf16 and integers always take own kernels
// (halves accumulate in f32, integers wrap around), complex numbers those of their parts.
#pragma once

#include <cstdint>

#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/tensor/dtype.h"
#include "tierup/tensor/scalar.h"

namespace tierup::kernels {

// Element (batch, i, j) stands at data + batch * batch_stride + i * row_stride + j * col_stride,
// counted in elements. A batch stride of 0 repeats one matrix.
struct MatrixOperand {
  const void* data = nullptr;
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t col_stride = 0;
};

// Whether alpha or beta is this number, which one with an imaginary part is not.
inline bool is_factor(const Scalar& factor, double number) {
  return factor.to_complex() == complex128(number);
}

struct GemmProblem {
  ScalarType dtype = ScalarType::kFloat;
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  MatrixOperand a;    // m x k
  MatrixOperand b;    // k x n
  void* c = nullptr;  // m x n; columns lie side by side.
  int64_t c_batch_stride = 0;
  int64_t c_row_stride = 0;
  Scalar alpha = 1;
  Scalar beta = 0;             // 0: C is only written, never read.
  const void* bias = nullptr;  // n elements of dtype added to each row; needs beta == 0.
};

// Any strides are taken; f32 is fast where each matrix has one stride of 1, or by tiles. C must not
// overlap A, B. Throws kInvalidArgument for bool and other dtypes without arithmetic.
void gemm(const GemmProblem& problem);

// The sum of x[i] * y[i] in many sums at a time, for long vectors, of float or double. Not in the
// order of the depth, whose every addition waits for the one before.
template <typename T>
T long_dot(int64_t n, const T* x, const T* y);

// Whether so many rows times a matrix of this size are done by the own kernel for a row, one after
// the other, if they are dense and one of the matrix's strides is 1.
bool is_row_work(int64_t rows, int64_t k, int64_t n);

// Rows up to which gemm() reads a matrix that lies column by column where it stands, once for them
// all, rather than have a library copy it first.
int64_t most_line_rows();

// turned (k x n, dense) of n lines of k floats, `line` floats apart. In the calling thread.
void turn_lines(int64_t n, int64_t k, const float* lines, int64_t line, float* turned);

// A constant matrix (k x n, f32) for products of one row: panels of columns, [panel][k][kRowPanel],
// zeros behind the last column. Each is read from end to end, at the speed of the cache that it
// stays in.
int64_t row_panel_count(int64_t n);
void pack_row_panels(const float* b, int64_t row_stride, int64_t col_stride, int64_t k, int64_t n,
                     float* panels);
// out (n) = x (k, dense) * B + bias (of n, or null): the same bits as gemm() makes of that row.
void multiply_row_panels(int64_t k, int64_t n, const float* x, const float* panels,
                         const float* bias, float* out);

// out (m x n, dense) = a (m x k, dense) * B of packed panels: the matrix is read from end to end
// once for each few rows, so that these are as fast as the cache that it stays in.
void multiply_panels(int64_t m, int64_t k, int64_t n, const float* a, const float* panels,
                     float* out);

// Whether matrices of m x k and k x n are so small that packing one, or telling a library of it,
// takes longer than their product: batches of them are done one after the other.
bool is_small_product(int64_t m, int64_t k, int64_t n);

// Whether gemm() takes a matrix of these strides without slowing down (one of them is 1).
bool is_fast_matrix(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride);

}  // namespace tierup::kernels
