// Resampling of images by separable filters: the upsample_* operators and their antialiased kin.
//
// Input [N, C, *] with one to three spatial dimensions; f32, f64, f16, bf16 (computed in f32) and
// u8 (rounded). A scale is the caller's factor for one dimension, if he gave one.
#pragma once

#include <optional>
#include <vector>

#include "tierup/kernels/vision/resample_taps.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

struct ResampleOptions {
  ResampleMode mode = ResampleMode::kNearest;
  std::optional<FilterKind> antialias;  // Instead of `mode`.
  bool align_corners = false;
};

using Scales = std::vector<std::optional<double>>;

// `output_size` and `scales` have one entry for each spatial dimension.
// Throws kInvalidArgument for a rank that does not fit and for empty sizes.
Tensor resample(const Tensor& input, const IntVector& output_size, const Scales& scales,
                const ResampleOptions& options);
// The `vec` overloads: sizes, or factors from which they follow (rounded down). Exactly one is
// given.
Tensor resample_by(const Tensor& input, const std::optional<IntVector>& output_size,
                   const std::optional<std::vector<double>>& factors, int64_t rank,
                   const ResampleOptions& options);

}  // namespace tierup::kernels
