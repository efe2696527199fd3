// What a value probably was when the graph was profiled.
#pragma once

#include <optional>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// A tensor of the profiled dtype and sizes, with undefined elements; or a number or list that
// follows from such sizes. Nullopt where the profile does not say. A guess, never a proof.
std::optional<IValue> estimate_value(PassContext& context, const ir::Value* value);

}  // namespace tierup::passes
