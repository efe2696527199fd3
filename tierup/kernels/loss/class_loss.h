// Losses over classes: nll_loss, cross_entropy_loss and the multi-class margin losses.
//
// `reduction`: 0 keeps the elements, 1 averages, 2 sums. Class indices are int64; one outside of
// the classes that is not ignore_index throws kOutOfRange. f16 and bf16 compute in f32.
#pragma once

#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::nll_loss_forward: log-probabilities [N, C] or [C] and classes [N] or [], weight [C] or
// undefined. Also gives the sum of the weights that were counted. aten::nll_loss2d_forward: [N, C,
// H, W] and [N, H, W].
std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target,
                                            const Tensor& weight, int64_t reduction,
                                            int64_t ignore_index);
// aten::nll_loss, nll_loss2d and nll_loss_nd: [N, C, *] and [N, *].
Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index);
// aten::cross_entropy_loss on scores [N, C, *] or [C]; the target holds classes or, with the shape
// of the scores and a floating dtype, probabilities.
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, int64_t ignore_index, double label_smoothing);
// aten::multi_margin_loss on [N, C] or [C] with p of 1 or 2.
Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const Tensor& weight, int64_t reduction);
// aten::multilabel_margin_loss_forward: targets are lists of classes that end with -1. Also gives 1
// where a class is a target.
std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(const Tensor& self, const Tensor& target,
                                                          int64_t reduction);
Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction);

}  // namespace tierup::kernels
