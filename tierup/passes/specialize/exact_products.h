// Whether products give the same bits another way. The order of their sums depends on sizes and
// layouts alone, so it is found out on numbers of no pattern, by running both.
#pragma once

#include <cstdint>

#include "tierup/ir/graph.h"

namespace tierup::passes {

// `product`: of Role::kLinear or kMatmul, with float operands whose types tell their sizes;
// otherwise both answer false.

// Whether one product of the rows of `count` operands like its own gives what each gives alone.
bool joins_exactly(const ir::Node& product, int64_t count);
// Whether a linear operator's weight may lie by columns.
bool lays_out_exactly(const ir::Node& product);

}  // namespace tierup::passes
