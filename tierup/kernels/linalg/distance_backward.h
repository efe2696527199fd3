// Gradients of distances (distance.h) and of reductions of segments (segment.h).
#pragma once

#include <optional>
#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::_cdist_backward, for x1: grad and the distances [*, P, R] of x1 [*, P, M] and x2 [*, R, M],
// to [*, P, M] of the broadcast batch. At a distance of 0 it is 0; with p = inf every coordinate as
// far apart as the distance gets the whole sign. f16 and bf16 compute in f32.
Tensor cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                      const Tensor& distances);
// aten::_pdist_backward: grad and the distances [N (N - 1) / 2] of the rows of self [N, M].
Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances);

// aten::_segment_reduce_backward: `output` is what segment_reduce gave for `data`. The gradient of
// a maximum goes in equal shares to all elements equal to it.
Tensor segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data,
                               std::string_view reduce, const Tensor& lengths,
                               const Tensor& offsets, int64_t axis,
                               const std::optional<Scalar>& initial);

}  // namespace tierup::kernels
