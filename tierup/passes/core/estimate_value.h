// What a value probably was when the graph was profiled.
#pragma once

#include <optional>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// Of each value a tensor of the profiled dtype and sizes, with undefined elements; or a number or
// list that follows from such sizes. Nullopt where the profile does not say all. A guess, never a
// proof.
std::optional<std::vector<IValue>> estimate_values(PassContext& context,
                                                   std::span<ir::Value* const> values);
// How each value, a float tensor, lay when it was profiled. Nullopt where the profile does not say
// all, or one left gaps in its memory.
std::optional<std::vector<IntVector>> estimate_strides(PassContext& context,
                                                       std::span<ir::Value* const> values);

}  // namespace tierup::passes
