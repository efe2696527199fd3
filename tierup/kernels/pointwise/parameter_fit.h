// Which numbers an operator's parameters may be: PyTorch converts them with Scalar::to, which
// raises for what the type does not reach, where operands of a promotion wrap around.
#pragma once

#include "tierup/kernels/pointwise/pointwise.h"

namespace tierup::kernels {

// Throws kInvalidArgument if a number among the operands is a parameter (a bound, a slope, a value
// to fill in) that the type it is converted to does not reach: `common`, or float32 where the
// operator keeps the parameters of f16 and bf16 in that.
void check_parameters(Body body, ScalarType common, Operands operands);
// Throws kInvalidArgument if the type does not reach the number.
void check_element(const Scalar& number, ScalarType type);

}  // namespace tierup::kernels
