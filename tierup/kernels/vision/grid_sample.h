// Sampling of images at the points of a grid, and grids of affine maps.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::grid_sampler, grid_sampler_2d, grid_sampler_3d: input [N, C, H, W] and grid [N, Ho, Wo, 2],
// or input [N, C, D, H, W] and grid [N, Do, Ho, Wo, 3]; points in [-1, 1], x first. Interpolation:
// 0 linear, 1 nearest, 2 cubic (images only); padding: 0 zeros, 1 border, 2 reflection.
Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners);

// aten::affine_grid_generator: theta [N, 2, 3] or [N, 3, 4] for an output of `size` [N, C, *].
Tensor affine_grid(const Tensor& theta, const IntVector& size, bool align_corners);

}  // namespace tierup::kernels
