// What a node may be to a compiled net: see neural_regions.h.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "tierup/ir/graph.h"
#include "tierup/ir/value_hints.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/core/pass.h"
#include "tierup/passes/fuse/gate_work.h"

namespace tierup::passes {

kernels::net::OpKind kind_of(const ir::Node& node);
// What a point-wise node means in float32; none if it is none, or has no such meaning.
std::optional<kernels::net::Pointwise> pointwise_of(const ir::Node& node);
// The kind of a node of kind `kind`, where its arguments are numbers, as tensors without
// dimensions.
kernels::net::OpKind kind_over_numbers(const ir::Node& node, kernels::net::OpKind kind);

// Whether this argument of such an operator may be a tensor of bools.
bool takes_mask(kernels::net::OpKind kind, size_t argument);

bool is_in_place(const ir::Node& node);
// A result that shares its first argument's memory without writing it.
bool is_view(const ir::Node& node);
// The unpacking of a list that nothing else reads; null if there is none.
ir::Node* sole_unpacking(const ir::Node& node);

// What was seen of a value, or what its type says.
TensorFacts seen_facts(const ir::Value* value, const ir::ValueHints& hints);

struct RegionMember {
  ir::Node* node;
  kernels::net::OpKind kind;
  ir::Node* unpacking = nullptr;  // Of a list result.
  bool stays = false;             // Is needed outside, too.
  bool follows = false;           // Stays behind the region, since it needs its results.
};
// What it gives: the parts of a list that is taken apart.
inline std::span<ir::Value* const> outputs_of(const RegionMember& member) {
  return member.unpacking != nullptr ? member.unpacking->outputs() : member.node->outputs();
}
// Whether it multiplies matrices or convolves, of constants or not.
bool makes_product(kernels::net::OpKind kind);
// Members that stand between others (ops::stands_between) and that no product or convolution of the
// region needs.
std::vector<const ir::Node*> leading_nowhere(const std::vector<RegionMember>& members);
bool depends_on(const ir::Node& node, const std::unordered_set<const ir::Value*>& values);
// Which of those that stay follow; gives what is there behind the region alone.
std::unordered_set<const ir::Value*> mark_followers(std::vector<RegionMember>& members);

// Whether a net gains something. Small products of what comes at run time, and stencils over a few
// planes, leave the rest to a fusion group, but for softmaxes of short rows.
bool is_worth_it(const std::vector<RegionMember>& members, const ir::ValueHints& hints);

// Whether a net of this member alone gains something: what has a weight to pack, unless it is a
// product of many rows.
bool gains_alone(const RegionMember& member, const ir::ValueHints& hints);

// Whether a region is left to fusion groups, which do it in less time than a net (fuse_products.h):
// its products are small, and everything else is what groups take, or is done with gates that it
// makes.
bool is_left_to_a_group(const std::vector<RegionMember>& members, const GateWork& gates,
                        const PassContext& context);

}  // namespace tierup::passes
