// What a call of an operator costs in arithmetic and in memory: for measuring, never for deciding.
#pragma once

#include <span>

#include "tierup/ir/operator.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::ops {

// Floating-point operations of products and convolutions, a multiplication and an addition counting
// as two; 0 for operators whose arithmetic is beside the point. `sizes` of each tensor argument.
using ArgumentSizes = std::span<const std::vector<int64_t>>;
double arithmetic_of(const ir::Operator& op, ArgumentSizes arguments,
                     std::span<const IValue> results);

}  // namespace tierup::ops
