// See product_groups.h.
#include "tierup/passes/fuse/product_groups.h"

#include <algorithm>
#include <utility>

#include "tierup/ops/regions/group_loads.h"
#include "tierup/ops/regions/matrix_meta_tensors.h"
#include "tierup/ops/regions/product_kinds.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/core/view_chains.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::GroupRefusal;

namespace {

constexpr size_t kMaxMembers = 64;
constexpr int64_t kMostElements = 16384;  // Of a value: what lies in the nearest cache.

// A tensor without data, of sizes that are all known.
std::optional<Tensor> meta_of(const Shape& shape) {
  const std::optional<IntVector> sizes = static_sizes(shape);
  if (!sizes) return std::nullopt;
  return ops::meta_tensor(*sizes);
}

Shape shape_of(const IntVector& sizes) {
  std::vector<Dim> dims;
  for (const int64_t size : sizes) dims.push_back({Dim::Kind::kStatic, size});
  return dims;
}

ops::ProductKind kind_of_product(const Node& node) {
  return ops::op_of(*node.op()).facts().product;
}

}  // namespace

bool is_product(const Node& node) {
  return node.is(NodeKind::kOp) && kind_of_product(node) != ops::ProductKind::kNone;
}

void ProductPlanner::plan(const ir::Block& block) {
  for (Node* node : block.nodes()) visit(node);
}

void ProductPlanner::visit(Node* node) {
  if (alias_.has_effects(node)) ++segment_;
  if (is_candidate(node)) return join(node);
  for (const Value* output : node->outputs()) forms_.form(output);
  const uint32_t group = node->inputs().empty() ? kNone : group_of(node->input(0));
  if (is_view_of_member(*node) && find_view_shapes(*node) && may_grow(group)) {
    reach_.join(*node, group);
    groups_[group].views.push_back(node);
    views_.insert(node);
    group_of_[node] = group;
    return;
  }
  reach_.add(*node);
  if (can_move(*node, alias_)) return;
  for (const uint32_t above : reach_.take_above(*node)) pinned_[above] = true;
}

// Also notes the forms and shapes of a candidate's results.
bool ProductPlanner::is_candidate(Node* node) {
  if (!node->is(NodeKind::kOp) || is_unused(*node)) return false;
  if (is_product(*node)) {
    ops::RefusedGroup refusal = product_refusal(*node);
    if (!refusal) return true;
    refused_.emplace_back(node, std::move(refusal));
    return false;
  }
  if (std::optional<RowCall> call = row_call_of(*node, alias_, forms_)) {
    if (node->outputs().size() != 1 || call->goes_over_part()) return false;
    row_calls_.emplace(node, *std::move(call));
  } else if (ops::op_of(*node->op()).body() == nullptr || point_refusal(*node, alias_, forms_) ||
             !reads_only_kept_memory(*node, alias_)) {
    return false;
  }
  const auto fits = [&](const Value* value) { return !is_tensor(value) || is_small(value); };
  return std::all_of(node->inputs().begin(), node->inputs().end(), fits) &&
         is_small(node->output());
}

bool ProductPlanner::is_small(const Value* value) {
  const std::optional<Tensor> meta = meta_of(forms_.shape(value));
  return meta && meta->numel() <= kMostElements;
}

ops::RefusedGroup ProductPlanner::product_refusal(const Node& node) {
  if (node.op()->effects() != ir::kNoEffect || !reads_only_kept_memory(node, alias_)) {
    return GroupRefusal::kWrittenMemory;
  }
  const ops::ProductKind kind = kind_of_product(node);
  std::vector<std::optional<ScalarType>> dtypes;
  for (const Value* input : node.inputs()) {
    if (!is_tensor(input) && constant_of(input) == nullptr) return GroupRefusal::kVaryingNumber;
    dtypes.push_back(is_tensor(input) ? std::optional(forms_.form(input).dtype) : std::nullopt);
  }
  const GroupRefusal refusal = ops::product_refusal(kind, dtypes);
  return refusal == GroupRefusal::kNone ? size_refusal(node, kind) : refusal;
}

ops::RefusedGroup ProductPlanner::size_refusal(const Node& node, ops::ProductKind kind) {
  const ops::ProductArguments places = ops::product_arguments(kind);
  const std::optional<Tensor> left = meta_of(forms_.shape(node.input(places.left)));
  const std::optional<Tensor> right = meta_of(forms_.shape(node.input(places.right)));
  if (!left || !right) return GroupRefusal::kUnknownSizes;
  std::optional<ops::Factors> factors;
  try {
    factors = ops::factors_of(kind, *left, *right);
  } catch (const Error& error) {
    return {GroupRefusal::kRaises, error.message()};
  }
  if (!factors) return GroupRefusal::kOtherFactors;
  if (ops::is_large_product(*factors)) return ops::large_product(*factors);
  if (places.added && is_tensor(node.input(*places.added)) &&
      !is_small(node.input(*places.added))) {
    return GroupRefusal::kLargeOperand;
  }
  const ScalarType dtype = forms_.form(node.input(places.left)).dtype;
  forms_.set(node.output(),
             {dtype, kind == ops::ProductKind::kDot ? ops::PromotionCategory::kZeroDim
                                                    : ops::PromotionCategory::kDimensioned},
             shape_of(factors->sizes));
  return is_small(node.output()) ? GroupRefusal::kNone : GroupRefusal::kLargeResult;
}

const RowCall* ProductPlanner::row_call(const Node* member) const {
  const auto found = row_calls_.find(member);
  return found == row_calls_.end() ? nullptr : &found->second;
}

// Notes the shapes of views; false if a view of what its member makes does not fit or would copy.
bool ProductPlanner::find_view_shapes(const Node& node) {
  if (is_view_list(node)) return true;
  for (const Value* output : node.outputs()) {
    const std::optional<ViewChain> chain = view_chain(output, [&](const Value* value) {
      return group_of(value) != kNone && !views_.contains(value->node());
    });
    if (!chain) return false;
    const std::optional<Tensor> source = meta_of(forms_.shape(chain->source));
    if (!source) return false;
    try {
      const Tensor view = ops::meta_through(*source, {chain->steps, {}});
      const ops::ValueForm form{forms_.form(chain->source).dtype,
                                view.dim() == 0 ? ops::PromotionCategory::kZeroDim
                                                : ops::PromotionCategory::kDimensioned};
      forms_.set(output, form, shape_of({view.sizes().begin(), view.sizes().end()}));
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

// A view with constant arguments of a value of a group, or a list of such views.
bool ProductPlanner::is_view_of_member(const Node& node) const {
  if (node.inputs().empty() || node.outputs().empty() || group_of(node.input(0)) == kNone) {
    return false;
  }
  if (is_view_list(node)) return true;
  const auto is_member = [&](const Value* value) {
    return group_of(value) != kNone && value->node() != &node && is_tensor(value);
  };
  return std::all_of(node.outputs().begin(), node.outputs().end(), [&](const Value* output) {
    return !alias_.has_writers(output) && view_chain(output, is_member).has_value();
  });
}

uint32_t ProductPlanner::group_of(const Value* value) const {
  const auto found = value->node() == nullptr ? group_of_.end() : group_of_.find(value->node());
  return found == group_of_.end() ? kNone : found->second;
}

// Whether the group may end here: nothing that must stand still needs it to have ended before.
bool ProductPlanner::may_grow(uint32_t group) const {
  return !pinned_[group] && segments_[group] == segment_;
}

bool ProductPlanner::may_join(const Node& node, uint32_t group) const {
  if (!may_grow(group)) return false;
  if (groups_[group].members.size() >= kMaxMembers) return false;
  const RowCall* call = row_call(&node);
  if (call != nullptr && groups_[group].row_rank != 0 &&
      groups_[group].row_rank != call->meaning.row_rank) {
    return false;
  }
  return std::none_of(node.inputs().begin(), node.inputs().end(),
                      [&](const Value* input) { return reach_.reaches(input, group); });
}

bool ProductPlanner::depends(uint32_t from, uint32_t on) const {
  for (const auto* nodes : {&groups_[from].members, &groups_[from].views}) {
    for (const Node* node : *nodes) {
      for (const Value* input : node->inputs()) {
        if (reach_.reaches(input, on)) return true;
      }
    }
  }
  return false;
}

bool ProductPlanner::may_merge(uint32_t a, uint32_t b) const {
  const ProductGroup& x = groups_[a];
  const ProductGroup& y = groups_[b];
  if (x.members.size() + y.members.size() > kMaxMembers) return false;
  if (x.row_rank != 0 && y.row_rank != 0 && x.row_rank != y.row_rank) return false;
  return !depends(a, b) && !depends(b, a);
}

// Takes the group of an input into that which the node joins, or begins with it; none if it cannot.
uint32_t ProductPlanner::joined_with(const Node& node, uint32_t joined, const Value* input) {
  const uint32_t group = group_of(input);
  if (group == kNone || group == joined || !may_join(node, group)) return joined;
  if (joined == kNone) return group;
  if (may_merge(joined, group)) merge(joined, group);
  return joined;
}

void ProductPlanner::join(Node* node) {
  uint32_t joined = kNone;
  for (const Value* input : node->inputs()) joined = joined_with(*node, joined, input);
  if (joined == kNone) {
    joined = static_cast<uint32_t>(groups_.size());
    groups_.emplace_back();
    segments_.push_back(segment_);
    pinned_.push_back(false);
  }
  reach_.join(*node, joined);
  ProductGroup& group = groups_[joined];
  group.members.push_back(node);
  if (is_product(*node)) ++group.products;
  if (const RowCall* call = row_call(node)) group.row_rank = call->meaning.row_rank;
  group_of_[node] = joined;
}

// Nothing names `from` afterwards.
void ProductPlanner::merge(uint32_t into, uint32_t from) {
  reach_.merge(into, from);
  ProductGroup taken = std::exchange(groups_[from], {});
  ProductGroup& group = groups_[into];
  for (const auto* nodes : {&taken.members, &taken.views}) {
    for (const Node* node : *nodes) group_of_[node] = into;
  }
  group.members.insert(group.members.end(), taken.members.begin(), taken.members.end());
  group.views.insert(group.views.end(), taken.views.begin(), taken.views.end());
  group.products += taken.products;
  group.row_rank = std::max(group.row_rank, taken.row_rank);
}

}  // namespace tierup::passes
