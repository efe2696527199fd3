// Gradients of grid_sampler (grid_sample.h).
#pragma once

#include <tuple>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::grid_sampler_2d_backward, grid_sampler_3d_backward: for the input and for the grid, either
// undefined if `output_mask` does not ask for it. Border padding stops the grid's gradient outside,
// reflection turns its sign. f16 and bf16 sum in f32. Throws kInvalidArgument as the forward does.
std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& grad, const Tensor& input,
                                                 const Tensor& grid, int64_t interpolation_mode,
                                                 int64_t padding_mode, bool align_corners,
                                                 const std::vector<bool>& output_mask);

}  // namespace tierup::kernels
