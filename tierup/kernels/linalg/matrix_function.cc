#include "tierup/kernels/linalg/matrix_function.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/linalg_factor.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor plus(const Tensor& a, const Tensor& b) { return pointwise({Body::kAdd}, {a, b}); }
Tensor minus(const Tensor& a, const Tensor& b) { return pointwise({Body::kSub}, {a, b}); }
Tensor times(const Tensor& a, const Operand& b) { return pointwise({Body::kMul}, {a, b}); }

Tensor adjoint_of(const Tensor& a) { return resolve_lazy_bits(adjoint(a)); }

Tensor identity_like(const Tensor& a) {
  Tensor eye = Tensor::empty(a.sizes(), a.dtype());
  fill(eye, Scalar(0));
  if (eye.numel() > 0) fill(diagonal(eye, 0, -2, -1), Scalar(1));
  return eye;
}

// The largest column sum of any matrix of the batch.
double largest_norm(const Tensor& a) {
  const Tensor columns = column_major(a);
  const int64_t n = a.size(-1);
  double largest = 0;
  dispatch_matrix(a.dtype(), "matrix_exp", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = columns.data<T>();
    for (int64_t c = 0; c < columns.numel() / n; ++c) {
      double sum = 0;
      for (int64_t r = 0; r < n; ++r) sum += std::abs(p[c * n + r]);
      largest = std::isnan(sum) ? sum : std::max(largest, sum);
    }
  });
  return largest;
}

// Scaling and squaring around the [13/13] Pade approximant (Higham 2005).
Tensor exponential(const Tensor& a) {
  constexpr double kRadius = 5.371920351148152;
  constexpr std::array<double, 14> b = {64764752532480000.,
                                        32382376266240000.,
                                        7771770303897600.,
                                        1187353796428800.,
                                        129060195264000.,
                                        10559470521600.,
                                        670442572800.,
                                        33522128640.,
                                        1323241920.,
                                        40840800.,
                                        960960.,
                                        16380.,
                                        182.,
                                        1.};
  const double norm = largest_norm(a);
  const int squarings = std::isfinite(norm) && norm > kRadius
                            ? static_cast<int>(std::ceil(std::log2(norm / kRadius)))
                            : 0;
  const Tensor x = times(a, Scalar(std::ldexp(1.0, -squarings)));
  const Tensor eye = identity_like(a);
  const Tensor x2 = matmul(x, x);
  const Tensor x4 = matmul(x2, x2);
  const Tensor x6 = matmul(x4, x2);
  const auto mix = [&](double c6, double c4, double c2) {
    return plus(plus(times(x6, Scalar(c6)), times(x4, Scalar(c4))), times(x2, Scalar(c2)));
  };
  const Tensor odd = plus(plus(matmul(x6, mix(b[13], b[11], b[9])), mix(b[7], b[5], b[3])),
                          times(eye, Scalar(b[1])));
  const Tensor u = matmul(x, odd);
  const Tensor v = plus(plus(matmul(x6, mix(b[12], b[10], b[8])), mix(b[6], b[4], b[2])),
                        times(eye, Scalar(b[0])));
  Tensor result = solve(minus(v, u), plus(v, u), true);
  for (int i = 0; i < squarings; ++i) result = matmul(result, result);
  return result;
}

}  // namespace

Tensor matrix_power(const Tensor& self, int64_t n) {
  if (!(self.dim() >= 2 && self.size(-1) == self.size(-2))) {
    fail(ErrorCode::kInvalidArgument,
         "linalg.matrix_power: A must be batches of square matrices, but they are {}",
         self.describe());
  }
  if (n < 0) {
    require(n != INT64_MIN, ErrorCode::kInvalidArgument, "linalg.matrix_power: {} is too low", n);
    return matrix_power(inverse(self), -n);
  }
  if (n == 0) return identity_like(self);
  Tensor power = self;
  Tensor result;
  for (int64_t rest = n; rest > 0; rest >>= 1) {
    if ((rest & 1) != 0) result = result.defined() ? matmul(result, power) : clone(power);
    if (rest > 1) power = matmul(power, power);
  }
  return result;
}

Tensor matrix_exp(const Tensor& self) {
  if (!(self.dim() >= 2 && self.size(-1) == self.size(-2))) {
    fail(ErrorCode::kInvalidArgument,
         "linalg.matrix_exp: A must be batches of square matrices, but they are {}",
         self.describe());
  }
  require(is_floating(self.dtype()) || is_complex(self.dtype()), ErrorCode::kTypeError,
          "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {}",
          scalar_type_name(self.dtype()));
  if (self.numel() == 0) return clone(self);
  // Narrow types and f32 are computed one step wider, so that squaring costs no digits.
  const ScalarType wide =
      is_complex(self.dtype()) ? ScalarType::kComplexDouble : ScalarType::kDouble;
  return to_dtype(exponential(to_dtype(self, wide)), self.dtype());
}

Tensor matrix_sqrth(const Tensor& self) {
  require(self.dim() >= 2, kBad,
          "linalg.matrix_sqrth: The input tensor A must have at least 2 dimensions.");
  require(
      self.size(-1) == self.size(-2), kBad,
      "linalg.matrix_sqrth: A must be batches of square matrices, but they are {} by {} matrices",
      self.size(-2), self.size(-1));
  const auto [values, vectors] = eigh(self, "L");
  const Tensor roots = pointwise({Body::kSqrt}, {evaluate(clamp(values, Scalar(0), std::nullopt))});
  return matmul(times(vectors, unsqueeze(roots, -2)), adjoint_of(vectors));
}

std::tuple<Tensor, Tensor> polar_factors(const Tensor& a) {
  require(a.dim() >= 2, kBad, "linalg.polar: The input tensor A must have at least 2 dimensions.");
  require(
      a.size(-2) >= a.size(-1), kBad,
      "linalg.polar: input must have at least as many rows as columns, but got {} by {} matrices",
      a.size(-2), a.size(-1));
  const auto [u, s, vh] = svd(a, false, std::nullopt);
  const Tensor stretch = matmul(times(adjoint_of(vh), unsqueeze(s, -2)), vh);
  // Rounding is not allowed to make it less than Hermitian.
  return {matmul(u, vh), times(plus(stretch, adjoint_of(stretch)), Scalar(0.5))};
}

Tensor tensorinv(const Tensor& self, int64_t ind) {
  require(ind > 0, ErrorCode::kInvalidArgument, "Expected a strictly positive integer for 'ind'");
  require(ind <= self.dim(), ErrorCode::kInvalidArgument,
          "linalg.tensorinv: 'ind' must not exceed the rank {}, got {}", self.dim(), ind);
  IntVector shape(self.sizes().begin() + ind, self.sizes().end());
  const int64_t rest = numel_of(shape);
  const IntVector lead(self.sizes().begin(), self.sizes().begin() + ind);
  require(rest == numel_of(lead), ErrorCode::kInvalidArgument,
          "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
          "prod(self.shape[:ind]), but got {} != {}",
          rest, numel_of(lead));
  shape.insert(shape.end(), lead.begin(), lead.end());
  return reshape(inverse(reshape(self, {rest, rest})), shape);
}

Tensor tensorsolve(const Tensor& self, const Tensor& other, const std::optional<IntVector>& dims) {
  Tensor a = self;
  if (dims) {
    IntVector to;
    for (size_t i = 0; i < dims->size(); ++i) {
      to.push_back(self.dim() - static_cast<int64_t>(dims->size() - i));
    }
    a = movedim(self, *dims, to);
  }
  if (a.dim() < other.dim()) {
    fail(ErrorCode::kInvalidArgument,
         "linalg.tensorsolve: the left tensor {} has fewer dimensions than the right one {}",
         shape_string(a.sizes()), shape_string(other.sizes()));
  }
  const IntVector shape(a.sizes().begin() + other.dim(), a.sizes().end());
  const int64_t unknowns = numel_of(shape);
  require(unknowns == other.numel() && unknowns * unknowns == a.numel(),
          ErrorCode::kInvalidArgument,
          "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
          "prod(self.shape[:other.ndim]), but got {} != {}",
          unknowns, other.numel());
  const Tensor x = solve(reshape(a, {unknowns, unknowns}), reshape(other, {-1}), true);
  return reshape(x, shape);
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  require(self.dim() == other.dim(), ErrorCode::kInvalidArgument,
          "linalg.cross: inputs must have the same number of dimensions.");
  require_dtype_of(self, {&other}, "linalg.cross");
  const int64_t d = wrap_dim(dim, self.dim());
  if (!(self.dim() > 0 && self.sizes()[d] == 3 && other.sizes()[d] == 3)) {
    fail(ErrorCode::kInvalidArgument,
         "linalg.cross: inputs dimension {} must have length 3. Got {} and {}", d,
         shape_string(self.sizes()), shape_string(other.sizes()));
  }
  const IntVector shape = broadcast_shapes(self.sizes(), other.sizes());
  const Tensor a = expand_to(self, shape);
  const Tensor b = expand_to(other, shape);
  Tensor out = Tensor::empty(shape, self.dtype());
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3;
    const int64_t k = (i + 2) % 3;
    pointwise_into(select(out, d, i), {Body::kSub},
                   {times(select(a, d, j), Operand(select(b, d, k))),
                    times(select(a, d, k), Operand(select(b, d, j)))});
  }
  return out;
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return linalg_cross(self, other, *dim);
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.sizes()[d] == 3) return linalg_cross(self, other, d);
  }
  fail(ErrorCode::kInvalidArgument, "no dimension of size 3 in input");
}

}  // namespace tierup::kernels
