// None where an operator's schema asks for a tensor.
//
// Static types do not rule it out: unchecked casts say what they like, operators with optional
// results give undefined tensors, and the JSON of an exported program has none. Kernels take None
// for an undefined tensor and would look into it, so whoever calls one asks here first.
#pragma once

#include <optional>
#include <span>

#include "tierup/ir/schema.h"

namespace tierup::ops {

// Whether the schema wants a tensor, or a list of them, that cannot be None.
bool wants_tensor(const ir::Argument& argument);
// The index of the first argument that is None, or a list with a None, where it may not.
std::optional<size_t> find_missing_tensor(const ir::Schema& schema, std::span<const IValue> args);

}  // namespace tierup::ops
