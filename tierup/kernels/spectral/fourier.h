// Discrete Fourier transforms, the primitives: over chosen dimensions, complex or real.
//
// The work is done in double whatever the dtype (fourier_line.h), so that f32 results carry one
// rounding for each dimension. f32, f64, c64 and c128 only.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// What the result is divided by: nothing, the root of the number of points, or that number.
enum class FftScale : int64_t { kNone = 0, kRoot = 1, kCount = 2 };

// What `dims` are of a tensor of that rank, counted from its front. Throws kOutOfRange for what is
// no dimension of it, kInvalidArgument for one that is named twice and for more than 64 dimensions.
IntVector transformed_dims(const IntVector& dims, int64_t rank);

// aten::_fft_c2c: complex to complex over `dims`.
Tensor fft_c2c(const Tensor& self, const IntVector& dims, int64_t scale, bool forward);
// aten::_fft_r2c: real to complex; onesided keeps the first half of the last of `dims`.
Tensor fft_r2c(const Tensor& self, const IntVector& dims, int64_t scale, bool onesided);
// aten::_fft_c2r: the half-spectrum along the last of `dims` to real, with last_dim_size elements.
Tensor fft_c2r(const Tensor& self, const IntVector& dims, int64_t scale, int64_t last_dim_size);

}  // namespace tierup::kernels
