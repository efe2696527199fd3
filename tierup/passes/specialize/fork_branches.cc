#include "tierup/passes/specialize/fork_branches.h"

#include <algorithm>
#include <unordered_set>

#include "tierup/analysis/effects.h"
#include "tierup/ops/table/op.h"
#include "tierup/passes/core/outliner.h"

namespace tierup::passes {
namespace {

using ir::AttrName;
using ir::Block;
using ir::GraphEditor;
using ir::Node;
using ir::NodeKind;
using ir::Value;

bool is_movable_kind(NodeKind kind) {
  switch (kind) {
    case NodeKind::kOp:
    case NodeKind::kConstant:
    case NodeKind::kIf:
    case NodeKind::kLoop:
    case NodeKind::kListConstruct:
    case NodeKind::kListUnpack:
    case NodeKind::kTupleConstruct:
    case NodeKind::kTupleUnpack:
    case NodeKind::kTupleIndex:
    case NodeKind::kTupleSlice:
    case NodeKind::kDictConstruct:
    case NodeKind::kGetAttr:
    case NodeKind::kUncheckedCast:
    case NodeKind::kIsInstance:
    case NodeKind::kEnumName:
    case NodeKind::kEnumValue:
    // Raises a little earlier or later, with nothing in between that anybody could notice.
    case NodeKind::kRaise: return true;
    default: return false;
  }
}

bool is_movable(const Node& node) {
  if (!is_movable_kind(node.kind())) return false;
  if (node.is(NodeKind::kOp)) {
    constexpr uint8_t kOrdered = ir::kRandom | ir::kSideEffect;
    if ((analysis::effects_of(node) & kOrdered) != 0) return false;
  }
  for (const Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) {
      if (!is_movable(*inner)) return false;
    }
  }
  return true;
}

TypePtr type_of(const std::vector<Value*>& results) {
  if (results.size() == 1) return results[0]->type();
  std::vector<TypePtr> types;
  for (const Value* value : results) types.push_back(value->type());
  return Type::tuple(std::move(types));
}

// Ends a branch's body: its result is the one value, or a tuple of them.
std::shared_ptr<const ir::Graph> finish(Outliner& body, const std::vector<Value*>& results) {
  Value* result = body.copy_of(results[0]);
  if (results.size() > 1) {
    std::vector<Value*> copies;
    for (const Value* value : results) copies.push_back(body.copy_of(value));
    Node* tuple = body.editor().create(NodeKind::kTupleConstruct, copies);
    result = body.editor().add_output(tuple, type_of(results));
  }
  body.editor().add_return(&body.graph()->block(), result);
  return body.graph();
}

class Forker {
 public:
  Forker(PassContext& context, const NodeCosts& costs, const BranchLimits& limits, double unknown)
      : context_(context),
        editor_(context.editor()),
        alias_(context.graph()),
        costs_(costs),
        limits_(limits),
        unknown_(unknown) {}

  void visit(Block& block) {
    while (fork_one(block)) {
    }
    for (Node* node : block.nodes()) {
      for (Block* inner : node->blocks()) visit(*inner);
    }
  }

 private:
  // The first group of branches of a block.
  bool fork_one(Block& block) {
    std::vector<Node*> line;
    for (Node* node : block.nodes()) {
      if (stays(*node)) {
        if (fork_in(line, node)) return true;
        line.clear();
      } else {
        line.push_back(node);
      }
    }
    return fork_in(line, nullptr);
  }

  // A line ends at a node that keeps its place.
  bool stays(const Node& node) const {
    return made_.contains(&node) || !is_movable(node) || has_effects(node);
  }

  // Besides raising.
  bool has_effects(const Node& node) const {
    if (node.is(NodeKind::kConstant) || node.is(NodeKind::kRaise)) return false;
    if (node.blocks().empty()) return alias_.has_effects(&node);
    for (const Block* block : node.blocks()) {
      for (const Node* inner : block->nodes()) {
        if (has_effects(*inner)) return true;
      }
    }
    return false;
  }

  bool fork_in(const std::vector<Node*>& nodes, Node* end) {
    std::vector<Node*> line;
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(line),
                 [](const Node* node) { return !node->is(NodeKind::kConstant); });
    if (line.size() < 2) return false;
    const std::vector<LineNode> described = describe(line);
    const Branches branches = find_branches(described, limits_);
    if (branches.empty()) return false;
    for (Node* node : nodes) {
      if (node->is(NodeKind::kConstant)) editor_.move_before(node, line.front());
    }
    hand_over(line, described, branches, end);
    return true;
  }

  double cost(const Node& node) const {
    const auto found = costs_.find(&node);
    if (found != costs_.end()) return found->second;
    return node.is(NodeKind::kOp) ? unknown_ : 0;
  }

  std::vector<LineNode> describe(const std::vector<Node*>& line) const {
    std::unordered_map<const Node*, uint32_t> places;
    std::vector<LineNode> described(line.size());
    std::vector<uint32_t> writers;
    for (uint32_t i = 0; i < line.size(); ++i) {
      LineNode& one = described[i];
      // What gives nothing to wait for (an assertion) is no reason for a branch.
      one.nanoseconds = line[i]->outputs().empty() ? 0 : cost(*line[i]);
      for_inputs(*line[i], [&](const Value* input) {
        const auto found = places.find(input->node());
        if (found != places.end()) one.after.push_back(found->second);
      });
      if (alias_.writes_anything(line[i])) {
        for (uint32_t k = 0; k < i; ++k) {
          if (alias_.conflict(line[i], line[k])) one.after.push_back(k);
        }
      }
      for (const uint32_t k : writers) {
        if (alias_.conflict(line[k], line[i])) one.after.push_back(k);
      }
      if (alias_.writes_anything(line[i])) writers.push_back(i);
      places[line[i]] = i;
    }
    return described;
  }

  // The new order: what the branches need, the forks, what depends on none of them, the waits, the
  // rest.
  void hand_over(const std::vector<Node*>& line, const std::vector<LineNode>& described,
                 const Branches& branches, Node* end) {
    enum class Part : uint8_t { kIndependent, kNeeded, kBranch, kDependent };
    std::vector<Part> parts(line.size(), Part::kIndependent);
    for (const auto& branch : branches) {
      for (const uint32_t place : branch) parts[place] = Part::kBranch;
    }
    for (uint32_t i = static_cast<uint32_t>(line.size()); i-- > 0;) {
      if (parts[i] != Part::kBranch && parts[i] != Part::kNeeded) continue;
      for (const uint32_t before : described[i].after) {
        if (parts[before] != Part::kBranch) parts[before] = Part::kNeeded;
      }
    }
    for (uint32_t i = 0; i < line.size(); ++i) {
      if (parts[i] != Part::kIndependent) continue;
      for (const uint32_t before : described[i].after) {
        if (parts[before] == Part::kBranch || parts[before] == Part::kDependent)
          parts[i] = Part::kDependent;
      }
    }
    const auto place_all = [&](Part part) {
      for (uint32_t i = 0; i < line.size(); ++i) {
        if (parts[i] == part) place(line[i], end);
      }
    };
    place_all(Part::kNeeded);
    std::vector<Fork> forks;
    for (const auto& branch : branches) {
      std::vector<Node*> members;
      for (const uint32_t place : branch) members.push_back(line[place]);
      forks.push_back(make_fork(members, end));
    }
    place_all(Part::kIndependent);
    for (const Fork& fork : forks) make_wait(fork, end);
    place_all(Part::kDependent);
    for (const Fork& fork : forks) {
      for (size_t i = fork.members.size(); i-- > 0;) editor_.remove(fork.members[i]);
    }
    context_.count("branches", static_cast<int64_t>(forks.size()));
  }

  void place(Node* node, Node* end) {
    if (end != nullptr) {
      editor_.move_before(node, end);
    } else {
      editor_.move_to_end(node, node->owner());
    }
  }

  struct Fork {
    std::vector<Node*> members;
    std::vector<Value*> results;  // Used outside.
    Value* future;
  };

  Fork make_fork(const std::vector<Node*>& members, Node* end) {
    Outliner body(context_, members[0]->owner(), "branch");
    for (const Node* node : members) body.copy(*node);
    Fork fork{members, results_of(members), nullptr};
    set_insertion(members[0]->owner(), end);
    editor_.set_range(members[0]->range());
    const std::shared_ptr<const ir::Graph> graph = finish(body, fork.results);
    Node* node = editor_.create(NodeKind::kFork, body.captures());
    editor_.set_attr(node, AttrName::kCallee, graph);
    editor_.set_attr(node, AttrName::kName, std::string("branch"));
    fork.future = editor_.add_output(node, Type::future(type_of(fork.results)));
    made_.insert(node);
    return fork;
  }

  // A branch without any would be dead code: its last node's first output then stands for it.
  std::vector<Value*> results_of(const std::vector<Node*>& members) const {
    std::vector<Value*> results;
    for (const Node* node : members) {
      for (Value* output : node->outputs()) {
        const auto is_outside = [&](const ir::Use& use) { return !is_within(use, members); };
        if (std::any_of(output->uses().begin(), output->uses().end(), is_outside))
          results.push_back(output);
      }
    }
    if (results.empty()) results.push_back(members.back()->output());
    return results;
  }

  static bool is_within(const ir::Use& use, const std::vector<Node*>& members) {
    const Block* block = use.user != nullptr ? use.user->owner() : use.block;
    const Node* node = use.user;
    while (true) {
      if (node != nullptr && std::find(members.begin(), members.end(), node) != members.end())
        return true;
      node = block->parent();
      if (node == nullptr) return false;
      block = node->owner();
    }
  }

  void make_wait(const Fork& fork, Node* end) {
    set_insertion(fork.members[0]->owner(), end);
    editor_.set_range(fork.members.back()->range());
    Node* wait = editor_.create(NodeKind::kWait, {fork.future});
    made_.insert(wait);
    Value* result = editor_.add_output(wait, type_of(fork.results));
    if (fork.results.size() == 1) return take_place(fork.results[0], result);
    Node* unpack = editor_.create(NodeKind::kTupleUnpack, {result});
    made_.insert(unpack);
    for (Value* value : fork.results) {
      take_place(value, editor_.add_output(unpack, value->type()));
    }
  }

  void take_place(Value* from, Value* to) {
    editor_.set_name(to, from->name());
    context_.hints().copy(from, to);
    editor_.replace_uses(from, to);
  }

  void set_insertion(Block* block, Node* end) {
    if (end != nullptr) {
      editor_.set_insert_before(end);
    } else {
      editor_.set_insert_end(block);
    }
  }

  PassContext& context_;
  GraphEditor& editor_;
  // Of the graph as it was: nodes only go or change places.
  const analysis::AliasAnalysis alias_;
  const NodeCosts& costs_;
  const BranchLimits& limits_;
  const double unknown_;
  std::unordered_set<const Node*> made_;
};

}  // namespace

void fork_branches(PassContext& context, const NodeCosts& costs, const BranchLimits& limits,
                   double unknown) {
  Forker(context, costs, limits, unknown).visit(context.graph().block());
}

}  // namespace tierup::passes
