// Batches of matrices in the column-major order of LAPACK, and the checks of linear algebra.
#pragma once

#include <string_view>
#include <utility>

#include "tierup/base/parallel.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Calls body(TypeTag<T>{}) for float, double, complex64 and complex128; others throw kTypeError.
template <typename Body>
decltype(auto) dispatch_matrix(ScalarType type, std::string_view what, Body&& body) {
  switch (type) {
    case ScalarType::kFloat: return body(TypeTag<float>{});
    case ScalarType::kDouble: return body(TypeTag<double>{});
    case ScalarType::kComplexFloat: return body(TypeTag<complex64>{});
    case ScalarType::kComplexDouble: return body(TypeTag<complex128>{});
    default: fail_dtype(what, type);
  }
}

// Throw kInvalidArgument or kTypeError with the operator's name: at least two dimensions; a
// floating or complex dtype; square; one dtype.
void check_matrix(const Tensor& a, std::string_view what);
void check_square(const Tensor& a, std::string_view what);
void check_equal_dtypes(const Tensor& a, const Tensor& b, std::string_view what);

// The dimensions in front of the last two, and their product.
IntVector batch_shape(const Tensor& a);
int64_t batch_count(const Tensor& a);
// batch + the given sizes.
IntVector batch_with(const IntVector& batch, std::initializer_list<int64_t> sizes);
// Both with the broadcast of their batches.
std::pair<Tensor, Tensor> broadcast_batches(const Tensor& a, const Tensor& b);

// A copy of the matrices whose memory is column-major and dense: contiguous, with the last two
// dimensions exchanged. row_view() shows it as the matrices again, without a copy.
Tensor column_major(const Tensor& a);
Tensor row_view(const Tensor& columns);
// Uninitialised column-major matrices: a tensor [batch.., columns, rows].
Tensor empty_columns(const IntVector& batch, int64_t rows, int64_t columns, ScalarType dtype);

// Sets everything above (or below) the diagonal of column-major matrices to zero.
void clear_triangle(const Tensor& columns, bool above);

// The conjugate transpose as a fresh contiguous or strided tensor without lazy bits.
Tensor conjugate_transpose(const Tensor& a);
// The conjugate, materialised; real tensors come back as they are.
Tensor conjugated(const Tensor& a);

// Calls body(i) for all matrices of a batch, in parallel if each is worth it.
template <typename Body>
void for_each_matrix(int64_t count, int64_t elements, const Body& body) {
  const int64_t grain = grain_of(4 * elements);
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

// Throws as torch.linalg does if some info is not 0: "linalg.inv: The diagonal element 2 is zero,
// the inversion could not be completed because the input matrix is singular."
void check_info(const Tensor& info, std::string_view what, bool is_matrix);

}  // namespace tierup::kernels
