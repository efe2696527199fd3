// Gradients of losses over classes (class_loss.h), for the scores.
//
// `grad` has the sizes of the loss; `reduction` is the loss's. f16 and bf16 compute in f32. Shapes
// that do not fit throw kInvalidArgument, classes out of bounds kOutOfRange.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::nll_loss_backward, nll_loss2d_backward: scores [N, C, *] or [C]; -weight of the class at
// the target's place, zeros elsewhere. `total_weight` divides a mean; where it is 0, so is the
// gradient.
Tensor nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         const Tensor& weight, int64_t reduction, int64_t ignore_index,
                         const Tensor& total_weight);
// aten::multi_margin_loss_backward: p of 1 or 2.
Tensor multi_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                  const Scalar& p, const Scalar& margin, const Tensor& weight,
                                  int64_t reduction);
// aten::multilabel_margin_loss_backward: `is_target` is what the forward operator gave.
Tensor multilabel_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                       int64_t reduction, const Tensor& is_target);

}  // namespace tierup::kernels
