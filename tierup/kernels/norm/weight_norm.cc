#include "tierup/kernels/norm/weight_norm.h"

#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/reduce/reduce_sum.h"

namespace tierup::kernels {
namespace {

IntVector dims_but(int64_t dim, int64_t rank) {
  IntVector others;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim) others.push_back(d);
  }
  return others;
}

}  // namespace

Tensor norm_except_dim(const Tensor& v, int64_t power, int64_t dim) {
  if (dim == -1) return vector_norm(v, Scalar(power), std::nullopt, false, std::nullopt);
  const IntVector others = dims_but(wrap_dim(dim, v.dim()), v.dim());
  // No dimensions would mean all of them.
  if (others.empty()) return pointwise({Body::kAbs}, {v});
  return vector_norm(v, Scalar(power), others, true, std::nullopt);
}

std::tuple<Tensor, Tensor> weight_norm_interface(const Tensor& v, const Tensor& g, int64_t dim) {
  // Narrow types are computed in f32, in which their norms stay.
  const ScalarType work = work_type(v.dtype());
  const Tensor direction = to_dtype(v, work);
  const Tensor norms = norm_except_dim(direction, 2, dim);
  const Tensor factors = pointwise({Body::kDiv}, {to_dtype(g, work), norms});
  return {to_dtype(pointwise({Body::kMul}, {direction, factors}), v.dtype()), norms};
}

Tensor weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  return std::get<0>(weight_norm_interface(v, g, dim));
}

// With the direction u = v / |v|: dg = <dw, u>, and dv = g / |v| (dw - dg u).
std::tuple<Tensor, Tensor> weight_norm_backward(const Tensor& grad, const Tensor& v,
                                                const Tensor& g, const Tensor& norms, int64_t dim) {
  const ScalarType work = work_type(v.dtype());
  const auto product = [](const Tensor& a, const Tensor& b) {
    return pointwise({Body::kMul}, {a, b});
  };
  const Tensor slope = to_dtype(grad, work);
  const Tensor lengths = to_dtype(norms, work);
  const Tensor direction = pointwise({Body::kDiv}, {to_dtype(v, work), lengths});
  const Tensor along = product(slope, direction);
  const IntVector others = dims_but(wrap_dim(dim, v.dim()), v.dim());
  // No dimensions would mean all of them.
  const Tensor of_g = others.empty() ? along : sum(along, others, true, std::nullopt);
  const Tensor across = pointwise({Body::kSub}, {slope, product(of_g, direction)});
  const Tensor factors = pointwise({Body::kDiv}, {to_dtype(g, work), lengths});
  return {to_dtype(product(factors, across), v.dtype()), to_dtype(of_g, g.dtype())};
}

}  // namespace tierup::kernels
