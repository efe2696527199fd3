// f32 convolutions by oneDNN.
#pragma once

#include "tierup/kernels/convolution/convolution_geometry.h"

namespace tierup::kernels {

// Input, weight and output are dense: row-major, or channels-last throughout (`channels_last`).
// `bias` may be null. oneDNN chooses its own blocked layouts for row-major tensors; they are
// reordered on the way in and out where that pays. False, with nothing done, where oneDNN has no
// code of its own for the geometry and would go through its general product.
bool convolve_onednn(const ConvGeometry& g, bool channels_last, const float* input,
                     const float* weight, const float* bias, float* output);
// The weight's gradient of a plain convolution: the correlation of its input with the gradient of
// its output. All row-major; the geometry's `transposed` is false.
void correlate_onednn(const ConvGeometry& g, const float* input, const float* grad, float* weight);

}  // namespace tierup::kernels
