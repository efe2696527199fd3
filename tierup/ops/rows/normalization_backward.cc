// Gradients of normalisations: the operators that their backward passes call.
#include "tierup/kernels/norm/norm_backward.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// aten::batch_norm_backward: a training forward if it says `update`; the reserve is for others.
k::NormGradients updated_batch_norm_backward(const Tensor& grad, const Tensor& input,
                                             const Tensor& weight, const Tensor& running_mean,
                                             const Tensor& running_var, const Tensor& save_mean,
                                             const Tensor& save_var, bool update, double eps,
                                             const std::vector<bool>& output_mask,
                                             const Tensor& /*reserve*/) {
  return k::batch_norm_backward(grad, input, weight, running_mean, running_var, save_mean, save_var,
                                update, eps, output_mask);
}

constexpr OpRow kRows[] = {
    {"aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, "
     "Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, "
     "Tensor, Tensor)",
     boxed<&k::layer_norm_backward>},
    {"aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, "
     "Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, "
     "Tensor, Tensor)",
     boxed<&k::group_norm_backward>},
    {"aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? "
     "running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float "
     "eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     boxed<&k::batch_norm_backward>},
    {"aten::batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? "
     "running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, bool update, float "
     "eps, bool[3] output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)",
     boxed<&updated_batch_norm_backward>},
};

}  // namespace

std::span<const OpRow> normalization_backward_rows() { return kRows; }

}  // namespace tierup::ops
