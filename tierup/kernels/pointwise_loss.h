// Losses that are a function of paired elements, and those built from such pieces.
//
// Operands are broadcast. `reduction`: 0 keeps the elements, 1 averages, 2 sums. f16 and bf16
// compute in f32; where integers are taken, the result is f32.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction);
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction);
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta);
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta);
// aten::binary_cross_entropy: logarithms are clamped at -100. Throws for input outside of [0, 1].
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction);
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction);
Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target);
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction);
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction);
Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin,
                            int64_t reduction);
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction);
// aten::cosine_embedding_loss: input [N, D] or [D], target of 1 and -1, [N] or [].
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, int64_t reduction);
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction);

// The reduction alone: of an f32 or f64 tensor, summed in double in one fixed order.
Tensor reduce_loss(const Tensor& losses, int64_t reduction);

}  // namespace tierup::kernels
