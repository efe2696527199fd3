// What is checked:
//
// Structure
//  1. Nodes of a block are linked both ways, and each names the block as its owner.
//  2. A value names its producer (or block) and its place there; an output that was removed has
//  none.
//  3. Every input and every return is in its value's use list, and the use lists hold nothing else.
//  4. A value is defined before each of its uses, in the same block or in one around it.
//  5. No two values share an id; every value has a type.
// Shape of each node (verifier_nodes.cc)
//  6. The numbers of inputs, outputs and blocks, and the attributes, are those of its kind.
//  7. An operator has the inputs and outputs of its schema, of types that the schema takes.
//  8. If: a bool condition; two blocks without parameters whose returns match the outputs.
//  9. Loop: trip count and condition; carried values match in inputs, parameters, returns, outputs.
// 10. Constants are members of their output's type.
// 11. Lists, tuples and dicts are built from and taken apart into the types of their elements.
// 12. Attributes and methods exist in the class at hand; a value set fits the attribute's type.
// 13. Calls of known functions, and forks, pass as many values as there are parameters.
// Nested graphs
// 14. A graph held as an attribute is right in itself.
//
// Not checked: that an unchecked cast or a refined type is true, which only a run can tell.
#include "tierup/ir/verifier.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "tierup/ir/text.h"
#include "tierup/ir/verifier_nodes.h"

namespace tierup::ir {
namespace {

struct UseHash {
  size_t operator()(const Use& use) const {
    const auto user = reinterpret_cast<size_t>(use.user);
    const auto block = reinterpret_cast<size_t>(use.block);
    return (user * 31 + block) * 31 + use.index;
  }
};

std::string describe(const Value& value) {
  return value.name().empty() ? "%" + std::to_string(value.id()) : "%" + value.name();
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  std::vector<GraphIssue> run() {
    if (graph_.block().parent() != nullptr) report(nullptr, "the graph's own block has a parent");
    collect(graph_.block(), nullptr);
    check_block(graph_.block(), nullptr);
    for (const auto& [value, node] : defined_) check_uses(*value, node);
    return std::move(issues_);
  }

 private:
  void report(const Node* node, std::string message) {
    issues_.push_back({node, std::move(message)});
  }

  // Gathers all definitions first, so that a use of a value of another place can be told from one
  // of a value that is nowhere.
  void collect(const Block& block, const Node* parent) {
    for (size_t i = 0; i < block.params().size(); ++i) {
      const Value* value = block.params()[i];
      define(value, parent);
      if (value->block() != &block || value->node() != nullptr || value->index() != i) {
        report(parent, fmt::format("parameter {} does not know its place", describe(*value)));
      }
    }
    for (const Node* node : block.nodes()) {
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        const Value* value = node->output(i);
        define(value, node);
        if (value->node() != node || value->block() != nullptr || value->index() != i) {
          report(node, fmt::format("output {} does not know its place", describe(*value)));
        }
      }
      for (const Block* inner : node->blocks()) collect(*inner, node);
    }
  }

  void define(const Value* value, const Node* node) {
    if (!defined_.emplace(value, node).second) {
      report(node, fmt::format("value {} is defined twice", describe(*value)));
    }
    if (!ids_.insert(value->id()).second) {
      report(node, fmt::format("two values have the id {}", value->id()));
    }
    if (value->type() == nullptr) {
      report(node, fmt::format("value {} has no type", describe(*value)));
    }
  }

  void check_block(const Block& block, const Node* parent) {
    std::vector<const Value*> introduced(block.params().begin(), block.params().end());
    for (const Value* param : block.params()) visible_.insert(param);
    const Node* previous = nullptr;
    for (const Node* node = block.first(); node != nullptr; node = node->next()) {
      if (node->owner() != &block) report(node, "the node's owner is another block");
      if (node->previous() != previous) report(node, "the node list is not linked backwards");
      previous = node;
      check_node(*node);
      for (const Value* output : node->outputs()) {
        visible_.insert(output);
        introduced.push_back(output);
      }
    }
    if (block.last() != previous)
      report(parent, "the block's last node is not the end of its list");
    for (size_t i = 0; i < block.returns().size(); ++i) {
      check_use(block.returns()[i], {nullptr, const_cast<Block*>(&block), i}, parent, "return");
    }
    for (const Value* value : introduced) visible_.erase(value);
  }

  void check_node(const Node& node) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      check_use(node.input(i), {const_cast<Node*>(&node), nullptr, i}, &node, "input");
    }
    for (const Block* block : node.blocks()) {
      if (block->parent() != &node) report(&node, "a block's parent is another node");
      check_block(*block, &node);
    }
    bool typed = true;
    for (const Value* value : node.inputs()) typed &= value->type() != nullptr;
    for (const Value* value : node.outputs()) typed &= value->type() != nullptr;
    if (!typed) return;
    for (std::string& message : find_node_issues(node)) report(&node, std::move(message));
    for (const auto& [name, value] : node.attrs()) {
      const auto* nested = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (nested == nullptr) continue;
      for (const GraphIssue& issue : find_issues(**nested)) {
        report(&node, fmt::format("in graph {}: {}", (*nested)->name(), issue.message));
      }
    }
  }

  void check_use(const Value* value, const Use& use, const Node* node, std::string_view what) {
    uses_[value].insert(use);
    if (visible_.contains(value)) return;
    report(node, fmt::format("{} {}, {}, {}", what, use.index, describe(*value),
                             defined_.contains(value) ? "is not defined where it is used"
                                                      : "is not of this graph"));
  }

  void check_uses(const Value& value, const Node* node) {
    const auto found = uses_.find(&value);
    const size_t expected = found == uses_.end() ? 0 : found->second.size();
    bool right = value.uses().size() == expected;
    for (const Use& use : value.uses()) right &= expected > 0 && found->second.contains(use);
    if (!right) {
      report(node, fmt::format("the use list of {} has {} entries for {} uses", describe(value),
                               value.uses().size(), expected));
    }
  }

  const Graph& graph_;
  std::vector<GraphIssue> issues_;
  std::unordered_map<const Value*, const Node*> defined_;
  std::unordered_set<int> ids_;
  std::unordered_set<const Value*> visible_;
  std::unordered_map<const Value*, std::unordered_set<Use, UseHash>> uses_;
};

}  // namespace

std::vector<GraphIssue> find_issues(const Graph& graph) { return Verifier(graph).run(); }

void verify_graph(const Graph& graph, std::string_view after) {
  const std::vector<GraphIssue> issues = find_issues(graph);
  if (issues.empty()) return;
  std::string text;
  for (const GraphIssue& issue : issues) {
    text += fmt::format("\n  {}{}", issue.message,
                        issue.node != nullptr ? " in " + issue.node->display_name() : "");
  }
  fail(ErrorCode::kInternal, "Graph {} is broken after {}:{}\n{}", graph.name(), after, text,
       graph.to_string());
}

}  // namespace tierup::ir
