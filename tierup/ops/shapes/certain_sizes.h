// Whether the sizes of a call's results follow from the sizes and constants of its arguments.
#pragma once

#include "tierup/ops/table/op.h"

namespace tierup::ops {

// False also where the row's shape function does not say, or there is none. `args` as they were
// given.
bool has_certain_sizes(const Op& op, std::span<const IValue> args, std::span<const IValue> results);

}  // namespace tierup::ops
