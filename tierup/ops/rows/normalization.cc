// Rows of softmax and of the normalisations.
#include <array>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/norm/batch_norm.h"
#include "tierup/kernels/norm/layer_norm.h"
#include "tierup/kernels/norm/softmax.h"
#include "tierup/kernels/norm/weight_norm.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

// Training without writing: the running statistics come back as results.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_functional(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, bool training, double momentum, double eps) {
  const Tensor mean = kernels::clone(running_mean);
  const Tensor variance = kernels::clone(running_var);
  auto [out, saved_mean, saved_rstd] =
      kernels::native_batch_norm(input, weight, bias, mean, variance, training, momentum, eps);
  return {out, saved_mean, saved_rstd, mean, variance};
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_with_update_functional(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  auto [out, saved_mean, saved_rstd, mean, variance] =
      batch_norm_functional(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out,  saved_mean, saved_rstd, Tensor::empty(IntVector{0}, ScalarType::kByte),
          mean, variance};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_no_update(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  auto [out, saved_mean, saved_rstd] = kernels::native_batch_norm(
      input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {out, saved_mean, saved_rstd, Tensor::empty(IntVector{0}, ScalarType::kByte)};
}
std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t> batch_norm_by_index(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, bool training, double momentum, double eps, bool) {
  auto [out, saved_mean, saved_rstd] = kernels::native_batch_norm(
      input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {out, saved_mean, saved_rstd, Tensor::empty(IntVector{0}, ScalarType::kByte), 0};
}

void batch_norm(OpCall& call) {
  const TensorImpl* input = call.args[0].tensor_impl();
  const bool is_dying = input != nullptr && input->use_count() == 1;
  is_dying ? boxed<&kernels::batch_norm_of_dying>(call) : boxed<&kernels::batch_norm>(call);
}

// Running statistics are written in training, without a mark in the schema; analysis/effects.h
// tells where that is off.
constexpr uint8_t kWritesStatistics = ir::kSideEffect;

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", boxed<&kernels::weight_norm>},
    {"aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
     boxed<&kernels::weight_norm_interface>},
    {"aten::_weight_norm_interface.out(Tensor v, Tensor g, int dim=0, *, Tensor(a!) out0, "
     "Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::weight_norm_interface>},
    {"aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor "
     "saved_norms, int dim) -> (Tensor, Tensor)",
     boxed<&kernels::weight_norm_backward>},
    {"aten::_weight_norm_interface_backward.out(Tensor grad_w, Tensor saved_v, Tensor saved_g, "
     "Tensor saved_norms, int dim, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), "
     "Tensor(b!))",
     out_variant<&kernels::weight_norm_backward>},
    {"aten::_weight_norm_differentiable_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, "
     "Tensor saved_norms, int dim) -> (Tensor, Tensor)",
     boxed<&kernels::weight_norm_backward>},
    {"aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
     boxed<&kernels::norm_except_dim>},
    {"aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
     "running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, "
     "Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
     boxed<&batch_norm_functional>},
    {"aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
     "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor, Tensor running_mean_out, Tensor running_var_out)",
     boxed<&batch_norm_with_update_functional>},
    {"aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor)",
     boxed<&batch_norm_no_update>},
    {"aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool training, float momentum, float eps, bool "
     "cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)",
     boxed<&batch_norm_by_index>, kWritesStatistics},
    {"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     boxed<&kernels::softmax>, ir::kNoEffect, &shapes::same,
     facts(Role::kRowwise, OpKind::kSoftmax, FoldKind::kSoftmax)},
    {"aten::softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::softmax>},
    {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     boxed<&kernels::log_softmax>, ir::kNoEffect, &shapes::same,
     facts(Role::kRowwise, FoldKind::kLogSoftmax)},
    {"aten::log_softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&kernels::log_softmax>},
    {"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     boxed<&kernels::softmax_raw>, ir::kNoEffect, &shapes::same,
     facts(Role::kRowwise, OpKind::kSoftmax, FoldKind::kSoftmax)},
    {"aten::_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::softmax_raw>},
    {"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     boxed<&kernels::log_softmax_raw>, ir::kNoEffect, &shapes::same,
     facts(Role::kRowwise, FoldKind::kLogSoftmax)},
    {"aten::_log_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::log_softmax_raw>},
    other_name("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
               "aten::softmax.int"),
    other_name(
        "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        "aten::log_softmax.int"),
    {"aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     boxed<&kernels::safe_softmax>, ir::kNoEffect, nullptr, facts(Role::kRowwise)},
    {"aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
     "input_dtype) -> Tensor",
     boxed<&kernels::softmax_backward>},
    {"aten::_softmax_backward_data.out(Tensor grad_output, Tensor output, int dim, ScalarType "
     "input_dtype, *, Tensor(a!) grad_input) -> Tensor(a!)",
     out_variant<&kernels::softmax_backward>},
    {"aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
     "input_dtype) -> Tensor",
     boxed<&kernels::log_softmax_backward>},
    {"aten::_log_softmax_backward_data.out(Tensor grad_output, Tensor output, int dim, ScalarType "
     "input_dtype, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::log_softmax_backward>},
    {"aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
     "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     &batch_norm, kWritesStatistics, &shapes::same, facts(OpKind::kBatchNorm)},
    {"aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     boxed<&kernels::native_batch_norm>, kWritesStatistics},
    {"aten::native_batch_norm.out(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool training, float momentum, float eps, *, Tensor(a!) "
     "out, Tensor(b!) save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     out_variant<&kernels::native_batch_norm>, kWritesStatistics},
    {"aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
     "running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor)",
     boxed<&kernels::batch_norm_with_update>},
    {"aten::_batch_norm_with_update.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
     "running_mean, Tensor(b!) running_var, float momentum, float eps, *, Tensor(d!) out, "
     "Tensor(e!) save_mean, Tensor(f!) save_invstd, Tensor(g!) reserve) -> (Tensor(d!), "
     "Tensor(e!), Tensor(f!), Tensor(g!))",
     out_variant<&kernels::batch_norm_with_update>},
    {"aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
     "running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, "
     "Tensor, Tensor)",
     boxed<&kernels::native_batch_norm>},
    {"aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool "
     "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     boxed<&kernels::batch_norm_no_stats>},
    {"aten::_native_batch_norm_legit.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
     "running_mean, Tensor(b!) running_var, bool training, float momentum, float eps, *, "
     "Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd) -> (Tensor(d!), Tensor(e!), "
     "Tensor(f!))",
     out_variant<&kernels::native_batch_norm>},
    {"aten::_native_batch_norm_legit.no_stats_out(Tensor input, Tensor? weight, Tensor? bias, bool "
     "training, float momentum, float eps, *, Tensor(a!) out, Tensor(b!) save_mean, Tensor(c!) "
     "save_invstd) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     out_variant<&kernels::batch_norm_no_stats>},
    {"aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, "
     "Tensor)",
     boxed<&kernels::batch_norm_no_training>},
    {"aten::_native_batch_norm_legit_no_training.out(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor running_mean, Tensor running_var, float momentum, float eps, *, Tensor(a!) out0, "
     "Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     out_variant<&kernels::batch_norm_no_training>},
    {"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
     "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> "
     "Tensor",
     boxed<&kernels::instance_norm>, kWritesStatistics, &shapes::same,
     facts(OpKind::kInstanceNorm)},
    {"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
     "eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
     boxed<&kernels::group_norm>, ir::kNoEffect, &shapes::same, facts(OpKind::kGroupNorm)},
    {"aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
     "SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
     boxed<&kernels::native_group_norm>},
    {"aten::native_group_norm.out(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
     "SymInt HxW, int group, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> "
     "(Tensor(a!), Tensor(b!), Tensor(c!))",
     out_variant<&kernels::native_group_norm>},
    {"aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? "
     "bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
     boxed<&kernels::layer_norm>, ir::kNoEffect, &shapes::normalized,
     facts(Role::kRowwise, OpKind::kLayerNorm)},
    {"aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
     "bias, float eps) -> (Tensor, Tensor, Tensor)",
     boxed<&kernels::native_layer_norm>, ir::kNoEffect, nullptr, facts(Role::kRowwise)},
    {"aten::native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
     "bias, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), "
     "Tensor(b!), Tensor(c!))",
     out_variant<&kernels::native_layer_norm>},
    {"aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? "
     "eps=None) -> Tensor",
     boxed<&kernels::rms_norm>, ir::kNoEffect, &shapes::normalized,
     facts(Role::kRowwise, OpKind::kRmsNorm)},
    {"aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> "
     "(Tensor, Tensor)",
     boxed<&kernels::fused_rms_norm>},
    {"aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
     boxed<&kernels::renorm>, ir::kNoEffect, &shapes::same},
    {"aten::renorm.out(Tensor self, Scalar p, int dim, Scalar maxnorm, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::renorm>},
    {"aten::renorm_(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm) -> Tensor(a!)",
     inplace<&kernels::renorm>},
});

}  // namespace

std::span<const OpRow> normalization_rows() { return kRows; }

}  // namespace tierup::ops
