// ShapeContext: what a shape function is given, and where it leaves what it finds.
//
// A shape function says which sizes an operator's results have, from the sizes and numbers among
// its arguments. Sizes are numbers, or symbols: names of sizes of this run, so that two places with
// one symbol have equal sizes. A function claims what holds in every run in which the operator
// does not raise; what it cannot say gets a symbol of its own, and where not even the rank is sure,
// the result stays empty.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tierup/ops/table/op.h"

namespace tierup::ops {

using Sizes = std::vector<Dim>;

// What is known of a value.
struct ShapeValue {
  bool is_tensor = false;
  std::optional<Sizes> sizes;  // Of a tensor.
  std::optional<Dim> number;   // Of an int: a constant, or a size; of a tensor that stands for one.
  // Of a list of ints; unknown where an item is neither a constant nor a size.
  std::optional<Sizes> numbers;
  std::optional<std::vector<std::optional<Sizes>>> parts;  // Of a list of tensors.
  const IValue* constant = nullptr;
};

struct ShapeContext {
  const ir::Schema& schema;
  std::span<const ShapeValue> args;  // One for each argument of the schema.
  std::span<ShapeValue> results;     // One for each return.
  int64_t& symbols;                  // That are in use: names 0 to symbols - 1.
  size_t wanted_parts = 0;           // Of a list of tensors, if it is taken apart into so many.

  Dim fresh() const { return {Dim::Kind::kSymbol, symbols++}; }
  // Null if the schema has no such argument.
  const ShapeValue* named(std::string_view name) const;
  // Of an argument that is a constant int, or a constant bool; `otherwise` if there is none of
  // that name.
  std::optional<int64_t> int_named(std::string_view name) const;
  std::optional<bool> bool_named(std::string_view name, bool otherwise) const;
};

inline Dim static_dim(int64_t size) { return {Dim::Kind::kStatic, size}; }
inline bool is_static(const Dim& dim) { return dim.kind == Dim::Kind::kStatic; }
// Constant ints: a list's, or a single one, as lists of fixed length may be given.
std::optional<std::vector<int64_t>> constant_ints(const ShapeValue& value);
// Counted from the end if negative; nothing if it is out of range.
std::optional<size_t> place_of_dim(int64_t dim, size_t rank);
// Of sizes that are multiplied: a number, or the one symbol among ones; else fresh.
Dim product_of(const ShapeContext& context, std::span<const Dim> sizes);
// What must be multiplied with `others` to give the product of `sizes`.
Dim quotient_of(const ShapeContext& context, std::span<const Dim> sizes,
                std::span<const Dim> others);
// Of point-wise work on both.
Sizes broadcast_sizes(const ShapeContext& context, const Sizes& a, const Sizes& b);

// All that is known of a constant: a tensor, a number, a list of ints or of tensors.
ShapeValue shape_of_constant(const IValue& value);

// The row's shape function; that of point-wise work for rows that say what they do to an element.
// Null if there is none.
ShapeFn shape_function(const Op& op);
// Whether an operator may give one of its arguments other sizes: it writes an `out` argument, or
// the geometry of a tensor itself.
bool changes_geometry(const ir::Operator& op);

}  // namespace tierup::ops
