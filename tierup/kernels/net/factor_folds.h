// FactorFolds: how factors and summands behind a layer go into the layer.
#pragma once

#include <vector>

#include "tierup/kernels/net/layers.h"

namespace tierup::kernels::net {

// One factor and one summand in place of two of each, where that is no more than one of each:
// x * 2 / 3 as x * (2 / 3) is finite where x * 2 is not, and x + 1e9 - 1e9 is no longer rounded.
// Nor may a summand bring a product back that overflowed, which instructions round with the sum.
bool join_linear(Activation& first, const Activation& second);

// Each channel's factor and summand with those of the layer behind it; none where tier 0's
// numbers would overflow, or get lost, elsewhere. A part of several places has its channels so
// many times.
std::vector<Activation> joined_factors(const Layer& p, const Layer& affine);

// Whether no weight is lost by its channel's factor.
bool keeps_weights_normal(const Layer& layer, const std::vector<float>& factors);

}  // namespace tierup::kernels::net
