// Differences, integrals and statistics over samples: compositions of the simpler kernels.
#pragma once

#include <optional>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::diff: n-th differences along a dimension, of bools their exclusive or.
Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append);
// aten::trapezoid (trapz): the integral of y over x, or over steps of dx.
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim);
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim);
// aten::cumulative_trapezoid.
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim);
Tensor cumulative_trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim);

// aten::gradient: second-order estimates along dims (none: all). Spacing is a number or a number
// for each dim, or coordinates for each dim.
std::vector<Tensor> gradient(const Tensor& self, const std::vector<Scalar>& spacing,
                             const std::optional<IntVector>& dims, int64_t edge_order);
std::vector<Tensor> gradient_coordinates(const Tensor& self, const std::vector<Tensor>& spacing,
                                         const std::optional<IntVector>& dims, int64_t edge_order);

// aten::cov of the variables in the rows of a matrix; aten::corrcoef.
Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights);
Tensor corrcoef(const Tensor& self);
// aten::dist: the p-norm of a difference.
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p);
// aten::linalg_vander: powers 0 to n - 1 in a new last dimension; aten::vander.
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n);
Tensor vander(const Tensor& x, std::optional<int64_t> n, bool increasing);

}  // namespace tierup::kernels
