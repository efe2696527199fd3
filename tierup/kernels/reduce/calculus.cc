#include "tierup/kernels/reduce/calculus.h"

#include <algorithm>
#include <set>

#include "tierup/kernels/indexing/rearrange.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/reduce/scan.h"
#include "tierup/kernels/shape/cat.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor plus(const Operand& a, const Operand& b) { return evaluate(add(a, b, Scalar(1))); }
Tensor minus(const Operand& a, const Operand& b) { return evaluate(sub(a, b, Scalar(1))); }
Tensor times(const Operand& a, const Operand& b) { return pointwise({Body::kMul}, {a, b}); }
Tensor over(const Operand& a, const Operand& b) {
  return pointwise({Body::kDiv, Promote::kFloating}, {a, b});
}

// Elements [start, end) of a dimension; negative bounds count from the end, 0 as end means all.
Tensor part(const Tensor& self, int64_t dim, int64_t start, int64_t end) {
  return slice(self, dim, start, end == 0 ? std::nullopt : std::optional<int64_t>(end), 1);
}

// x as coordinates along `dim` of y: a vector lies along it, others get leading dimensions.
Tensor coordinates_of(const Tensor& y, const Tensor& x, int64_t dim) {
  IntVector sizes(static_cast<size_t>(y.dim()), 1);
  if (x.dim() == 1) {
    require(x.numel() == y.sizes()[dim], ErrorCode::kInvalidArgument,
            "trapezoid: There must be one `x` value for each sample point");
    sizes[dim] = x.numel();
    return view(contiguous(x), sizes);
  }
  if (x.dim() >= y.dim()) return x;
  std::copy_backward(x.sizes().begin(), x.sizes().end(), sizes.end());
  return view(contiguous(x), sizes);
}

Tensor zeros_without(const Tensor& y, int64_t dim) {
  IntVector sizes(y.sizes().begin(), y.sizes().end());
  sizes.erase(sizes.begin() + dim);
  Tensor zeros = Tensor::empty(sizes, y.dtype());
  fill(zeros, Scalar(0));
  return zeros;
}

// Sums of neighbouring elements.
Tensor neighbour_sums(const Tensor& y, int64_t dim) {
  return plus(part(y, dim, 1, 0), part(y, dim, 0, -1));
}
Tensor neighbour_differences(const Tensor& x, int64_t dim) {
  return minus(part(x, dim, 1, 0), part(x, dim, 0, -1));
}

void check_gradient(const Tensor& self, const IntVector& dims, size_t spacings,
                    int64_t edge_order) {
  require(edge_order == 1 || edge_order == 2, ErrorCode::kInvalidArgument,
          "torch.gradient only supports edge_order=1 and edge_order=2.");
  require(spacings == 1 || spacings == dims.size(), ErrorCode::kInvalidArgument,
          "torch.gradient expected spacing to be unspecified, a scalar, or a list of {} elements, "
          "but got {}",
          dims.size(), spacings);
  std::set<int64_t> named;
  for (const int64_t dim : dims) {
    require(named.insert(wrap_dim(dim, self.dim())).second, ErrorCode::kInvalidArgument,
            "dim {} appears multiple times in the list of dims", dim);
    require(self.dim() > 0 && self.size(dim) >= edge_order + 1, ErrorCode::kInvalidArgument,
            "torch.gradient expected each dimension size to be at least edge_order+1");
  }
}

IntVector all_dims(const Tensor& self, const std::optional<IntVector>& dims) {
  if (dims) return *dims;
  IntVector result;
  for (int64_t d = 0; d < self.dim(); ++d) result.push_back(d);
  return result;
}

Tensor gradient_uniform(const Tensor& f, const Scalar& h, int64_t dim, int64_t edge_order) {
  const Tensor middle =
      over(minus(part(f, dim, 2, 0), part(f, dim, 0, -2)), Scalar(h.to_double() * 2));
  Tensor first;
  Tensor last;
  if (edge_order == 1) {
    first = over(minus(part(f, dim, 1, 2), part(f, dim, 0, 1)), h);
    last = over(minus(part(f, dim, -1, 0), part(f, dim, -2, -1)), h);
  } else {
    const auto edge = [&](const Tensor& a, const Tensor& b, const Tensor& c, double sign) {
      const Tensor sum = plus(plus(times(a, Scalar(-1.5 * sign)), times(b, Scalar(2.0 * sign))),
                              times(c, Scalar(-0.5 * sign)));
      return over(sum, h);
    };
    first = edge(part(f, dim, 0, 1), part(f, dim, 1, 2), part(f, dim, 2, 3), 1);
    last = edge(part(f, dim, -1, 0), part(f, dim, -2, -1), part(f, dim, -3, -2), -1);
  }
  return cat({first, middle, last}, dim);
}

// The weights of three neighbours for a derivative, by their distances dx1 and dx2.
Tensor weigh(const Tensor& f, int64_t dim, int64_t start, const Tensor& a, const Tensor& b,
             const Tensor& c, int64_t count) {
  const auto take = [&](int64_t shift) { return narrow(f, dim, start + shift, count); };
  return plus(plus(times(a, take(0)), times(b, take(1))), times(c, take(2)));
}

Tensor gradient_at(const Tensor& f, const Tensor& x, int64_t dim, int64_t edge_order) {
  require(x.dim() == 1 && x.numel() == f.size(dim), ErrorCode::kInvalidArgument,
          "torch.gradient expected each element of spacing to have the size of its dimension");
  IntVector sizes(static_cast<size_t>(f.dim()), 1);
  sizes[dim] = x.numel() - 1;
  const Tensor dx = view(neighbour_differences(x, 0), sizes);
  const int64_t n = f.size(dim);
  const auto weights = [&](const Tensor& h1, const Tensor& h2, int64_t start, int64_t count,
                           int kind) {
    const Tensor sum = plus(h1, h2);
    Tensor a;
    Tensor b;
    Tensor c;
    if (kind == 0) {  // The middle point.
      a = over(times(h2, Scalar(-1)), times(h1, sum));
      b = over(minus(h2, h1), times(h1, h2));
      c = over(h1, times(h2, sum));
    } else if (kind < 0) {  // The first point.
      a = over(times(plus(times(h1, Scalar(2)), h2), Scalar(-1)), times(h1, sum));
      b = over(sum, times(h1, h2));
      c = over(times(h1, Scalar(-1)), times(h2, sum));
    } else {  // The last point.
      a = over(h2, times(h1, sum));
      b = over(times(sum, Scalar(-1)), times(h1, h2));
      c = over(plus(times(h2, Scalar(2)), h1), times(h2, sum));
    }
    return weigh(f, dim, start, a, b, c, count);
  };
  const Tensor middle = weights(part(dx, dim, 0, -1), part(dx, dim, 1, 0), 0, n - 2, 0);
  Tensor first;
  Tensor last;
  if (edge_order == 1) {
    first = over(minus(part(f, dim, 1, 2), part(f, dim, 0, 1)), part(dx, dim, 0, 1));
    last = over(minus(part(f, dim, -1, 0), part(f, dim, -2, -1)), part(dx, dim, -1, 0));
  } else {
    first = weights(part(dx, dim, 0, 1), part(dx, dim, 1, 2), 0, 1, -1);
    last = weights(part(dx, dim, -2, -1), part(dx, dim, -1, 0), n - 3, 1, 1);
  }
  return cat({first, middle, last}, dim);
}

}  // namespace

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  require(self.dim() >= 1, ErrorCode::kInvalidArgument,
          "diff expects input to be at least one-dimensional");
  require(n >= 0, ErrorCode::kInvalidArgument, "order must be non-negative but got {}", n);
  if (n == 0) return clone(self);  // Whatever the dimension, without what would be put before.
  const int64_t d = wrap_dim(dim, self.dim());
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(prepend);
  parts.push_back(self);
  if (append.defined()) parts.push_back(append);
  Tensor result = parts.size() > 1 ? cat(parts, d) : self;
  if (n > result.sizes()[d]) n = result.sizes()[d];
  for (int64_t i = 0; i < n; ++i) {
    if (result.dtype() == ScalarType::kBool) {
      result = pointwise({Body::kLogicalXor, Promote::kBool},
                         {part(result, d, 1, 0), part(result, d, 0, -1)});
    } else {
      result = neighbour_differences(result, d);
    }
  }
  return result;
}

Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return zeros_without(y, d);
  const Tensor dx = neighbour_differences(coordinates_of(y, x, d), d);
  return over(sum(times(dx, neighbour_sums(y, d)), IntVector{d}, false, std::nullopt), Scalar(2.0));
}

Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return zeros_without(y, d);
  const Tensor ends = plus(select(y, d, 0), select(y, d, -1));
  return times(minus(sum(y, IntVector{d}, false, std::nullopt), times(ends, Scalar(0.5))), dx);
}

Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim());
  const Tensor dx = neighbour_differences(coordinates_of(y, x, d), d);
  return over(cumsum(times(dx, neighbour_sums(y, d)), d, std::nullopt), Scalar(2.0));
}

Tensor cumulative_trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = wrap_dim(dim, y.dim());
  const Tensor areas = over(times(neighbour_sums(y, d), dx), Scalar(2.0));
  return cumsum(areas, d, std::nullopt);
}

std::vector<Tensor> gradient(const Tensor& self, const std::vector<Scalar>& spacing,
                             const std::optional<IntVector>& dims, int64_t edge_order) {
  const IntVector axes = all_dims(self, dims);
  check_gradient(self, axes, spacing.size(), edge_order);
  std::vector<Tensor> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    result.push_back(gradient_uniform(self, spacing[spacing.size() == 1 ? 0 : i],
                                      wrap_dim(axes[i], self.dim()), edge_order));
  }
  return result;
}

std::vector<Tensor> gradient_coordinates(const Tensor& self, const std::vector<Tensor>& spacing,
                                         const std::optional<IntVector>& dims, int64_t edge_order) {
  const IntVector axes = all_dims(self, dims);
  check_gradient(self, axes, spacing.size(), edge_order);
  std::vector<Tensor> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    result.push_back(gradient_at(self, spacing[spacing.size() == 1 ? 0 : i],
                                 wrap_dim(axes[i], self.dim()), edge_order));
  }
  return result;
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return vector_norm(minus(self, other), p, std::nullopt, false, std::nullopt);
}

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n) {
  if (x.dtype() == ScalarType::kBool) {
    fail(ErrorCode::kInvalidArgument, "linalg.vander: expected a number tensor, got {}",
         x.describe());
  }
  const Tensor points = atleast_1d(x);
  const int64_t columns = n.value_or(points.size(-1));
  require(columns > 1, ErrorCode::kInvalidArgument, "N must be greater than 1.");
  IntVector sizes(points.sizes().begin(), points.sizes().end());
  sizes.push_back(columns - 1);
  const Tensor powers = cumprod(expand_to(unsqueeze(points, -1), sizes), -1, std::nullopt);
  sizes.back() = 1;
  Tensor ones = Tensor::empty(sizes, powers.dtype());
  fill(ones, Scalar(1));
  return cat({ones, powers}, -1);
}

Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing) {
  require(x.dim() == 1, ErrorCode::kInvalidArgument, "x must be a one-dimensional tensor.");
  const int64_t columns = n.value_or(x.sizes()[0]);
  require(columns >= 0, ErrorCode::kInvalidArgument, "N must be non-negative.");
  const ScalarType type =
      promote_types(x.dtype(), is_integral(x.dtype(), true) ? ScalarType::kLong : x.dtype());
  Tensor result = Tensor::empty(IntVector{x.sizes()[0], columns}, type);
  if (columns > 0) {
    fill(select(result, 1, 0), Scalar(1));
    copy_into(narrow(result, 1, 1, columns - 1),
              cumprod(expand_to(unsqueeze(x, 1), IntVector{x.sizes()[0], columns - 1}), 1, type));
  }
  return increasing ? result : flip(result, {1});
}

}  // namespace tierup::kernels
