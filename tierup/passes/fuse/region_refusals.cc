// See region_refusals.h.
#include "tierup/passes/fuse/region_refusals.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using kernels::net::NetRefusal;
using kernels::net::OpKind;

namespace {

// By its type, and as it was seen.
bool may_be_float(const Value* value, const ir::ValueHints& hints) {
  const TensorFacts* hint = hints.find(value);
  const auto& known = value->type()->facts().dtype;
  if (known && *known != ScalarType::kFloat) return false;
  return hint == nullptr || !hint->dtype || *hint->dtype == ScalarType::kFloat;
}

// Whether it has no dimensions, by its type or as it was seen.
bool is_number(const Value* value, const ir::ValueHints& hints) {
  const TensorFacts* hint = hints.find(value);
  const auto& known = value->type()->facts().sizes;
  return (known && known->empty()) || (hint != nullptr && hint->sizes && hint->sizes->empty());
}

// 0: not known.
size_t seen_rank(const Value* value, const ir::ValueHints& hints) {
  const TensorFacts* hint = hints.find(value);
  return hint != nullptr && hint->sizes ? hint->sizes->size() : 0;
}

// Whether a list of parts is taken apart at once, and the parts are no gates of recurrent cells,
// which are parts of rows.
bool is_taken_apart(const Node& node, OpKind kind, const ir::ValueHints& hints) {
  const size_t rank = seen_rank(node.input(0), hints);
  const bool may_be_rows = rank < 3 && (rank > 0 || kind == OpKind::kChunk);
  const Node* unpacking = sole_unpacking(node);
  return !may_be_rows && unpacking != nullptr && !is_unused(*unpacking);
}

// Reductions of rows and of tables, which lie in order, are done by groups with what is around
// them, and in one pass. Images would have to be put in order first.
bool is_fold_of_rows(const Node& node, OpKind kind, const ir::ValueHints& hints) {
  constexpr size_t kImageRank = 4;
  return kind == OpKind::kSum && seen_rank(node.input(0), hints) < kImageRank;
}

// Whether a tensor may lack positions: those are marked in it, and only some operators look.
bool may_be_ragged(const Value* value) {
  std::vector<const Value*> open{value};
  std::unordered_set<const Value*> seen;
  while (!open.empty()) {
    const Value* at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const Node* node = at->node();
    if (node == nullptr) continue;
    if (role_of(*node) == ops::Role::kRagged || !node->blocks().empty()) return true;
    open.insert(open.end(), node->inputs().begin(), node->inputs().end());
  }
  return false;
}
// An encoder layer without a mask finds out what is missing.
bool looks_for_gaps(const Node& node, OpKind kind) {
  constexpr size_t kMask = 18;
  const IValue* mask = kind == OpKind::kEncoderLayer ? constant_of(node.input(kMask)) : nullptr;
  return mask != nullptr && mask->is_none() && may_be_ragged(node.input(0));
}

}  // namespace

NetRefusal net_refusal(const Node& node, OpKind kind, const ir::ValueHints& hints) {
  const uint32_t constants = ops::constant_arguments(kind);
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = node.input(i);
    if (constant_of(input) != nullptr) continue;
    if ((constants >> i & 1U) != 0) return NetRefusal::kVaryingArgument;
    if (is_tensor(input) && !may_be_float(input, hints) && !takes_mask(kind, i))
      return NetRefusal::kOtherDtype;
    // Numbers that a run computes; nets take those that are known.
    if (is_tensor(input) && is_number(input, hints)) return NetRefusal::kNoElements;
  }
  if (looks_for_gaps(node, kind)) return NetRefusal::kArguments;
  if (is_fold_of_rows(node, kind, hints)) return NetRefusal::kLeftToGroup;
  if (kind == OpKind::kPointwise && !pointwise_of(node)) return NetRefusal::kArguments;
  if (kind == OpKind::kMultiHead || kind == OpKind::kLargest || kind == OpKind::kAdaptiveMax) {
    const auto others = node.outputs().subspan(1);
    const bool is_first_alone = std::all_of(
        others.begin(), others.end(), [](const Value* output) { return output->uses().empty(); });
    return is_first_alone ? NetRefusal::kNone : NetRefusal::kReadBeside;
  }
  const bool fits =
      ops::gives_parts(kind) ? is_taken_apart(node, kind, hints) : node.outputs().size() == 1;
  return fits ? NetRefusal::kNone : NetRefusal::kReadBeside;
}

void RegionRefusals::watch(const std::vector<ir::Node*>& nodes) {
  watched_.insert(nodes.begin(), nodes.end());
}

void RegionRefusals::note(const Node* node, NetRefusal reason) {
  if (ops::is_heavy(kind_of(*node))) noted_[node] = reason;
}

void RegionRefusals::exclude(const Node* node, ops::RefusedNet refusal) {
  excluded_.emplace(node, std::move(refusal));
}

bool RegionRefusals::exclude_all(const std::vector<const Node*>& nodes, NetRefusal reason) {
  for (const Node* node : nodes) exclude(node, reason);
  return !nodes.empty();
}

void RegionRefusals::forget(const Node* node) {
  noted_.erase(node);
  excluded_.erase(node);
}

void RegionRefusals::report(PassContext& context, const ir::Block& block) const {
  for (const Node* node : block.nodes()) {
    for (const ir::Block* inner : node->blocks()) report(context, *inner);
    const auto excluded = excluded_.find(node);
    const auto noted = noted_.find(node);
    if ((excluded == excluded_.end() && noted == noted_.end()) || !is_watched(node)) continue;
    const ops::RefusedNet refusal =
        excluded != excluded_.end() ? excluded->second : ops::RefusedNet(noted->second);
    context.refuse(
        {"net", std::string(refusal.name()), refusal.text(), node->display_name(), node->range()});
  }
}

}  // namespace tierup::passes
