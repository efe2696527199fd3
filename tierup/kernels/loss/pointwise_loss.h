// Losses that are a function of paired elements.
//
// Operands are broadcast. `reduction`: 0 keeps the elements, 1 averages, 2 sums. f16 and bf16
// compute in f32; where integers are taken, the result is f32.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction);
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta);
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta);
// aten::binary_cross_entropy: logarithms are clamped at -100. Throws for input outside of [0, 1].
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction);
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction);
Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target);

// The reduction alone: of an f32 or f64 tensor, summed in double in one fixed order.
Tensor reduce_loss(const Tensor& losses, int64_t reduction);

}  // namespace tierup::kernels
