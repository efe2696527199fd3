// Products of few rows, that several passes bring together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// So many products with one matrix are worth a rewrite.
constexpr size_t kFewestProducts = 3;

// The rows of a product's result, by hints or its type, where they are few: a matrix is then moved
// about as often as it is multiplied.
std::optional<int64_t> few_rows_of(PassContext& context, const ir::Value* result);

}  // namespace tierup::passes
