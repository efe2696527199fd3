// Patches of a padded, strided, dilated window as columns, and back by summing.
#pragma once

#include "tierup/kernels/convolution/convolution_geometry.h"

namespace tierup::kernels {

// One image [channels, in...] to [channels * kernel points, out points]; outside of it is zero.
// `in`, `out`, `kernel`, `stride`, `padding`, `dilation` of the geometry are used.
void image_to_columns(const ConvGeometry& g, ScalarType dtype, const void* image, int64_t channels,
                      void* columns);
// The reverse: adds columns into an image that the caller has set to zero. Not for bool.
void columns_to_image(const ConvGeometry& g, ScalarType dtype, const void* columns,
                      int64_t channels, void* image);

// aten::im2col: [N, C, H, W] or [C, H, W] to [N, C * k, L]. aten::col2im: the sum back to
// output_size.
Tensor im2col(const Tensor& self, const IntVector& kernel_size, const IntVector& dilation,
              const IntVector& padding, const IntVector& stride);
Tensor col2im(const Tensor& self, const IntVector& output_size, const IntVector& kernel_size,
              const IntVector& dilation, const IntVector& padding, const IntVector& stride);

}  // namespace tierup::kernels
