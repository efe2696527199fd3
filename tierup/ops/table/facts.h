// What passes, analyses and compiled regions know of operators beside what they do: the values of a
// row's facts (op.h). A row that leaves one away is nothing in that respect.
#pragma once

#include <cstdint>

#include "tierup/kernels/net/op_kind.h"
#include "tierup/ops/table/op.h"
#include "tierup/ops/table/role.h"

namespace tierup::ops {

using kernels::net::OpKind;

// Which sizes, dtypes and constants among a call's arguments rule out that it raises; see
// passes/core/may_raise.h. The comment gives the schema's arguments.
enum class Fits : uint8_t {
  kUnknown,      // None: it may raise for any tensor.
  kAnyTensor,    // It asks for nothing but what every tensor has.
  kSizeOfDim,    // (tensor, dim): a dimension that the tensor has.
  kDims,         // (tensor[, dims]): such dimensions, or none asked for.
  kTwoDims,      // (tensor, dim, dim)
  kNewDim,       // (tensor, dim): a place among its dimensions, or behind them.
  kPermutation,  // (tensor, dims): each dimension once.
  kMatrix,       // (tensor): of two dimensions at most.
  kIndex,        // (tensor, dim, index): a dimension, and an entry of it.
  kStep,         // (tensor, dim, start, end, step): a dimension, and a positive step.
  kNumber,       // (number), as a tensor or back: a tensor that was made of a number.
  kLinear,       // (input, weight, bias): floats that can be multiplied, a bias that can be added.
  kMatmul,       // (a, b): floats that can be multiplied, over batches that broadcast.
  kMatrixProduct,  // (a, b): the same of two matrices.
  kBatchProduct,   // (a, b): the same of two batches of as many matrices.
};

// How a call's arithmetic follows from the sizes; see arithmetic_of (work.h).
enum class Work : uint8_t {
  kNone,          // Beside the point.
  kProduct,       // Result elements times the last dimension of the first argument.
  kAddedProduct,  // The same by the second argument; the first is added.
  kConvolution,   // Result elements times the weight's elements per output channel.
  kAttention,     // Two products over query, key and value.
};

// Which matrix product a call is to fusion groups; see regions/product_kinds.h.
enum class ProductKind : uint8_t {
  kNone,
  kMatrices,  // (a, b): both 2-d, or both batches of as many matrices.
  kVector,    // (a, b): a matrix and a vector.
  kDot,       // (a, b): two vectors.
  kAny,       // (a, b): vectors, matrices and batches, as aten::matmul has them.
  kLinear,    // (input, weight, bias): the weight transposed; the bias may be None.
  kAdded,     // (self, a, b, beta, alpha): as kMatrices, then beta self + alpha times that.
};

// How a call puts tensors one after another, to fusion groups.
enum class JoinKind : uint8_t {
  kNone,
  kCat,    // (tensors, dim): in a dimension that they have.
  kStack,  // (tensors, dim): in a new one.
};

// How a call reads entries of a table at places that a tensor names; see regions/look_ups.h.
enum class LookUpKind : uint8_t {
  kNone,
  kEmbedding,    // (table, index, ...): rows of a matrix.
  kIndexSelect,  // (table, dim, index): by a vector.
  kGather,       // (table, dim, index, ...): in all other dimensions the index goes along.
  kIndex,        // (table, indices): one of the list is a tensor, in its place; negative ones wrap.
};

// Which fold of all elements over dimensions a call is, to fusion groups.
enum class FoldKind : uint8_t {
  kNone,
  kSum,
  kMean,
  kLargest,
  kSmallest,
  // Made of several: from here on, what a group folds but no kernel does.
  kSoftmax,
  kLogSoftmax,
  kLength,  // Where the power is two.
  kVariance,
  kDeviation,
};
inline bool is_one_fold(FoldKind kind) {
  return kind != FoldKind::kNone && kind < FoldKind::kSoftmax;
}

// Of a call that gives the tensor that it writes other sizes or strides.
enum class Geometry : uint8_t { kKept, kChanged };

namespace detail {

constexpr void set_fact(RowFacts& facts, Role role) { facts.role = role; }
constexpr void set_fact(RowFacts& facts, Fits fits) { facts.fits = fits; }
constexpr void set_fact(RowFacts& facts, Work work) { facts.work = work; }
constexpr void set_fact(RowFacts& facts, OpKind kind) { facts.net = kind; }
constexpr void set_fact(RowFacts& facts, ProductKind kind) { facts.product = kind; }
constexpr void set_fact(RowFacts& facts, JoinKind kind) { facts.join = kind; }
constexpr void set_fact(RowFacts& facts, LookUpKind kind) { facts.look_up = kind; }
constexpr void set_fact(RowFacts& facts, FoldKind kind) { facts.fold = kind; }
constexpr void set_fact(RowFacts& facts, Geometry geometry) {
  facts.changes_geometry = geometry == Geometry::kChanged;
}

}  // namespace detail

// As rows write them, in any order: facts(Role::kView, OpKind::kView).
template <typename... Facts>
constexpr RowFacts facts(Facts... values) {
  RowFacts made;
  (detail::set_fact(made, values), ...);
  return made;
}

}  // namespace tierup::ops
