// See fold_ranks.h.
#include "tierup/passes/fold_ranks.h"

#include <unordered_map>

#include "tierup/ops/neural_net.h"
#include "tierup/passes/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

class FoldRanks {
 public:
  explicit FoldRanks(PassContext& context) : context_(context) {}

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (!node->is(NodeKind::kOp)) continue;
      if (role_of(*node) == ops::Role::kRank) {
        fold(node, node->input(0));
      } else if (const Value* counted = sizes_counted_by(*node)) {
        fold(node, counted);
      } else if (const auto rank = result_rank(*node)) {
        ranks_[node->output()] = *rank;
      }
    }
  }

 private:
  std::optional<int64_t> rank_of(const Value* value) const {
    const auto found = ranks_.find(value);
    if (found != ranks_.end()) return found->second;
    if (!value->type()->is(TypeKind::kTensor)) return std::nullopt;
    if (const IValue* constant = constant_of(value)) {
      if (constant->is_tensor()) return constant->to_tensor().dim();
    }
    const auto& sizes = value->type()->facts().sizes;
    if (!sizes) return std::nullopt;
    return static_cast<int64_t>(sizes->size());
  }

  // The tensor whose list of sizes the node takes the length of; null if it is no such node.
  static const Value* sizes_counted_by(const Node& node) {
    if (role_of(node) != ops::Role::kListLength) return nullptr;
    const Node* maker = node.input(0)->node();
    const bool counts =
        maker != nullptr && role_of(*maker) == ops::Role::kSizes && is_only_read(node.input(0));
    return counts ? maker->input(0) : nullptr;
  }

  // Written in place, a tensor keeps its rank.
  std::optional<int64_t> result_rank(const Node& node) const {
    if (node.inputs().empty() || node.outputs().empty() ||
        !node.output()->type()->is(TypeKind::kTensor))
      return std::nullopt;
    switch (ops::rank_rule(*node.op())) {
      case ops::RankRule::kFirst: return rank_of(node.input(0));
      case ops::RankRule::kLarger: {
        const auto a = rank_of(node.input(0));
        if (!node.input(1)->type()->is(TypeKind::kTensor)) return a;
        const auto b = rank_of(node.input(1));
        if (!a || !b) return std::nullopt;
        return std::max(*a, *b);
      }
      case ops::RankRule::kUnknown: return std::nullopt;
    }
    return std::nullopt;
  }

  void fold(Node* node, const Value* tensor) {
    const auto rank = rank_of(tensor);
    if (!rank) return;
    ir::GraphEditor& editor = context_.editor();
    editor.set_insert_before(node);
    editor.replace_uses(node->output(), editor.constant(IValue(*rank)));
    editor.remove(node);
    context_.count("folded");
  }

  PassContext& context_;
  std::unordered_map<const Value*, int64_t> ranks_;
};

}  // namespace

void fold_ranks(PassContext& context) { FoldRanks(context).visit_block(context.graph().block()); }

}  // namespace tierup::passes
