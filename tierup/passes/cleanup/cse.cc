// One walk with a table of the nodes that dominate the place: a block adds its nodes on the way in
// and takes them out on the way back. The alias analysis is made once; merging only takes nodes
// away.
#include "tierup/passes/cleanup/cse.h"
#include "tierup/analysis/effects.h"

#include <algorithm>
#include <unordered_map>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using analysis::AliasAnalysis;
using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

bool same_attribute(const ir::AttrValue& a, const ir::AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* number = std::get_if<int64_t>(&a)) return *number == std::get<int64_t>(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text == std::get<std::string>(b);
  if (const auto* type = std::get_if<TypePtr>(&a)) return equal(*type, std::get<TypePtr>(b));
  if (const auto* types = std::get_if<std::vector<TypePtr>>(&a)) {
    const auto& others = std::get<std::vector<TypePtr>>(b);
    return std::equal(types->begin(), types->end(), others.begin(), others.end(),
                      [](const TypePtr& x, const TypePtr& y) { return equal(x, y); });
  }
  return false;
}

bool same_node(const Node& a, const Node& b) {
  const auto inputs = [](const Node& node) { return node.inputs(); };
  // Symbols of sizes may differ: both name what is the same.
  const auto same_type = [](const Value* x, const Value* y) {
    return equal(without_sizes(x->type()), without_sizes(y->type()));
  };
  return a.kind() == b.kind() && a.op() == b.op() &&
         std::equal(inputs(a).begin(), inputs(a).end(), inputs(b).begin(), inputs(b).end()) &&
         std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(),
                    same_type) &&
         std::equal(a.attrs().begin(), a.attrs().end(), b.attrs().begin(), b.attrs().end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && same_attribute(x.second, y.second);
                    });
}

size_t hash_of(const Node& node) {
  size_t hash = static_cast<size_t>(node.kind()) * 31 + reinterpret_cast<size_t>(node.op());
  for (const Value* input : node.inputs()) hash = hash * 1000003 + static_cast<size_t>(input->id());
  return hash;
}

class Merger {
 public:
  explicit Merger(PassContext& context) : context_(context), alias_(context.alias()) {}

  void visit_block(const Block& block) {
    std::vector<size_t> added;
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (!is_mergeable(*node)) continue;
      const size_t hash = hash_of(*node);
      std::vector<Node*>& known = table_[hash];
      const auto same = std::find_if(known.begin(), known.end(),
                                     [&](const Node* other) { return same_node(*other, *node); });
      if (same == known.end()) {
        known.push_back(node);
        added.push_back(hash);
      } else {
        merge(node, *same);
      }
    }
    for (const size_t hash : added) table_[hash].pop_back();
  }

 private:
  void merge(Node* node, Node* kept) {
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      context_.editor().replace_uses(node->output(i), kept->output(i));
    }
    context_.editor().remove(node);
    context_.count("merged");
  }

  bool is_mergeable(const Node& node) const {
    switch (node.kind()) {
      case NodeKind::kOp: return is_mergeable_op(node);
      case NodeKind::kGetAttr: return !alias_.has_writers(node.input());
      case NodeKind::kListConstruct:
        return is_only_read(node.output()) && !is_mutable(node.output()->type()->element());
      case NodeKind::kTupleConstruct:
      case NodeKind::kTupleIndex:
      case NodeKind::kTupleUnpack:
      case NodeKind::kTupleSlice:
      case NodeKind::kUncheckedCast:
      case NodeKind::kIsInstance:
      case NodeKind::kEnumName:
      case NodeKind::kEnumValue: return true;
      default: return false;
    }
  }

  bool is_mergeable_op(const Node& node) const {
    // Between two reads of the policy something may change it.
    constexpr uint8_t kDistinct =
        ir::kRandom | ir::kSideEffect | ir::kNondeterministic | ir::kReadsPolicy;
    if ((analysis::effects_of(node) & kDistinct) != 0 || node.op()->schema().is_mutating() ||
        node.outputs().empty()) {
      return false;
    }
    const auto is_written = [&](const Value* value) { return alias_.has_writers_inside(value); };
    if (std::any_of(node.inputs().begin(), node.inputs().end(), is_written)) return false;
    return std::none_of(node.outputs().begin(), node.outputs().end(), [&](const Value* output) {
      return is_mutable(output->type()) && (is_written(output) || alias_.leaves(output));
    });
  }

  PassContext& context_;
  const AliasAnalysis& alias_;
  std::unordered_map<size_t, std::vector<Node*>> table_;
};

}  // namespace

void cse(PassContext& context) { Merger(context).visit_block(context.graph().block()); }

}  // namespace tierup::passes
