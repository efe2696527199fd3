// Weights given by a direction and a length: w = g * v / |v|.
#pragma once

#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::norm_except_dim: norms of order `power` over all dimensions but `dim`, which are kept with
// size 1; -1: over all.
Tensor norm_except_dim(const Tensor& v, int64_t power, int64_t dim);
// aten::_weight_norm and aten::_weight_norm_interface: (w, the norms of v).
std::tuple<Tensor, Tensor> weight_norm_interface(const Tensor& v, const Tensor& g, int64_t dim);
Tensor weight_norm(const Tensor& v, const Tensor& g, int64_t dim);
// aten::_weight_norm_interface_backward: the gradients of v and g from that of w, in their dtypes;
// `norms` are those of v.
std::tuple<Tensor, Tensor> weight_norm_backward(const Tensor& grad, const Tensor& v,
                                                const Tensor& g, const Tensor& norms, int64_t dim);

}  // namespace tierup::kernels
