// LU factors, and the systems, inverses and determinants that they give.
#include <cmath>
#include <vector>

#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_factor.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/triangle.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor identity(const IntVector& batch, int64_t n, ScalarType dtype) {
  Tensor eye = Tensor::empty(batch_with(batch, {n, n}), dtype);
  fill(eye, Scalar(0));
  fill(diagonal(eye, 0, -2, -1), Scalar(1));
  return eye;
}

// Pivots as int32, broadcast to the batch and checked against the matrices they permute.
Tensor checked_pivots(const Tensor& pivots, const IntVector& batch, int64_t count, int64_t rows,
                      std::string_view what) {
  require(pivots.dtype() == ScalarType::kInt, ErrorCode::kTypeError,
          "{}: pivots should be a Tensor of scalar type torch.int32, got {}", what,
          scalar_type_name(pivots.dtype()));
  if (!(pivots.dim() >= 1 && pivots.size(-1) == count)) {
    fail(
        ErrorCode::kInvalidArgument,
        "{}: Number of pivots per batch should be same as the dimension of the matrix ({}), got {}",
        what, count, shape_string(pivots.sizes()));
  }
  Tensor order = contiguous(expand_to(pivots, batch_with(batch, {count})));
  for (int64_t i = 0; i < order.numel(); ++i) {
    const int32_t p = order.data<int32_t>()[i];
    require(p >= 1 && p <= rows, ErrorCode::kOutOfRange,
            "{}: pivots must be between 1 and {}, got {}", what, rows, p);
  }
  return order;
}

// -1 for an odd number of row exchanges.
double permutation_sign(const int32_t* pivots, int64_t count) {
  double sign = 1;
  for (int64_t i = 0; i < count; ++i) sign = pivots[i] == i + 1 ? sign : -sign;
  return sign;
}

// A right-hand side is a vector if it is one-dimensional or has exactly the batch of A.
bool is_vector_side(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() &&
                          std::equal(b.sizes().begin(), b.sizes().end(), a.sizes().begin()));
}

// For determinants PyTorch factors the transpose where that is what lies in memory.
bool factors_transpose(const Tensor& a) { return a.is_contiguous() && !is_complex(a.dtype()); }

}  // namespace

ThreeTensors lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  check_matrix(a, "torch.lu_factor_ex");
  require(pivot, ErrorCode::kUnsupported,
          "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  const Tensor factor = column_major(a);
  const int m = lapack::checked_size(a.size(-2));
  const int n = lapack::checked_size(a.size(-1));
  const int64_t k = std::min(m, n);
  const Tensor pivots = Tensor::empty(batch_with(batch_shape(a), {k}), ScalarType::kInt);
  const Tensor info = Tensor::empty(batch_shape(a), ScalarType::kInt);
  dispatch_matrix(a.dtype(), "linalg.lu_factor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a), int64_t{m} * n, [&](int64_t i) {
      info.data<int32_t>()[i] =
          lapack::getrf(m, n, factor.data<T>() + i * m * n, pivots.data<int32_t>() + i * k);
    });
  });
  if (check_errors) check_info(info, "torch.linalg.lu_factor_ex", a.dim() == 2);
  return {row_view(factor), pivots, info};
}

TwoTensors lu_factor(const Tensor& a, bool pivot) {
  const auto [factor, pivots, info] = lu_factor_ex(a, pivot, false);
  check_info(info, "torch.linalg.lu_factor", a.dim() == 2);
  return {factor, pivots};
}

ThreeTensors lu_with_info(const Tensor& a, bool pivot, bool /*check_errors*/) {
  return lu_factor_ex(a, pivot, false);
}

ThreeTensors lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data,
                       bool unpack_pivots) {
  require(lu.dim() >= 2, ErrorCode::kInvalidArgument,
          "torch.lu_unpack: Expected LU_data with at least 2 dimensions");
  const int64_t m = lu.size(-2);
  const int64_t n = lu.size(-1);
  const int64_t k = std::min(m, n);
  const Tensor none = Tensor::empty(IntVector{0}, lu.dtype());
  Tensor p = none;
  Tensor l = none;
  Tensor u = none;
  if (unpack_pivots) {
    const Tensor order = checked_pivots(pivots, batch_shape(lu), k, m, "torch.lu_unpack");
    Tensor permutation = Tensor::empty(batch_with(batch_shape(lu), {m, m}), lu.dtype());
    fill(permutation, Scalar(0));
    dispatch_matrix(lu.dtype(), "lu_unpack", [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<int64_t> rows(static_cast<size_t>(m));
      for (int64_t i = 0; i < batch_count(lu); ++i) {
        for (int64_t r = 0; r < m; ++r) rows[r] = r;
        for (int64_t r = 0; r < k; ++r) {
          std::swap(rows[r], rows[order.data<int32_t>()[i * k + r] - 1]);
        }
        for (int64_t r = 0; r < m; ++r) permutation.data<T>()[(i * m + rows[r]) * m + r] = T(1);
      }
    });
    p = permutation;
  }
  if (unpack_data) {
    l = tril(narrow(lu, -1, 0, k), -1);
    fill(diagonal(l, 0, -2, -1), Scalar(1));
    u = triu(narrow(lu, -2, 0, k), 0);
  }
  return {p, l, u};
}

ThreeTensors lu(const Tensor& a, bool pivot) {
  const auto [factor, pivots, info] = lu_factor_ex(a, pivot, false);
  return lu_unpack(factor, pivots, true, true);
}

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  check_square(lu, "torch.linalg.lu_solve");
  check_equal_dtypes(lu, b, "linalg.lu_solve");
  if (!(b.dim() >= 2 && b.size(left ? -2 : -1) == lu.size(-1))) {
    fail(ErrorCode::kInvalidArgument,
         "linalg.lu_solve: Incompatible shapes of A and B for the equation {}: {} and {}",
         left ? "AX = B" : "XA = B", shape_string(lu.sizes()), shape_string(b.sizes()));
  }
  // X A = B is A^H X^H = B^H.
  if (!left)
    return conjugate_transpose(lu_solve(lu, pivots, conjugate_transpose(b), true, !adjoint));
  const auto [wide_b, wide_lu] = broadcast_batches(b, lu);
  const int n = lapack::checked_size(lu.size(-1));
  const int columns = lapack::checked_size(b.size(-1));
  const Tensor order = checked_pivots(pivots, batch_shape(wide_b), n, n, "linalg.lu_solve");
  const Tensor solution = column_major(wide_b);
  const Tensor factor = column_major(wide_lu);
  dispatch_matrix(b.dtype(), "linalg.lu_solve", [&, wide_b = wide_b](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(wide_b), int64_t{n} * n, [&](int64_t i) {
      lapack::getrs<T>(adjoint ? 'C' : 'N', n, columns, factor.data<T>() + i * n * n,
                       order.data<int32_t>() + i * n, solution.data<T>() + i * n * columns);
    });
  });
  return row_view(solution);
}

Tensor lu_solve_legacy(const Tensor& b, const Tensor& lu, const Tensor& pivots) {
  return lu_solve(lu, pivots, b, true, false);
}

FourTensors solve_full(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  check_square(a, "linalg.solve");
  check_equal_dtypes(a, b, "linalg.solve");
  const bool vector = is_vector_side(a, b);
  require(
      left || !vector, ErrorCode::kInvalidArgument,
      "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
      "In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const Tensor side = vector ? unsqueeze(b, -1) : b;
  if (!(side.dim() >= 2 && side.size(left ? -2 : -1) == a.size(-1))) {
    fail(ErrorCode::kInvalidArgument,
         "linalg.solve: Incompatible shapes of A and B for the equation {} ({} and {})",
         left ? "AX = B" : "XA = B", shape_string(a.sizes()), shape_string(b.sizes()));
  }
  const auto [factor, pivots, info] = lu_factor_ex(a, true, false);
  if (check_errors) check_info(info, "torch.linalg.solve_ex", a.dim() == 2);
  const Tensor x = lu_solve(factor, pivots, side, left, false);
  return {vector ? squeeze_dim(x, -1) : x, factor, pivots, info};
}

TwoTensors solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  const auto [x, factor, pivots, info] = solve_full(a, b, left, check_errors);
  return {x, info};
}

Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  const auto [x, factor, pivots, info] = solve_full(a, b, left, false);
  check_info(info, "torch.linalg.solve", a.dim() == 2);
  return x;
}

TwoTensors inverse_ex(const Tensor& a, bool check_errors) {
  check_square(a, "linalg.inv");
  const auto [factor, pivots, info] = lu_factor_ex(a, true, false);
  if (check_errors) check_info(info, "linalg.inv_ex", a.dim() == 2);
  const Tensor eye = identity(batch_shape(a), a.size(-1), a.dtype());
  return {lu_solve(factor, pivots, eye, true, false), info};
}

Tensor inverse(const Tensor& a) {
  const auto [result, info] = inverse_ex(a, false);
  check_info(info, "linalg.inv", a.dim() == 2);
  return result;
}

FourTensors slogdet_full(const Tensor& a) {
  check_square(a, "linalg.slogdet");
  const auto [factor, pivots, info] =
      lu_factor_ex(factors_transpose(a) ? transpose(a, -2, -1) : a, true, false);
  const Tensor sign = Tensor::empty(batch_shape(a), a.dtype());
  const Tensor log = Tensor::empty(batch_shape(a), real_type_of(a.dtype()));
  const int64_t n = a.size(-1);
  const Tensor diagonals = contiguous(diagonal(factor, 0, -2, -1));
  dispatch_matrix(a.dtype(), "linalg.slogdet", [&, pivots = pivots](auto tag) {
    using T = typename decltype(tag)::type;
    using R = lapack::Real<T>;
    for (int64_t i = 0; i < log.numel(); ++i) {
      T direction(static_cast<R>(permutation_sign(pivots.template data<int32_t>() + i * n, n)));
      R total = 0;
      for (int64_t j = 0; j < n; ++j) {
        const T d = diagonals.data<T>()[i * n + j];
        const R size = std::abs(d);
        direction *= size == 0 ? T(0) : d / size;
        total += std::log(size);
      }
      sign.data<T>()[i] = direction;
      log.data<R>()[i] = total;
    }
  });
  return {sign, log, factor, pivots};
}

TwoTensors slogdet(const Tensor& a) {
  const auto [sign, log, factor, pivots] = slogdet_full(a);
  return {sign, log};
}

ThreeTensors det_full(const Tensor& a) {
  check_square(a, "linalg.det");
  const auto [factor, pivots, info] =
      lu_factor_ex(factors_transpose(a) ? transpose(a, -2, -1) : a, true, false);
  const Tensor result = Tensor::empty(batch_shape(a), a.dtype());
  const int64_t n = a.size(-1);
  const Tensor diagonals = contiguous(diagonal(factor, 0, -2, -1));
  dispatch_matrix(a.dtype(), "linalg.det", [&, pivots = pivots](auto tag) {
    using T = typename decltype(tag)::type;
    using R = lapack::Real<T>;
    for (int64_t i = 0; i < result.numel(); ++i) {
      T product(static_cast<R>(permutation_sign(pivots.template data<int32_t>() + i * n, n)));
      for (int64_t j = 0; j < n; ++j) product *= diagonals.data<T>()[i * n + j];
      result.data<T>()[i] = product;
    }
  });
  return {result, factor, pivots};
}

Tensor det(const Tensor& a) { return std::get<0>(det_full(a)); }

Tensor logdet(const Tensor& a) {
  const auto [sign, log] = slogdet(a);
  if (is_complex(a.dtype())) {
    return pointwise({Body::kAdd}, {pointwise({Body::kLog}, {sign}), log});
  }
  const Tensor result = clone(log);
  dispatch_matrix(a.dtype(), "logdet", [&, sign = sign](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      for (int64_t i = 0; i < result.numel(); ++i) {
        if (sign.template data<T>()[i] < 0) result.template data<T>()[i] = std::nan("");
      }
    }
  });
  return result;
}

}  // namespace tierup::kernels
