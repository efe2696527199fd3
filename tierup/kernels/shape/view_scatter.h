// View scatters: a copy of a tensor in which one view is replaced by other values.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::select_scatter and its kin: `src` must have exactly the sizes of the view it replaces and
// is converted to the dtype of `self`. Throw kInvalidArgument and kOutOfRange as the views do.
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2);
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, const IntVector& sizes,
                          const IntVector& strides, std::optional<int64_t> offset);

// aten::pixel_shuffle: [*, C r^2, H, W] to [*, C, H r, W r]. aten::pixel_unshuffle: the reverse.
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor);
// aten::channel_shuffle: [N, g k, *] with channel order (g, k) turned into (k, g).
Tensor channel_shuffle(const Tensor& self, int64_t groups);

}  // namespace tierup::kernels
