#include "tierup/kernels/gemm/matrix_batch.h"

#include <algorithm>
#include <string>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {

void check_matrix(const Tensor& a, std::string_view what) {
  require(a.dim() >= 2, ErrorCode::kInvalidArgument,
          "{}: The input tensor A must have at least 2 dimensions.", what);
  require(is_floating(a.dtype()) || is_complex(a.dtype()), ErrorCode::kTypeError,
          "{}: Expected a floating point or complex tensor as input. Got {}", what,
          scalar_type_name(a.dtype()));
  const ScalarType t = a.dtype();
  require(t == ScalarType::kFloat || t == ScalarType::kDouble || is_complex(t),
          ErrorCode::kTypeError, "{}: Low precision dtypes not supported. Got {}", what,
          scalar_type_name(t));
}

void check_square(const Tensor& a, std::string_view what) {
  check_matrix(a, what);
  require(a.size(-1) == a.size(-2), ErrorCode::kInvalidArgument,
          "{}: A must be batches of square matrices, but they are {} by {} matrices", what,
          a.size(-2), a.size(-1));
}

void check_equal_dtypes(const Tensor& a, const Tensor& b, std::string_view what) {
  require(a.dtype() == b.dtype(), ErrorCode::kTypeError,
          "{}: Expected A and B to have the same dtype, but found A of type {} and B of type {} "
          "instead",
          what, scalar_type_name(a.dtype()), scalar_type_name(b.dtype()));
}

IntVector batch_shape(const Tensor& a) { return {a.sizes().begin(), a.sizes().end() - 2}; }

int64_t batch_count(const Tensor& a) { return numel_of(batch_shape(a)); }

IntVector batch_with(const IntVector& batch, std::initializer_list<int64_t> sizes) {
  IntVector shape = batch;
  shape.insert(shape.end(), sizes);
  return shape;
}

std::pair<Tensor, Tensor> broadcast_batches(const Tensor& a, const Tensor& b) {
  const IntVector batch = broadcast_shapes(batch_shape(a), batch_shape(b));
  return {expand_to(a, batch_with(batch, {a.size(-2), a.size(-1)})),
          expand_to(b, batch_with(batch, {b.size(-2), b.size(-1)}))};
}

Tensor column_major(const Tensor& a) {
  return clone(transpose(a, -2, -1), MemoryFormat::kContiguous);
}

Tensor row_view(const Tensor& columns) { return transpose(columns, -2, -1); }

Tensor empty_columns(const IntVector& batch, int64_t rows, int64_t columns, ScalarType dtype) {
  return Tensor::empty(batch_with(batch, {columns, rows}), dtype);
}

void clear_triangle(const Tensor& columns, bool above) {
  const int64_t rows = columns.size(-1);
  const int64_t width = columns.size(-2);
  dispatch_matrix(columns.dtype(), "linalg", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = columns.data<T>();
    for (int64_t c = 0; c < batch_count(columns) * width; ++c, p += rows) {
      const int64_t diagonal = std::min(c % width, rows);
      if (above)
        std::fill(p, p + diagonal, T(0));
      else
        std::fill(p + std::min(diagonal + 1, rows), p + rows, T(0));
    }
  });
}

Tensor conjugated(const Tensor& a) {
  return is_complex(a.dtype()) ? pointwise({Body::kConj}, {a}) : a;
}

Tensor conjugate_transpose(const Tensor& a) { return conjugated(transpose(a, -2, -1)); }

void check_info(const Tensor& info, std::string_view what, bool is_matrix) {
  const Tensor codes = contiguous(info);
  for (int64_t i = 0; i < codes.numel(); ++i) {
    const int32_t code = codes.data<int32_t>()[i];
    if (code == 0) continue;
    const std::string where = is_matrix ? "" : fmt::format("(Batch element {}): ", i);
    const auto refuse = [&](std::string_view reason) {
      fail(ErrorCode::kInvalidArgument, "{}: {}{}", what, where, reason);
    };
    if (what.find("cholesky") != std::string_view::npos) {
      refuse(
          fmt::format("The factorization could not be completed because the input is not "
                      "positive-definite (the leading minor of order {} is not "
                      "positive-definite).",
                      code));
    }
    if (what.find("inv") != std::string_view::npos) {
      refuse(
          fmt::format("The diagonal element {} is zero, the inversion could not be completed "
                      "because the input matrix is singular.",
                      code));
    }
    if (what.find("solve") != std::string_view::npos) {
      refuse("The solver failed because the input matrix is singular.");
    }
    if (what.find("lu") != std::string_view::npos) {
      refuse(
          fmt::format("U[{},{}] is zero and using it on lu_solve would result in a division by "
                      "zero.",
                      code, code));
    }
    if (what.find("eig") != std::string_view::npos) {
      refuse(
          fmt::format("The algorithm failed to converge because the input matrix is "
                      "ill-conditioned or has too many repeated eigenvalues (error code: {}).",
                      code));
    }
    if (what.find("svd") != std::string_view::npos) {
      refuse(
          fmt::format("The algorithm failed to converge because the input matrix is "
                      "ill-conditioned or has too many repeated singular values (error code: "
                      "{}).",
                      code));
    }
    refuse(fmt::format("The factorization failed (error code: {}).", code));
  }
}

}  // namespace tierup::kernels
