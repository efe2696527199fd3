// Gradients of resampling and of padding: transposes of what the forward operators apply.
#pragma once

#include "tierup/kernels/vision/upsample.h"

namespace tierup::kernels {

// aten::upsample_*_backward: `grad` [N, C, output_size] to [N, C, *] of `input_size`, by the taps
// of resample(); sums in the work type, one dimension after the other. Throws kInvalidArgument for
// sizes that do not fit.
Tensor resample_backward(const Tensor& grad, const IntVector& output_size,
                         const IntVector& input_size, const Scales& scales,
                         const ResampleOptions& options);

enum class PadBorder : uint8_t { kReflect, kReplicate };
// aten::reflection_pad{1,2,3}d_backward, replication_pad{1,2,3}d_backward: each element of the
// border is added to the one it was taken from. `pad` as of the forward operator.
Tensor border_pad_backward(const Tensor& grad, const Tensor& self, const IntVector& pad,
                           PadBorder border);

}  // namespace tierup::kernels
