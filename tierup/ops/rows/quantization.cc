// Quantisation: what training for it computes, and integers that stand for numbers.
#include "tierup/kernels/pointwise/quantize.h"

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/range_observer.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

std::tuple<Tensor, Tensor> observed(const Tensor& self, const Tensor& observer_on,
                                    const Tensor& fake_quant_on, const Tensor& running_min,
                                    const Tensor& running_max, const Tensor& scale,
                                    const Tensor& zero_point, double averaging_const,
                                    int64_t quant_min, int64_t quant_max, int64_t ch_axis,
                                    bool per_row_fake_quant, bool symmetric_quant) {
  return k::observe_and_quantize(self, {running_min, running_max, scale, zero_point},
                                 {.observes = k::item(observer_on).to_double() != 0,
                                  .quantizes = k::item(fake_quant_on).to_double() != 0,
                                  .averaging = averaging_const,
                                  .quant_min = quant_min,
                                  .quant_max = quant_max,
                                  .axis = ch_axis,
                                  .per_row = per_row_fake_quant,
                                  .symmetric = symmetric_quant});
}
Tensor observed_alone(const Tensor& self, const Tensor& observer_on, const Tensor& fake_quant_on,
                      const Tensor& running_min, const Tensor& running_max, const Tensor& scale,
                      const Tensor& zero_point, double averaging_const, int64_t quant_min,
                      int64_t quant_max, int64_t ch_axis, bool per_row_fake_quant,
                      bool symmetric_quant) {
  if (self.numel() == 0) return k::clone(self);
  return std::get<0>(observed(self, observer_on, fake_quant_on, running_min, running_max, scale,
                              zero_point, averaging_const, quant_min, quant_max, ch_axis,
                              per_row_fake_quant, symmetric_quant));
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> observed_functional(
    const Tensor& self, const Tensor& observer_on, const Tensor& fake_quant_on,
    const Tensor& running_min, const Tensor& running_max, const Tensor& scale,
    const Tensor& zero_point, double averaging_const, int64_t quant_min, int64_t quant_max,
    int64_t ch_axis, bool per_row_fake_quant, bool symmetric_quant) {
  const Tensor smallest = k::clone(running_min);
  const Tensor largest = k::clone(running_max);
  const Tensor new_scale = k::clone(scale);
  const Tensor new_zero = k::clone(zero_point);
  auto [out, mask] =
      observed(self, observer_on, fake_quant_on, smallest, largest, new_scale, new_zero,
               averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant, symmetric_quant);
  return {out, mask, smallest, largest, new_scale, new_zero};
}

// Parameters as tensors of one element.
Tensor quantize_by_tensors(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                           int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  return k::quantize(input, k::item(scale).to_double(), k::item(zero_point).to_int(), quant_min,
                     quant_max, dtype);
}
Tensor quantize_by_tensors_alone(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                 const Tensor& quant_min, const Tensor& quant_max,
                                 ScalarType dtype) {
  return quantize_by_tensors(input, scale, zero_point, k::item(quant_min).to_int(),
                             k::item(quant_max).to_int(), dtype);
}
Tensor dequantize_by_tensors(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                             int64_t quant_min, int64_t quant_max, ScalarType dtype,
                             std::optional<ScalarType> out_dtype) {
  return k::dequantize(input, k::item(scale).to_double(), k::item(zero_point).to_int(), quant_min,
                       quant_max, dtype, out_dtype);
}
Tensor dequantize_by_tensors_alone(const Tensor& input, const Tensor& scale,
                                   const Tensor& zero_point, const Tensor& quant_min,
                                   const Tensor& quant_max, ScalarType dtype,
                                   std::optional<ScalarType> out_dtype) {
  return dequantize_by_tensors(input, scale, zero_point, k::item(quant_min).to_int(),
                               k::item(quant_max).to_int(), dtype, out_dtype);
}

constexpr OpRow kRows[] = {
    {"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int "
     "quant_min, int quant_max) -> Tensor",
     pointwise_row<&k::fake_quantize>},
    {"aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor "
     "zero_point, int quant_min, int quant_max) -> Tensor",
     boxed<&k::fake_quantize_by_tensors>, ir::kNoEffect, &shapes::same},
    {"aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, "
     "int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
     boxed<&k::fake_quantize_with_mask>, ir::kNoEffect, &shapes::all_same},
    {"aten::fake_quantize_per_tensor_affine_cachemask.out(Tensor self, float scale, int "
     "zero_point, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1) -> "
     "(Tensor(a!), Tensor(b!))",
     out_variant<&k::fake_quantize_with_mask>},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, "
     "Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor "
     "output, Tensor mask)",
     boxed<&k::fake_quantize_by_tensors_with_mask>, ir::kNoEffect, &shapes::all_same},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out(Tensor self, Tensor "
     "scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max, *, "
     "Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     out_variant<&k::fake_quantize_by_tensors_with_mask>},
    {"aten::fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor",
     pointwise_row<&k::fake_quantize_backward>},
    {"aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int "
     "axis, int quant_min, int quant_max) -> Tensor",
     boxed<&k::fake_quantize_channels>, ir::kNoEffect, &shapes::same},
    {"aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor "
     "zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
     boxed<&k::fake_quantize_channels_with_mask>, ir::kNoEffect, &shapes::all_same},
    {"aten::fake_quantize_per_channel_affine_cachemask.out(Tensor self, Tensor scale, Tensor "
     "zero_point, int axis, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1) -> "
     "(Tensor(a!), Tensor(b!))",
     out_variant<&k::fake_quantize_channels_with_mask>},
    {"aten::fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> "
     "Tensor",
     pointwise_row<&k::fake_quantize_backward>},
    {"aten::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, "
     "Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, "
     "float averaging_const, int quant_min, int quant_max, int ch_axis, bool "
     "per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
     boxed<&observed_alone>, ir::kNoEffect, &shapes::same},
    {"aten::_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, "
     "Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, "
     "float averaging_const, int quant_min, int quant_max, int ch_axis, bool "
     "per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)",
     boxed<&observed>, ir::kNoEffect, &shapes::all_same},
    {"aten::_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor "
     "fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, "
     "float averaging_const, int quant_min, int quant_max, int ch_axis, bool "
     "per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask, Tensor "
     "running_min_out, Tensor running_max_out, Tensor scale_out, Tensor zero_point_out)",
     boxed<&observed_functional>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int "
     "quant_min, int quant_max, ScalarType dtype) -> Tensor",
     boxed<&k::quantize>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
     "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     boxed<&quantize_by_tensors>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor "
     "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor",
     boxed<&quantize_by_tensors_alone>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, "
     "int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     boxed<&k::quantize_channels>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int "
     "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     boxed<&k::dequantize>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
     "zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) "
     "-> Tensor",
     boxed<&dequantize_by_tensors>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor "
     "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? "
     "out_dtype=None) -> Tensor",
     boxed<&dequantize_by_tensors_alone>, ir::kNoEffect, &shapes::same},
    {"quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? "
     "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
     "out_dtype=None) -> Tensor",
     boxed<&k::dequantize_channels>, ir::kNoEffect, &shapes::same},
};

}  // namespace

std::span<const OpRow> quantization_rows() { return kRows; }

}  // namespace tierup::ops
