// Rows of torchvision's operators.
#include <array>

#include "tierup/kernels/convolution/deformable_convolution.h"
#include "tierup/kernels/vision/regions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

Tensor deform(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
              const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
              int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups,
              bool use_mask) {
  return kernels::deform_conv2d(
      input, weight, offset, mask, bias,
      {stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask});
}

constexpr auto kRows = std::to_array<OpRow>({
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
     boxed<&kernels::nms>},
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
     "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
     boxed<&kernels::roi_align>},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
     "SymInt pooled_width) -> (Tensor, Tensor)",
     boxed<&kernels::roi_pool>},
    {"torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt "
     "pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
     boxed<&kernels::ps_roi_align>},
    {"torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt "
     "pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
     boxed<&kernels::ps_roi_pool>},
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor "
     "bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
     "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
     boxed<&deform>},
    {"torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
     boxed<&kernels::box_iou_rotated>},
});

}  // namespace

std::span<const OpRow> vision_rows() { return kRows; }

}  // namespace tierup::ops
