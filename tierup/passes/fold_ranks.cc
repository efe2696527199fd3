// See fold_ranks.h.
#include "tierup/passes/fold_ranks.h"

#include <array>
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
      if (node->is(NodeKind::kListUnpack)) {
        unpack(node);
        continue;
      }
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
      case ops::RankRule::kFirstOfList: {
        const Node* list = maker_of(node.input(0), NodeKind::kListConstruct);
        if (list == nullptr || list->inputs().empty()) return std::nullopt;
        return rank_of(list->input(0));
      }
      case ops::RankRule::kLengthOfSizes: {
        const Node* list = maker_of(node.input(1), NodeKind::kListConstruct);
        if (list != nullptr) return static_cast<int64_t>(list->inputs().size());
        const IValue* constant = constant_of(node.input(1));
        if (constant == nullptr || !constant->is_list()) return std::nullopt;
        return static_cast<int64_t>(constant->to_list().items.size());
      }
      case ops::RankRule::kUnknown: return std::nullopt;
    }
    return std::nullopt;
  }

  // A list that is made here and then only read.
  static const Node* maker_of(const Value* list, NodeKind kind) {
    const Node* maker = list->node();
    return maker != nullptr && maker->is(kind) && is_only_read(list) ? maker : nullptr;
  }

  // Parts of a tensor have its rank; sizes that are unpacked are asked for one by one.
  void unpack(Node* node) {
    const Node* maker = node->input(0)->node();
    if (maker == nullptr || !maker->is(NodeKind::kOp) || !is_only_read(node->input(0))) return;
    const auto rank = rank_of(maker->input(0));
    if (!rank) return;
    if (ops::rank_rule(*maker->op()) == ops::RankRule::kFirst) {
      for (const Value* output : node->outputs()) ranks_[output] = *rank;
    } else if (role_of(*maker) == ops::Role::kSizes &&
               static_cast<size_t>(*rank) == node->outputs().size()) {
      take_apart(node, maker->input(0));
    }
  }
  void take_apart(Node* node, Value* tensor) {
    ir::GraphEditor& editor = context_.editor();
    const ops::Op* size = context_.table().find(ops::operator_with(ops::Role::kSize));
    editor.set_insert_before(node);
    editor.set_range(node->range());
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value* dim = editor.constant(IValue(static_cast<int64_t>(i)));
      Node* one = editor.create_op(*size, std::array<Value*, 2>{tensor, dim});
      editor.replace_uses(node->outputs()[i], one->output());
    }
    editor.set_range({});
    editor.remove(node);
    context_.count("unpacked");
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
