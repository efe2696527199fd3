#include "tierup/kernels/norm/weight_norm.h"

#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/reduce/reduce_moments.h"

namespace tierup::kernels {

Tensor norm_except_dim(const Tensor& v, int64_t power, int64_t dim) {
  if (dim == -1) return vector_norm(v, Scalar(power), std::nullopt, false, std::nullopt);
  const int64_t kept = wrap_dim(dim, v.dim());
  IntVector others;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (d != kept) others.push_back(d);
  }
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

}  // namespace tierup::kernels
