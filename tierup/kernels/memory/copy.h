// Copies, dtype conversions and fills: the data movement under every other kernel.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// dst[...] = src, with src broadcast to dst and converted to its dtype (C casts; complex to real
// keeps the real part). Any strides; lazy conj and neg bits of both sides are honoured. The caller
// checks overlap and bumps the version. Throws kInvalidArgument if src does not broadcast to dst.
// Follows: copy_.
void copy_into(const Tensor& dst, const Tensor& src);

// The tensor itself if it has this layout already, else a copy in it (bits resolved).
Tensor contiguous(const Tensor& tensor, MemoryFormat format = MemoryFormat::kContiguous);

// A copy with memory of its own. kPreserve keeps the strides of a dense tensor and makes others
// contiguous in the order of their strides, as PyTorch does.
Tensor clone(const Tensor& tensor, MemoryFormat format = MemoryFormat::kPreserve);

// The tensor itself if it has this dtype, else a converted copy (strides preserved).
Tensor to_dtype(const Tensor& tensor, ScalarType dtype);

// Uninitialised, with sizes of `tensor` and strides by `format` (kPreserve: see clone).
Tensor empty_like(const Tensor& tensor, ScalarType dtype,
                  MemoryFormat format = MemoryFormat::kPreserve);

// Sets all elements to the number, converted as PyTorch's fill_ does. Does not bump the version.
// Throws kTypeError for a complex number into a real tensor.
void fill(const Tensor& tensor, const Scalar& value);

// A tensor without lazy bits and of the same value: itself, or a copy.
Tensor resolve_lazy_bits(const Tensor& tensor);

}  // namespace tierup::kernels
