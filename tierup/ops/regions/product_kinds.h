// What matrix products multiply, for fusion groups: see ProductKind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tierup/ops/regions/refusal.h"
#include "tierup/ops/table/facts.h"

namespace tierup::ops {

// Which arguments are multiplied, and which is added.
struct ProductArguments {
  size_t left = 0;
  size_t right = 1;
  std::optional<size_t> added;
};
ProductArguments product_arguments(ProductKind kind);

// The factors as [..., rows, depth] and [..., depth, columns], which the result has dimensions of.
struct Factors {
  Tensor left;
  Tensor right;
  IntVector sizes;  // Of the result; its last dimension is that of the columns.
  int64_t depth = 0;
  int64_t work = 0;          // Multiplications.
  bool are_swapped = false;  // The left one is made of the call's right argument.
};

// Also of tensors without data. None if the sizes do not fit, or the call is one that no kernel
// over matrices does; throws Error for some that do not fit.
std::optional<Factors> factors_of(ProductKind kind, const Tensor& a, const Tensor& b);

// Why a product of arguments of these dtypes (none: no tensor) is none for kernels; kNone if it is.
GroupRefusal product_refusal(ProductKind kind, std::span<const std::optional<ScalarType>> dtypes);

// Multiplications up to which tier 0 has kernels of its own, which sum in the order of the depth.
inline constexpr int64_t kMaxFusedProduct = int64_t{1} << 16;
// The same of a single sum, in which each term would wait for the one before.
inline constexpr int64_t kMaxFusedDot = 512;
// Whether it is of more.
bool is_large_product(const Factors& factors);
// Why such a product is in no group.
RefusedGroup large_product(const Factors& factors);

}  // namespace tierup::ops
