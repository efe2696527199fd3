// Transposed convolutions of f32 whose windows lie side by side: each result comes from one point
// of the input. They are a product, whose rows are woven together.
#pragma once

#include "tierup/kernels/convolution/convolution_geometry.h"

namespace tierup::kernels {

// Whether windows are as large as the steps between them, without padding or dilation.
bool are_transposed_tiles(const ConvGeometry& g);

// input [batch, in, *], weight [in, out / groups, *] and output [batch, out, *] are row-major, bias
// [out] may be null. The output is only written. Throws kOutOfMemory.
void convolve_transposed_tiles(const ConvGeometry& g, const float* input, const float* weight,
                               const float* bias, float* output);

}  // namespace tierup::kernels
