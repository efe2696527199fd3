// Branches of one input whose results are added, as one convolution: a window takes a smaller one
// into its own, and a factor for each channel as a window of one point.
#pragma once

#include <optional>

#include "tierup/kernels/net/layers.h"

namespace tierup::kernels::net {

// The convolution with the other branch in it, a convolution or kAffine; none where the windows do
// not lie in one another.
std::optional<Layer> joined_branches(const Layer& convolution, const Layer& branch);

}  // namespace tierup::kernels::net
