// Small questions about values that several passes ask.
#pragma once

#include <optional>

#include "tierup/ir/graph.h"
#include "tierup/ir/graph_editor.h"
#include "tierup/ops/regions/input_form.h"
#include "tierup/ops/regions/pointwise_meaning.h"
#include "tierup/ops/table/op.h"
#include "tierup/ops/table/role.h"

namespace tierup::passes {

// By its type.
bool is_tensor(const ir::Value* value);
// The constant behind a value; null if it is none.
const IValue* constant_of(const ir::Value* value);
// A constant that is no tensor, or a list of int constants that is only read.
std::optional<IValue> known_argument(const ir::Value* value);
// Whether a constant can be shared and folded: no part of it can be written or has identity.
bool is_plain(const IValue& value);
using ops::same_constant;
// Whether all that ever happens to a list (or dict) is that operators read it: it is not written,
// kept, returned, viewed or passed on. Such a list may as well be a constant, if its elements are.
bool is_only_read(const ir::Value* container);
// The same for a list whose items may be taken out of it, too.
bool is_read_by_items(const ir::Value* list);
// Whether this use of a container only reads it.
bool is_only_read_by(const ir::Use& use);
// The type without what tensors in it know of their sizes and strides.
TypePtr without_sizes(const TypePtr& type);
// Gives the value such a type.
void drop_sizes(ir::GraphEditor& editor, ir::Value* value);
// Whether nobody uses any of a node's results. Passes leave such a node as it is: it is there for
// what else it does, be it that it may raise.
bool is_unused(const ir::Node& node);
// Whether `a` stands before `b`, in one block; a node stands before itself.
bool is_before(const ir::Node* a, const ir::Node* b);
// The node of `block` that holds a use; null for a return of the block itself.
const ir::Node* place_of(const ir::Use& use, const ir::Block* block);
// Sizes of which each is a number; nothing if one is not, or none are known.
std::optional<IntVector> static_sizes(const std::optional<std::vector<Dim>>& dims);
// By its type, or its value; nothing if neither tells.
std::optional<size_t> rank_of(const ir::Value* value);
// What a point-wise row is told of an argument: a tensor's dtype, a constant, or a number of the
// value's type, which is all that counts for the meaning. None of other values.
std::optional<ops::MeaningArgument> meaning_argument(const ir::Value* value,
                                                     std::optional<ScalarType> dtype);
// kNone for nodes that are no operators.
ops::Role role_of(const ir::Node& node);

}  // namespace tierup::passes
