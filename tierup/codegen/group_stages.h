// Stages: which kernels a group with row members falls into.
//
// A member's level is the number of row members in a row that it depends on. The kernels of a level
// make what row members of the next level, or the outside, read; all else is computed anew where
// it is needed, which costs less than going through memory. What has one element for each row is
// made by a kernel of its own, which goes from row to row.
#pragma once

#include <vector>

#include "tierup/ops/regions/fusion_group.h"

namespace tierup::codegen {

// How kernels over all elements of rows read a value that is one element for each row.
enum class Columns : uint8_t { kUniform, kSpread };

// By input: `uniform`, whether it is the same for all elements of a row, and `single`, whether it
// is one element for certain. The stages have no functions yet.
std::vector<ops::CompiledKernel> stages_of(const ops::GroupProgram& program,
                                           const std::vector<bool>& uniform,
                                           const std::vector<bool>& single, Columns columns);

}  // namespace tierup::codegen
