// Gradients of embedding look-ups (embedding.h): rows of the gradient added up by index.
//
// Repeated indices are added in their order, so that the result does not depend on threads. f16 and
// bf16 sum in f32. Indices out of range throw kOutOfRange, shapes that do not fit
// kInvalidArgument.
#pragma once

#include "tierup/kernels/indexing/embedding.h"

namespace tierup::kernels {

// aten::embedding_dense_backward: [*, D] to [num_weights, D]; the row `padding_idx` stays zero, and
// with `scale_grad_by_freq` each row is divided by how often its index occurs.
Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_by_freq);

// The bags as the forward operator described them: `offset2bag` may be empty, then `offsets` tell.
struct BagIndices {
  Tensor indices, offsets, offset2bag, bag_size, maximum_indices;
};
// aten::_embedding_bag_backward, _embedding_bag_dense_backward: [bags, D] to [num_weights, D].
Tensor embedding_bag_backward(const Tensor& grad, const BagIndices& bags, int64_t num_weights,
                              bool scale_grad_by_freq, BagMode mode,
                              const Tensor& per_sample_weights, int64_t padding_idx);
// aten::_embedding_bag_per_sample_weights_backward: one number for each index.
Tensor embedding_bag_factors_backward(const Tensor& grad, const Tensor& weight,
                                      const BagIndices& bags, int64_t padding_idx);

}  // namespace tierup::kernels
