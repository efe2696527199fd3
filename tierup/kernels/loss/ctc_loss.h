// Connectionist temporal classification: the loss of a label sequence under a sequence of class
// log-probabilities, summed over all alignments.
#pragma once

#include <span>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::_ctc_loss: log_probs [T, N, C] or [T, C], f32 or f64; targets [N, S], [S], or all in a row.
// Gives the negative log-likelihood of each sequence and log_alpha [N, T, 2 S + 1], the
// log-likelihood of each prefix (-inf where there is none). `zero_infinity` is the gradient's
// business alone. Throws for lengths that do not fit.
std::tuple<Tensor, Tensor> ctc_loss_forward(const Tensor& log_probs, const Tensor& targets,
                                            const IntVector& input_lengths,
                                            const IntVector& target_lengths, int64_t blank,
                                            bool zero_infinity);
// aten::_ctc_loss_backward: the gradient by log_probs, which are taken to be normalised, of what
// the forward gave. With `zero_infinity` sequences without an alignment have none, else NaN.
Tensor ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                         const IntVector& input_lengths, const IntVector& target_lengths,
                         const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                         bool zero_infinity);
// aten::ctc_loss; averaging (reduction 1) divides by each target's length first.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const IntVector& input_lengths,
                const IntVector& target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity);
// The overloads whose lengths are integer tensors.
std::tuple<Tensor, Tensor> ctc_loss_forward_tensor(const Tensor& log_probs, const Tensor& targets,
                                                   const Tensor& input_lengths,
                                                   const Tensor& target_lengths, int64_t blank,
                                                   bool zero_infinity);
Tensor ctc_loss_backward_tensor(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                const Tensor& input_lengths, const Tensor& target_lengths,
                                const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                                int64_t blank, bool zero_infinity);
Tensor ctc_loss_tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank, int64_t reduction,
                       bool zero_infinity);

}  // namespace tierup::kernels
