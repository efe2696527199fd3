#include "tierup/kernels/linalg/linalg_norm.h"

#include <cmath>
#include <limits>

#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor absolute(const Tensor& a) { return pointwise({Body::kAbs}, {a}); }
Tensor times(const Operand& a, const Operand& b) { return pointwise({Body::kMul}, {a, b}); }
Tensor over(const Operand& a, const Operand& b) {
  return pointwise({Body::kDiv, Promote::kFloating}, {a, b});
}

// The two dimensions of a matrix norm, as non-negative numbers.
std::pair<int64_t, int64_t> matrix_dims(const Tensor& self, const IntVector& dims) {
  if (dims.size() != 2) {
    fail(ErrorCode::kInvalidArgument, "linalg.matrix_norm: dim must be a 2-tuple. Got {}",
         shape_string(dims));
  }
  require(self.dim() >= 2, ErrorCode::kInvalidArgument,
          "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  const int64_t a = wrap_dim(dims[0], self.dim());
  const int64_t b = wrap_dim(dims[1], self.dim());
  require(a != b, ErrorCode::kInvalidArgument,
          "linalg.matrix_norm: dims must be different. Got ({}, {})", dims[0], dims[1]);
  return {a, b};
}

// Singular values of the matrices in these dimensions, as the last dimension.
Tensor singular_values(const Tensor& self, std::pair<int64_t, int64_t> dims) {
  return svdvals(movedim(self, {dims.first, dims.second}, {-2, -1}), std::nullopt);
}

// Puts the reduced dimensions back as ones.
Tensor restore_dims(Tensor result, std::pair<int64_t, int64_t> dims, bool keepdim) {
  if (!keepdim) return result;
  result = unsqueeze(result, std::min(dims.first, dims.second));
  return unsqueeze(result, std::max(dims.first, dims.second));
}

void check_norm_input(const Tensor& self, const char* what) {
  require(is_floating(self.dtype()) || is_complex(self.dtype()), ErrorCode::kTypeError,
          "{}: Expected a floating point or complex tensor as input. Got {}", what,
          scalar_type_name(self.dtype()));
}

double epsilon_of(ScalarType dtype) {
  return real_type_of(dtype) == ScalarType::kFloat ? std::numeric_limits<float>::epsilon()
                                                   : std::numeric_limits<double>::epsilon();
}

// The value below which a singular value counts as zero, for each matrix: [batch, 1].
Tensor tolerance_of(const Tensor& self, const Tensor& largest, const Tensor& atol,
                    const Tensor& rtol) {
  const ScalarType real = real_type_of(self.dtype());
  const double default_rtol =
      epsilon_of(self.dtype()) * static_cast<double>(std::max(self.size(-1), self.size(-2)));
  const Tensor absolute_tol =
      atol.defined() ? to_dtype(atol, real) : Tensor::scalar(Scalar(0.0), real);
  Tensor relative =
      rtol.defined() ? to_dtype(rtol, real) : Tensor::scalar(Scalar(default_rtol), real);
  if (!rtol.defined() && atol.defined()) {
    const Tensor given = pointwise({Body::kGt}, {absolute_tol, Scalar(0)});
    relative =
        evaluate(where(given, Operand(Tensor::scalar(Scalar(0.0), real)), Operand(relative)));
  }
  return pointwise({Body::kMaximum},
                   {unsqueeze(absolute_tol, -1), times(unsqueeze(relative, -1), largest)});
}

// |values| with the largest of each row.
std::pair<Tensor, Tensor> with_largest(const Tensor& values) {
  const Tensor sizes = absolute(values);
  return {sizes, amax(sizes, {-1}, true)};
}

// The largest or smallest along a dimension; of nothing, the largest norm is 0.
Tensor extremum(const Tensor& values, int64_t dim, bool largest, bool keepdim) {
  if (!largest) return amin(values, {dim}, keepdim);
  if (values.size(dim) > 0) return amax(values, {dim}, keepdim);
  return sum(values, IntVector{dim}, keepdim, std::nullopt);
}

// |A| |A^-1|, infinite for a singular matrix.
template <typename Norm>
Tensor condition_by(const Tensor& self, const Norm& norm) {
  const auto [inverse, info] = inverse_ex(self, false);
  const Tensor result = contiguous(times(norm(self), norm(inverse)));
  dispatch_matrix(result.dtype(), "linalg.cond", [&, info = info](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < result.numel(); ++i) {
      if (info.template data<int32_t>()[i] != 0) {
        result.data<T>()[i] = T(std::numeric_limits<lapack::Real<T>>::infinity());
      }
    }
  });
  return result;
}

}  // namespace

Tensor matrix_norm(const Tensor& self, const Scalar& ord, const IntVector& dims, bool keepdim,
                   std::optional<ScalarType> dtype) {
  check_norm_input(self, "linalg.matrix_norm");
  const auto [rows, columns] = matrix_dims(self, dims);
  const Tensor a = dtype ? to_dtype(self, *dtype) : self;
  const double order = ord.to_double();
  const double size = std::abs(order);
  require(size == 1 || size == 2 || std::isinf(order), ErrorCode::kInvalidArgument,
          "linalg.matrix_norm: Order {} not supported.", order);
  if (size == 2) {
    const Tensor s = singular_values(a, {rows, columns});
    return restore_dims(extremum(s, -1, order > 0, false), {rows, columns}, keepdim);
  }
  // Sums of columns for 1, of rows for infinity; then the extremum of these sums.
  const int64_t summed = size == 1 ? rows : columns;
  const int64_t rest = size == 1 ? columns : rows;
  const Tensor sums = vector_norm(a, Scalar(1), IntVector{summed}, true, std::nullopt);
  const Tensor result = extremum(sums, rest, order > 0, true);
  return keepdim ? result : squeeze_dims(result, {rows, columns});
}

Tensor matrix_norm_named(const Tensor& self, std::string_view ord, const IntVector& dims,
                         bool keepdim, std::optional<ScalarType> dtype) {
  check_norm_input(self, "linalg.matrix_norm");
  require(ord == "fro" || ord == "nuc", ErrorCode::kInvalidArgument,
          "linalg.matrix_norm: Order {} not supported.", ord);
  const auto [rows, columns] = matrix_dims(self, dims);
  if (ord == "fro") return vector_norm(self, Scalar(2), IntVector{rows, columns}, keepdim, dtype);
  const Tensor a = dtype ? to_dtype(self, *dtype) : self;
  const Tensor s = singular_values(a, {rows, columns});
  return restore_dims(sum(s, IntVector{-1}, false, std::nullopt), {rows, columns}, keepdim);
}

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord, const ReduceDims& dims,
                   bool keepdim, std::optional<ScalarType> dtype) {
  if (!(!dims || dims->size() == 1 || dims->size() == 2)) {
    fail(ErrorCode::kInvalidArgument,
         "linalg.norm: If dim is specified, it must be of length 1 or 2. Got {}",
         dims ? shape_string(*dims) : "");
  }
  if (!ord) return vector_norm(self, Scalar(2), dims, keepdim, dtype);
  if (dims && dims->size() == 2) return matrix_norm(self, *ord, *dims, keepdim, dtype);
  if (dims || self.dim() == 1) return vector_norm(self, *ord, dims, keepdim, dtype);
  require(self.dim() == 2, ErrorCode::kInvalidArgument,
          "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {}D.",
          self.dim());
  return matrix_norm(self, *ord, {0, 1}, keepdim, dtype);
}

Tensor linalg_norm_named(const Tensor& self, std::string_view ord, const ReduceDims& dims,
                         bool keepdim, std::optional<ScalarType> dtype) {
  require(dims || self.dim() == 2, ErrorCode::kInvalidArgument,
          "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {}D.",
          self.dim());
  return matrix_norm_named(self, ord, dims.value_or(IntVector{0, 1}), keepdim, dtype);
}

Tensor nuclear_norm(const Tensor& self, const IntVector& dims, bool keepdim) {
  return matrix_norm_named(self, "nuc", dims, keepdim, std::nullopt);
}

Tensor matrix_rank(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_matrix(self, "torch.linalg.matrix_rank");
  if (self.size(-1) == 0 || self.size(-2) == 0) {
    Tensor zeros = Tensor::empty(batch_shape(self), ScalarType::kLong);
    fill(zeros, Scalar(0));
    return zeros;
  }
  const auto [sizes, largest] =
      with_largest(hermitian ? eigvalsh(self, "L") : svdvals(self, std::nullopt));
  const Tensor above = pointwise({Body::kGt}, {sizes, tolerance_of(self, largest, atol, rtol)});
  return sum(above, IntVector{-1}, false, std::nullopt);
}

Tensor pinv(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_matrix(self, "linalg.pinv");
  if (self.numel() == 0) {
    return Tensor::empty(batch_with(batch_shape(self), {self.size(-1), self.size(-2)}),
                         self.dtype());
  }
  Tensor u;
  Tensor s;
  Tensor vh;
  if (hermitian) {
    std::tie(s, u) = eigh(self, "L");
    vh = conjugate_transpose(u);
  } else {
    std::tie(u, s, vh) = svd(self, false, std::nullopt);
  }
  const auto [sizes, largest] = with_largest(s);
  const Tensor above = pointwise({Body::kGt}, {sizes, tolerance_of(self, largest, atol, rtol)});
  const Tensor zero = Tensor::scalar(Scalar(0.0), s.dtype());
  const Tensor inverted = evaluate(where(above, Operand(over(Scalar(1.0), s)), Operand(zero)));
  // V diag(1 / s) U^H.
  const Tensor scaled = times(conjugate_transpose(vh), unsqueeze(inverted, -2));
  return matmul(scaled, conjugate_transpose(u));
}

Tensor cond(const Tensor& self, const std::optional<Scalar>& p) {
  check_matrix(self, "linalg.cond");
  const double order = p ? p->to_double() : 2.0;
  if (std::abs(order) == 2) {
    if (self.numel() == 0) {
      Tensor zeros = Tensor::empty(batch_shape(self), real_type_of(self.dtype()));
      fill(zeros, Scalar(0));
      return zeros;
    }
    const Tensor s = svdvals(self, std::nullopt);
    const Tensor first = select(s, -1, 0);
    const Tensor last = select(s, -1, -1);
    return order > 0 ? over(first, last) : over(last, first);
  }
  check_square(self, "linalg.cond");
  if (self.numel() == 0) return matrix_norm_named(self, "fro", {-2, -1}, false, std::nullopt);
  const auto norm = [&](const Tensor& a) {
    return matrix_norm(a, *p, {-2, -1}, false, std::nullopt);
  };
  return condition_by(self, norm);
}

Tensor cond_named(const Tensor& self, std::string_view p) {
  check_square(self, "linalg.cond");
  const auto norm = [&](const Tensor& a) {
    return matrix_norm_named(a, p, {-2, -1}, false, std::nullopt);
  };
  if (self.numel() == 0) return norm(self);
  if (p == "nuc") {
    const Tensor s = svdvals(self, std::nullopt);
    const Tensor inverted = over(Scalar(1.0), s);
    return times(sum(s, IntVector{-1}, false, std::nullopt),
                 sum(inverted, IntVector{-1}, false, std::nullopt));
  }
  return condition_by(self, norm);
}

}  // namespace tierup::kernels
