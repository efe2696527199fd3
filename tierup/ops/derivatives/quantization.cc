// Quantisation in training: gradients pass where numbers lie within the bounds, as if unrounded.
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

void masked(GradContext& c) {
  c.give(0, [&] { return grad(c) * result(c, 1); });
}
void masked_by_tensors(GradContext& c) {
  masked(c);
  c.give_nothing_known(1);
  c.give_nothing_known(2);
}
void masked_backward(GradContext& c) {
  c.give(0, [&] { return grad(c) * arg(c, 1); });
}

void by_numbers(GradContext& c) {
  c.set_result(0, c.ops(2, "aten::fake_quantize_per_tensor_affine_cachemask", c.arg(0),
                        c.float_of(1), c.int_of(2), c.int_of(3), c.int_of(4))[0]);
}
void by_tensors(GradContext& c) {
  const GradValue enabled = c.op("aten::ones_like", c.arg(2));
  c.set_result(0, c.ops(2, "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
                        c.arg(0), c.arg(1), c.arg(2), enabled, c.int_of(3), c.int_of(4))[0]);
}
void by_channels(GradContext& c) {
  c.set_result(0, c.ops(2, "aten::fake_quantize_per_channel_affine_cachemask", c.arg(0), c.arg(1),
                        c.arg(2), c.int_of(3), c.int_of(4), c.int_of(5))[0]);
}
void observed(GradContext& c) {
  if (c.numel(0) == 0) return c.set_result(0, c.op("aten::clone", c.arg(0)));
  c.set_result(0, c.ops(2, "aten::_fused_moving_avg_obs_fq_helper", c.arg(0), c.arg(1), c.arg(2),
                        c.arg(3), c.arg(4), c.arg(5), c.arg(6), c.float_of(7), c.int_of(8),
                        c.int_of(9), c.int_of(10), c.bool_of(11), c.bool_of(12))[0]);
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;
constexpr auto kNone = DerivativeKind::kNone;
constexpr uint32_t kMask = 0b10;
constexpr uint32_t kAllButFirst = 0b111110;

constexpr DerivativeRow kRows[] = {
    {"aten::fake_quantize_per_tensor_affine", kDecomposed, &by_numbers},
    {"aten::fake_quantize_per_tensor_affine.tensor_qparams", kDecomposed, &by_tensors},
    {"aten::fake_quantize_per_channel_affine", kDecomposed, &by_channels},
    {"aten::fused_moving_avg_obs_fake_quant", kDecomposed, &observed},
    {"aten::fake_quantize_per_tensor_affine_cachemask", &masked, kMask},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", &masked_by_tensors, kMask},
    {"aten::fake_quantize_per_channel_affine_cachemask", &masked_by_tensors, kMask},
    {"aten::_fused_moving_avg_obs_fq_helper", &masked, kMask},
    {"aten::_fused_moving_avg_obs_fq_helper_functional", &masked, kAllButFirst},
    {"aten::fake_quantize_per_tensor_affine_cachemask_backward", &masked_backward},
    {"aten::fake_quantize_per_channel_affine_cachemask_backward", &masked_backward},
    {"quantized_decomposed::quantize_per_tensor", kNone},
    {"quantized_decomposed::quantize_per_tensor.tensor", kNone},
    {"quantized_decomposed::quantize_per_tensor.tensor2", kNone},
    {"quantized_decomposed::quantize_per_channel", kNone},
};

}  // namespace

std::span<const DerivativeRow> quantization_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
