// Cholesky and Bunch-Kaufman factors.
#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_factor.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// Mirrors the stored triangle of column-major matrices to the other side, conjugated.
template <typename T>
void mirror(T* a, int64_t n, bool upper) {
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t r = c + 1; r < n; ++r) {
      T& below = a[c * n + r];
      T& above = a[r * n + c];
      T& to = upper ? below : above;
      const T& from = upper ? above : below;
      if constexpr (std::is_floating_point_v<T>)
        to = from;
      else
        to = std::conj(from);
    }
  }
}

}  // namespace

TwoTensors cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  check_square(self, "linalg.cholesky");
  const Tensor factor = column_major(self);
  const Tensor info = Tensor::empty(batch_shape(self), ScalarType::kInt);
  const int n = lapack::checked_size(self.size(-1));
  dispatch_matrix(self.dtype(), "linalg.cholesky", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(self), int64_t{n} * n, [&](int64_t i) {
      info.data<int32_t>()[i] = lapack::potrf(upper ? 'U' : 'L', n, factor.data<T>() + i * n * n);
    });
  });
  clear_triangle(factor, !upper);
  if (check_errors) check_info(info, "linalg.cholesky_ex", self.dim() == 2);
  return {row_view(factor), info};
}

Tensor cholesky(const Tensor& self, bool upper) {
  const auto [factor, info] = cholesky_ex(self, upper, false);
  check_info(info, "linalg.cholesky", self.dim() == 2);
  return factor;
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_square(self, "cholesky_inverse");
  const Tensor inverse = column_major(self);
  const int n = lapack::checked_size(self.size(-1));
  dispatch_matrix(self.dtype(), "cholesky_inverse", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(self), int64_t{n} * n, [&](int64_t i) {
      T* a = inverse.data<T>() + i * n * n;
      const int info = lapack::potri(upper ? 'U' : 'L', n, a);
      require(info == 0, ErrorCode::kInvalidArgument,
              "cholesky_inverse: The diagonal element {} is zero, the inversion could not be "
              "completed because the input matrix is singular.",
              info);
      mirror(a, n, upper);
    });
  });
  return row_view(inverse);
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  require(b.dim() >= 2 && factor.dim() >= 2, ErrorCode::kInvalidArgument,
          "b and u should have at least 2 dimensions, but have {} and {} dimensions instead",
          b.dim(), factor.dim());
  check_square(factor, "cholesky_solve");
  check_equal_dtypes(factor, b, "cholesky_solve");
  require(
      factor.size(-1) == b.size(-2), ErrorCode::kInvalidArgument,
      "Incompatible matrix sizes for cholesky_solve: each A matrix is {} by {} but each b matrix "
      "is {} by {}",
      factor.size(-1), factor.size(-1), b.size(-2), b.size(-1));
  const auto [wide_b, wide_factor] = broadcast_batches(b, factor);
  const Tensor solution = column_major(wide_b);
  const Tensor triangle = column_major(wide_factor);
  const int n = lapack::checked_size(b.size(-2));
  const int columns = lapack::checked_size(b.size(-1));
  dispatch_matrix(b.dtype(), "cholesky_solve", [&, wide_b = wide_b](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(wide_b), int64_t{n} * n, [&](int64_t i) {
      lapack::potrs<T>(upper ? 'U' : 'L', n, columns, triangle.data<T>() + i * n * n,
                       solution.data<T>() + i * n * columns);
    });
  });
  return row_view(solution);
}

ThreeTensors ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  check_square(self, "torch.linalg.ldl_factor_ex");
  const Tensor factor = column_major(self);
  const int n = lapack::checked_size(self.size(-1));
  const Tensor pivots = Tensor::empty(batch_with(batch_shape(self), {n}), ScalarType::kInt);
  const Tensor info = Tensor::empty(batch_shape(self), ScalarType::kInt);
  dispatch_matrix(self.dtype(), "linalg.ldl_factor_ex", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(self), int64_t{n} * n, [&](int64_t i) {
      info.data<int32_t>()[i] =
          lapack::sytrf(hermitian, n, factor.data<T>() + i * n * n, pivots.data<int32_t>() + i * n);
    });
  });
  clear_triangle(factor, true);
  if (check_errors) check_info(info, "torch.linalg.ldl_factor_ex", self.dim() == 2);
  return {row_view(factor), pivots, info};
}

TwoTensors ldl_factor(const Tensor& self, bool hermitian) {
  const auto [ld, pivots, info] = ldl_factor_ex(self, hermitian, false);
  check_info(info, "torch.linalg.ldl_factor", self.dim() == 2);
  return {ld, pivots};
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  check_square(ld, "torch.linalg.ldl_solve");
  check_equal_dtypes(ld, b, "torch.linalg.ldl_solve");
  if (!(b.dim() >= 2 && b.size(-2) == ld.size(-1))) {
    fail(ErrorCode::kInvalidArgument, "torch.linalg.ldl_solve: Expected B of {} rows, got {}",
         ld.size(-1), b.describe());
  }
  if (!(is_integral(pivots.dtype(), false) && pivots.dim() == ld.dim() - 1 &&
        pivots.numel() == batch_count(ld) * ld.size(-1))) {
    fail(ErrorCode::kInvalidArgument,
         "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got "
         "pivots with shape {}",
         shape_string(pivots.sizes()));
  }
  const auto [wide_b, wide_ld] = broadcast_batches(b, ld);
  const int n = lapack::checked_size(ld.size(-1));
  const int columns = lapack::checked_size(b.size(-1));
  const Tensor order = contiguous(
      expand_to(to_dtype(pivots, ScalarType::kInt), batch_with(batch_shape(wide_b), {n})));
  for (int64_t i = 0; i < order.numel(); ++i) {
    const int32_t p = order.data<int32_t>()[i];
    require(p != 0 && p >= -n && p <= n, ErrorCode::kOutOfRange,
            "torch.linalg.ldl_solve: pivot {} is outside of [-{}, {}]", p, n, n);
  }
  const Tensor solution = column_major(wide_b);
  const Tensor factor = column_major(wide_ld);
  dispatch_matrix(b.dtype(), "linalg.ldl_solve", [&, wide_b = wide_b](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(wide_b), int64_t{n} * n, [&](int64_t i) {
      lapack::sytrs<T>(hermitian, n, columns, factor.data<T>() + i * n * n,
                       order.data<int32_t>() + i * n, solution.data<T>() + i * n * columns);
    });
  });
  return row_view(solution);
}

void check_linalg_errors(const Tensor& info, std::string_view api_name, bool is_matrix) {
  check_info(to_dtype(info, ScalarType::kInt), api_name, is_matrix);
}

}  // namespace tierup::kernels
