// Convolutions of f32 volumes, as convolutions of planes: of one depth of the result, each plane
// that a window reaches is a channel of its own, in the order of the weight's memory.
#pragma once

#include "tierup/kernels/convolution/convolution_geometry.h"

namespace tierup::kernels {

// Whether convolve_volumes takes this geometry: three dimensions, not transposed.
bool can_convolve_volumes(const ConvGeometry& g);

// As convolve_planes: row-major, `bias` may be null, the output is only written. Throws
// kOutOfMemory.
void convolve_volumes(const ConvGeometry& g, const float* input, const float* weight,
                      const float* bias, float* output);

}  // namespace tierup::kernels
