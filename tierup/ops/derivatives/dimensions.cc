#include "tierup/ops/derivatives/dimensions.h"

#include <cmath>

namespace tierup::ops::derivatives {

IntVector all_dims(const GradContext& c) {
  IntVector dims;
  for (int64_t d = 0; d < c.rank(0); ++d) dims.push_back(d);
  return dims;
}

IntVector reduced_dims(const GradContext& c, ArgIndex i) {
  if (c.is_none(i)) return all_dims(c);
  IntVector dims = c.ints_of(i);
  if (dims.empty()) return all_dims(c);
  for (int64_t& d : dims) d = wrap_dim(d, c.rank(0));
  return dims;
}

int64_t reduced_count(const GradContext& c, const IntVector& dims) {
  int64_t count = 1;
  if (c.rank(0) == 0) return count;
  for (const int64_t d : dims) count *= c.size(0, d);
  return count;
}

Term restored(GradContext& c, const Term& value, const IntVector& dims, bool keepdim) {
  if (keepdim || c.rank(0) == 0) return value;
  IntVector sizes(c.shape(0).begin(), c.shape(0).end());
  for (const int64_t d : dims) sizes[static_cast<size_t>(d)] = 1;
  return reshape(value, {sizes.data(), sizes.size()});
}

Term spread(GradContext& c, const Term& value, const IntVector& dims, bool keepdim) {
  return restored(c, value, dims, keepdim).then("aten::expand", c.sizes(0));
}

Term placed(GradContext& c, const Term& gradient, const Term& indices, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, c.rank(0));
  const Term zeros = call(c, "aten::zeros", c.sizes(0), c.dtype(0));
  const IntVector dims{d};
  return zeros.then("aten::scatter.src", d, restored(c, indices, dims, keepdim),
                    restored(c, gradient, dims, keepdim));
}

namespace {

Term of_norm(GradContext& c, const Term& x, const Term& g, const Term& norm, double p,
             const IntVector& dims) {
  if (p == 1) return g * sgn(x);
  if (p == 2) return g * cleared(x / norm, equal(norm, 0.0));
  const Term size = abs(x);
  if (std::isinf(p)) {
    const Term ties =
        either(equal(size, norm), both(x.then("aten::isnan"), norm.then("aten::isnan")));
    const Term count = c.rank(0) == 0 ? total(ties) : sum_over(ties, dims, true);
    return only(sgn(x) * (g / count), ties);
  }
  if (p < 1) {
    const Term slope = sgn(x) * cleared(pow(size, p - 1), equal(x, 0.0));
    return slope * (g * pow(norm, 1 - p));
  }
  const Term slope = p < 2 ? sgn(x) * pow(size, p - 1) : x * pow(size, p - 2);
  return slope * cleared(g / pow(norm, p - 1), equal(norm, 0.0));
}

}  // namespace

void norm_gradient(GradContext& c, const Scalar& p, const IntVector& dims, bool keepdim) {
  const double power = p.to_double();
  c.give(0, [&]() -> GradValue {
    if (power == 0) return {};
    const Term g = restored(c, grad(c), dims, keepdim);
    const Term norm = power == 1 ? g : restored(c, result(c), dims, keepdim);
    return of_norm(c, arg(c, 0), g, norm, power, dims);
  });
}

}  // namespace tierup::ops::derivatives
