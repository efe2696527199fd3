// Rows of losses and distances.
#include <array>

#include "tierup/kernels/linalg/distance.h"
#include "tierup/kernels/loss/class_loss.h"
#include "tierup/kernels/loss/composite_loss.h"
#include "tierup/kernels/loss/ctc_loss.h"
#include "tierup/kernels/loss/pointwise_loss.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
     "SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
     boxed<&kernels::cross_entropy_loss>},
    {"aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100) -> Tensor",
     boxed<&kernels::nll_loss>},
    {"aten::nll_loss.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::nll_loss>},
    {"aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100) -> Tensor",
     boxed<&kernels::nll_loss>},
    {"aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100) -> Tensor",
     boxed<&kernels::nll_loss>},
    {"aten::nll_loss2d.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
     "SymInt ignore_index=-100, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::nll_loss>},
    {"aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
     "ignore_index) -> (Tensor output, Tensor total_weight)",
     boxed<&kernels::nll_loss_forward>},
    {"aten::nll_loss_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, "
     "SymInt ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> (Tensor(a!), "
     "Tensor(b!))",
     out_variant<&kernels::nll_loss_forward>},
    {"aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
     "ignore_index) -> (Tensor output, Tensor total_weight)",
     boxed<&kernels::nll_loss_forward>},
    {"aten::nll_loss2d_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, "
     "SymInt ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> (Tensor(a!), "
     "Tensor(b!))",
     out_variant<&kernels::nll_loss_forward>},
    {"aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
     "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
     boxed<&kernels::ctc_loss>},
    {"aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
     "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
     boxed<&kernels::ctc_loss_tensor>},
    {"aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
     "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
     boxed<&kernels::ctc_loss_forward>},
    {"aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
     "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
     boxed<&kernels::ctc_loss_forward_tensor>},
    {"aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     boxed<&kernels::mse_loss>},
    {"aten::mse_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::mse_loss>},
    {"aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     boxed<&kernels::l1_loss>},
    {"aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
     boxed<&kernels::smooth_l1_loss>},
    {"aten::smooth_l1_loss.out(Tensor self, Tensor target, int reduction=1, float beta=1., *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::smooth_l1_loss>},
    {"aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
     boxed<&kernels::huber_loss>},
    {"aten::huber_loss.out(Tensor self, Tensor target, int reduction=1, float delta=1., *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::huber_loss>},
    {"aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) "
     "-> Tensor",
     boxed<&kernels::binary_cross_entropy>},
    {"aten::binary_cross_entropy.out(Tensor self, Tensor target, Tensor? weight=None, int "
     "reduction=1, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::binary_cross_entropy>},
    {"aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
     "Tensor? pos_weight=None, int reduction=1) -> Tensor",
     boxed<&kernels::binary_cross_entropy_with_logits>},
    {"aten::binary_cross_entropy_with_logits.out(Tensor self, Tensor target, Tensor? weight=None, "
     "Tensor? pos_weight=None, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::binary_cross_entropy_with_logits>},
    {"aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> "
     "Tensor",
     boxed<&kernels::kl_div>},
    {"aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     boxed<&kernels::soft_margin_loss>},
    {"aten::soft_margin_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&kernels::soft_margin_loss>},
    {"aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
     "int reduction) -> Tensor",
     boxed<&kernels::poisson_nll_loss>},
    {"aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> "
     "Tensor",
     boxed<&kernels::hinge_embedding_loss>},
    {"aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
     "reduction=1) -> Tensor",
     boxed<&kernels::margin_ranking_loss>},
    {"aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., "
     "int reduction=1) -> Tensor",
     boxed<&kernels::cosine_embedding_loss>},
    {"aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., "
     "float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
     boxed<&kernels::triplet_margin_loss>},
    {"aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
     "weight=None, int reduction=1) -> Tensor",
     boxed<&kernels::multi_margin_loss>},
    {"aten::multi_margin_loss.out(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
     "weight=None, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::multi_margin_loss>},
    {"aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     boxed<&kernels::multilabel_margin_loss>},
    {"aten::multilabel_margin_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&kernels::multilabel_margin_loss>},
    {"aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor "
     "output, Tensor is_target)",
     boxed<&kernels::multilabel_margin_loss_forward>},
    {"aten::multilabel_margin_loss_forward.output(Tensor self, Tensor target, int reduction, *, "
     "Tensor(a!) output, Tensor(b!) is_target) -> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::multilabel_margin_loss_forward>},
    {"aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
     boxed<&kernels::cosine_similarity>},
    {"aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, "
     "bool keepdim=False) -> Tensor",
     boxed<&kernels::pairwise_distance>},
    {"aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
     boxed<&kernels::cdist>},
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
     boxed<&kernels::cdist>},
    {"aten::_cdist_forward.out(Tensor x1, Tensor x2, float p, int? compute_mode, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&kernels::cdist>},
    {"aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", boxed<&kernels::euclidean_dist>},
    {"aten::_euclidean_dist.out(Tensor x1, Tensor x2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::euclidean_dist>},
    {"aten::pdist(Tensor self, float p=2.) -> Tensor", boxed<&kernels::pdist>},
    {"aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", boxed<&kernels::pdist>},
    {"aten::_pdist_forward.out(Tensor self, float p=2., *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::pdist>},
});

}  // namespace

std::span<const OpRow> loss_rows() { return kRows; }

}  // namespace tierup::ops
