// Householder QR.
#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/triangle.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// Column-major factors and tau.
TwoTensors factor_columns(const Tensor& a) {
  check_matrix(a, "linalg.qr");
  const Tensor columns = column_major(a);
  const int m = lapack::checked_size(a.size(-2));
  const int n = lapack::checked_size(a.size(-1));
  const int64_t k = std::min(m, n);
  const Tensor tau = Tensor::empty(batch_with(batch_shape(a), {k}), a.dtype());
  if (columns.numel() == 0) return {columns, tau};
  dispatch_matrix(a.dtype(), "geqrf", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a), int64_t{m} * n, [&](int64_t i) {
      lapack::geqrf(m, n, columns.data<T>() + i * m * n, tau.data<T>() + i * k);
    });
  });
  return {columns, tau};
}

// The first `width` columns of Q, from Householder vectors in column-major `vectors` [.., any, m].
Tensor make_q(const Tensor& vectors, const Tensor& tau, int64_t width) {
  const int m = lapack::checked_size(vectors.size(-1));
  const int k = lapack::checked_size(tau.size(-1));
  const Tensor q = empty_columns(batch_shape(vectors), m, width, vectors.dtype());
  if (q.numel() == 0) return q;
  fill(q, Scalar(0));
  if (k == 0) {
    fill(diagonal(q, 0, -2, -1), Scalar(1));
    return q;
  }
  const int64_t shared = std::min(width, vectors.size(-2));
  copy_into(narrow(q, -2, 0, shared), narrow(vectors, -2, 0, shared));
  dispatch_matrix(q.dtype(), "orgqr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(q), int64_t{m} * m, [&](int64_t i) {
      lapack::orgqr(m, static_cast<int>(width), k, q.data<T>() + i * m * width,
                    tau.data<T>() + i * k);
    });
  });
  return q;
}

}  // namespace

TwoTensors geqrf(const Tensor& self) {
  const auto [columns, tau] = factor_columns(self);
  return {row_view(columns), tau};
}

Tensor householder_product(const Tensor& input, const Tensor& tau) {
  check_matrix(input, "torch.linalg.householder_product");
  require(input.size(-2) >= input.size(-1), ErrorCode::kInvalidArgument,
          "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
          "input.shape[-1]");
  if (!(tau.dim() == input.dim() - 1 && input.size(-1) >= tau.size(-1) &&
        tau.numel() == batch_count(input) * tau.size(-1))) {
    fail(ErrorCode::kInvalidArgument,
         "torch.linalg.householder_product: tau of shape {} does not suit input of shape {}",
         shape_string(tau.sizes()), shape_string(input.sizes()));
  }
  check_equal_dtypes(input, tau, "torch.linalg.householder_product");
  return row_view(make_q(column_major(input), contiguous(tau), input.size(-1)));
}

Tensor ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left,
             bool transpose) {
  check_matrix(input, "torch.ormqr");
  check_matrix(other, "torch.ormqr");
  check_equal_dtypes(input, other, "torch.ormqr");
  check_equal_dtypes(input, tau, "torch.ormqr");
  const int64_t order = other.size(left ? -2 : -1);
  const IntVector batch = batch_shape(input);
  const bool fits = input.size(-2) == order && tau.dim() == input.dim() - 1 &&
                    tau.size(-1) <= input.size(-1) && tau.size(-1) <= order &&
                    batch == batch_shape(other) && tau.numel() == batch_count(input) * tau.size(-1);
  if (!fits) {
    fail(ErrorCode::kInvalidArgument,
         "torch.ormqr: shapes of input {}, tau {} and other {} do not suit each other",
         shape_string(input.sizes()), shape_string(tau.sizes()), shape_string(other.sizes()));
  }
  const Tensor vectors = column_major(input);
  const Tensor result = column_major(other);
  const Tensor factors = contiguous(tau);
  const int m = lapack::checked_size(other.size(-2));
  const int n = lapack::checked_size(other.size(-1));
  const int k = lapack::checked_size(tau.size(-1));
  if (result.numel() == 0 || k == 0) return row_view(result);
  const char trans = !transpose ? 'N' : is_complex(input.dtype()) ? 'C' : 'T';
  dispatch_matrix(input.dtype(), "ormqr", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(input), int64_t{m} * n, [&](int64_t i) {
      lapack::ormqr<T>(left ? 'L' : 'R', trans, m, n, k,
                       vectors.data<T>() + i * order * vectors.size(-2), static_cast<int>(order),
                       factors.data<T>() + i * k, result.data<T>() + i * int64_t{m} * n);
    });
  });
  return row_view(result);
}

TwoTensors qr(const Tensor& a, std::string_view mode) {
  require(mode == "reduced" || mode == "complete" || mode == "r", ErrorCode::kInvalidArgument,
          "qr received unrecognized mode '{}' but expected one of 'reduced' (default), 'r', or "
          "'complete'",
          mode);
  const auto [columns, tau] = factor_columns(a);
  const int64_t m = a.size(-2);
  const int64_t k = std::min(m, a.size(-1));
  const int64_t width = mode == "complete" ? m : k;
  const Tensor q =
      mode == "r" ? Tensor::empty(IntVector{0}, a.dtype()) : row_view(make_q(columns, tau, width));
  const Tensor r = triu(narrow(row_view(columns), -2, 0, width), 0);
  return {q, r};
}

TwoTensors qr_legacy(const Tensor& self, bool some) {
  return qr(self, some ? "reduced" : "complete");
}

}  // namespace tierup::kernels
