// Distances and similarities of vectors.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::pairwise_distance: p-norm of x1 - x2 + eps along the last dimension, operands broadcast.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim);
// aten::cosine_similarity along `dim` of the broadcast operands; norms are at least eps.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps);
// aten::cdist: [*, P, M] and [*, R, M] to [*, P, R], batch dimensions broadcast.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode);
// aten::_euclidean_dist: cdist with p == 2.
Tensor euclidean_dist(const Tensor& x1, const Tensor& x2);
// aten::pdist: distances of all pairs of rows of [N, M], to [N (N - 1) / 2].
Tensor pdist(const Tensor& self, double p);

}  // namespace tierup::kernels
