// Losses that PyTorch defines by other operators.
//
// They are computed by those operators here, too, so that integers wrap, narrow types round and
// overflow, and complex numbers count as the definition has it. `reduction`: 0 keeps the elements,
// 1 averages, 2 sums.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::l1_loss: |self - target|; real for complex operands.
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction);
// aten::soft_margin_loss: log(1 + exp(-target * self)).
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction);
// aten::poisson_nll_loss; `full` adds Stirling's approximation where target > 1.
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction);
// aten::hinge_embedding_loss: self where target is 1, max(0, margin - self) where it is -1.
Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin,
                            int64_t reduction);
// aten::margin_ranking_loss: max(0, margin - target * (input1 - input2)).
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction);
// aten::cosine_embedding_loss: input [N, D] or [D], target of 1 and -1, [N] or [].
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, int64_t reduction);
// aten::triplet_margin_loss of pairwise distances.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction);

}  // namespace tierup::kernels
