// The range that tensors keep to, as a moving average, and the quantisation that covers it.
#pragma once

#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// What an observing quantisation keeps between calls; all are written.
struct ObservedRange {
  Tensor smallest, largest;  // float32: of all elements, or of each entry of dimension 0.
  Tensor scale, zero_point;
};

// How it is called, as aten::fused_moving_avg_obs_fake_quant has it.
struct ObserverSettings {
  bool observes;
  bool quantizes;
  double averaging;  // The part of a new range in the average.
  int64_t quant_min;
  int64_t quant_max;
  int64_t axis;
  bool per_row;
  bool symmetric;
};

// self as quantisation leaves it, and the places within its bounds. Observing moves the range;
// quantising writes the scale and the zero point that follow from it. Throws kUnsupported for
// observed dtypes but float32, and where ranges of rows have no place yet; kInvalidArgument for
// bounds without a step between them.
std::tuple<Tensor, Tensor> observe_and_quantize(const Tensor& self, const ObservedRange& range,
                                                const ObserverSettings& settings);

}  // namespace tierup::kernels
