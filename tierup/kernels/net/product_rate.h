// How fast this thread multiplies where memory does not hold it up.
#pragma once

namespace tierup::kernels::net {

// Multiplications (each with its addition) of f32 a millisecond in a product of panels whose
// operands stay in the second-level cache: the best of some runs, which take some tens of
// microseconds together. Differs from moment to moment, with the processor's clock.
double cached_product_rate();

}  // namespace tierup::kernels::net
