// Gradients of losses: the operators that their backward passes call.
#include "tierup/kernels/loss/class_loss_backward.h"
#include "tierup/kernels/loss/ctc_loss.h"
#include "tierup/kernels/pointwise/activation_backward.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

constexpr OpRow kRows[] = {
    {"aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> "
     "Tensor",
     boxed<&k::mse_loss_backward>},
    {"aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, "
     "float beta) -> Tensor",
     boxed<&k::smooth_l1_loss_backward>},
    {"aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, "
     "float delta) -> Tensor",
     boxed<&k::huber_loss_backward>},
    {"aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
     "reduction) -> Tensor",
     boxed<&k::soft_margin_loss_backward>},
    {"aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? "
     "weight=None, int reduction=1) -> Tensor",
     boxed<&k::binary_cross_entropy_backward>},
    {"aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int "
     "reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
     boxed<&k::nll_loss_backward>},
    {"aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
     "int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
     boxed<&k::nll_loss_backward>},
    {"aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, "
     "Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor",
     boxed<&k::multi_margin_loss_backward>},
    {"aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
     "reduction, Tensor is_target) -> Tensor",
     boxed<&k::multilabel_margin_loss_backward>},
    {"aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, "
     "int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool "
     "zero_infinity=False) -> Tensor",
     boxed<&k::ctc_loss_backward>},
    {"aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor "
     "input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int "
     "blank, bool zero_infinity=False) -> Tensor",
     boxed<&k::ctc_loss_backward_tensor>},
};

}  // namespace

std::span<const OpRow> loss_backward_rows() { return kRows; }

}  // namespace tierup::ops
