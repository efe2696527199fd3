// torchvision::deform_conv2d.
#pragma once

#include <cstdint>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// The numbers of a deformable convolution, in the order of the operator's arguments.
struct DeformableOptions {
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_h = 0, pad_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;
  int64_t offset_groups = 1;
  bool use_mask = false;
};

// Input [N, C, H, W], weight [O, C / groups, kh, kw], offset [N, 2 * offset_groups * kh * kw, Ho,
// Wo] (y before x), mask [N, offset_groups * kh * kw, Ho, Wo], bias [O]: each kernel point samples
// the input, bilinearly, at its place plus its offset, times its mask.
Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                     const Tensor& mask, const Tensor& bias, const DeformableOptions& options);

}  // namespace tierup::kernels
