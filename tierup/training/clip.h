// Clipping gradients, and their norm.
#pragma once

#include <span>

#include "tierup/tensor/tensor.h"

namespace tierup::training {

// The norm of the gradients' norms: 2, 1 or infinity, or another positive order. Undefined ones are
// left out; 0 for none. The order of the sums does not depend on the number of threads.
double total_norm(std::span<const Tensor> gradients, double norm_type = 2);

// What clipping to `max_norm` multiplies every gradient by: at most 1, rounded as a number of
// `dtype`. NaN for a total of NaN.
double clip_factor(double total, double max_norm, ScalarType dtype);

// Multiplies all gradients, in place, and returns the norm before. Throws kInvalidArgument, before
// anything changes, for a norm that is infinite or NaN if `error_if_nonfinite`, and for a negative
// `max_norm`.
double clip_norm(std::span<const Tensor> gradients, double max_norm, double norm_type = 2,
                 bool error_if_nonfinite = false);

// Clamps every element to [-limit, limit], in place. NaN stays.
void clip_value(std::span<const Tensor> gradients, double limit);

}  // namespace tierup::training
