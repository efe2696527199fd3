#include "tierup/passes/specialize/differentiable_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "tierup/ops/regions/differentiable_graph.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/specialize/differentiable_parts.h"

namespace tierup::passes {
namespace {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

// One operator alone is as well off at tier 0.
constexpr size_t kLeastOperators = 2;

// Every value that a node reads, its blocks included, that it does not make itself.
template <typename F>
void for_each_read(const Node* node, F&& f) {
  for (Value* input : node->inputs()) f(input);
  for (const Block* block : node->blocks()) {
    for (const Node* inner : block->nodes()) for_each_read(inner, f);
    for (Value* result : block->returns()) f(result);
  }
}

// The node of `block` that a value is made by, be it inside of that node; null if none.
const Node* maker_in(const Block* block, const Value* value) {
  const Node* node = value->node();
  const Block* owner = node != nullptr ? node->owner() : value->block();
  while (owner != block) {
    if (owner == nullptr || owner->parent() == nullptr) return nullptr;
    node = owner->parent();
    owner = node->owner();
  }
  return node;
}

// A part: members in program order, what leaves it, and what also stays outside.
struct Part {
  std::vector<Node*> members;
  std::vector<Value*> results;
  std::vector<Node*> copies;
};

class PartFinder {
 public:
  PartFinder(PassContext& context, PartMembers& members)
      : context_(context), alias_(context.alias()), kinds_(members) {}

  std::vector<Part> run() {
    visit(context_.graph().block());
    for (const auto& [name, reason] : refused_)
      context_.note(fmt::format("ends a differentiable graph: {} {}", name, reason));
    return std::move(parts_);
  }

 private:
  void visit(const Block& block) {
    std::vector<Node*> members;
    std::unordered_set<const Node*> inside;
    const auto close = [&] {
      finish(block, std::move(members));
      members.clear();
      inside.clear();
    };
    for (Node* node : block.nodes()) {
      if (node->is(NodeKind::kConstant)) continue;
      if (kinds_.refusal(node).empty() && has_plain_inputs(block, node, inside)) {
        members.push_back(node);
        inside.insert(node);
        continue;
      }
      note_refusal(node);
      if (reads_from(block, node, inside) || must_keep_order(node, members)) close();
      for (const Block* inner : node->blocks()) visit(*inner);
    }
    close();
  }

  void note_refusal(const Node* node) {
    if (node->is(NodeKind::kOp) && PartMembers::computes(node))
      refused_.emplace(node->op()->schema().qualified_name(), kinds_.refusal(node));
  }

  static bool reads_from(const Block& block, const Node* node,
                         const std::unordered_set<const Node*>& inside) {
    bool found = false;
    for_each_read(node, [&](const Value* value) {
      const Node* maker = maker_in(&block, value);
      found |= maker != nullptr && inside.contains(maker);
    });
    return found;
  }

  static bool has_plain_inputs(const Block& block, const Node* node,
                               const std::unordered_set<const Node*>& inside) {
    bool plain = true;
    for_each_read(node, [&](const Value* value) {
      const Node* maker = maker_in(&block, value);
      if (maker == node || (maker != nullptr && inside.contains(maker))) return;
      plain &= constant_of(value) != nullptr || PartMembers::may_enter(value);
    });
    return plain;
  }

  bool must_keep_order(const Node* node, const std::vector<Node*>& members) const {
    if (members.empty()) return false;
    if (alias_.has_effects(node)) return true;
    return std::ranges::any_of(members, [&](const Node* member) {
      return alias_.conflict(node, member) || alias_.conflict(member, node);
    });
  }

  // Decides what leaves the part; cuts it short before what cannot.
  void finish(const Block& block, std::vector<Node*> members) {
    while (!members.empty()) {
      Part part{members, {}, {}};
      const size_t cut = find_results(block, part);
      if (cut == members.size()) {
        const auto computing = std::ranges::count_if(
            members, [](const Node* node) { return PartMembers::computes(node); });
        const bool is_loop = std::ranges::any_of(
            members, [](const Node* node) { return node->is(NodeKind::kLoop); });
        if ((static_cast<size_t>(computing) >= kLeastOperators || is_loop) && !part.results.empty())
          parts_.push_back(std::move(part));
        return;
      }
      members.resize(cut);
    }
  }

  // The number of members before the first that cannot give what it must; all, if there is none.
  static size_t find_results(const Block& block, Part& part) {
    const std::unordered_set<const Node*> inside(part.members.begin(), part.members.end());
    std::unordered_set<const Node*> copied;
    for (size_t i = part.members.size(); i-- > 0;) {
      Node* node = part.members[i];
      bool is_copied = false;
      for (Value* output : node->outputs()) {
        if (!leaves(block, output, inside, copied)) continue;
        if (is_tensor(output) && !PartMembers::makes_views(node)) {
          part.results.push_back(output);
        } else {
          is_copied = true;
        }
      }
      if (!is_copied) continue;
      if (!node->blocks().empty()) return i;
      copied.insert(node);
      part.copies.insert(part.copies.begin(), node);
    }
    std::ranges::reverse(part.results);
    return part.members.size();
  }

  static bool leaves(const Block& block, const Value* value,
                     const std::unordered_set<const Node*>& inside,
                     const std::unordered_set<const Node*>& copied) {
    return std::ranges::any_of(value->uses(), [&](const ir::Use& use) {
      const Node* user = place_of(use, &block);
      return user == nullptr || !inside.contains(user) || copied.contains(user);
    });
  }

  PassContext& context_;
  const analysis::AliasAnalysis& alias_;
  PartMembers& kinds_;
  std::vector<Part> parts_;
  std::map<std::string, std::string_view> refused_;
};

// Puts the step in the place of a part.
class PartMaker {
 public:
  PartMaker(PassContext& context, const MakeCapsule& make)
      : context_(context), editor_(context.editor()), make_(make) {}

  void make(const Part& part) {
    Block* block = part.members.front()->owner();
    Node* after = part.members.back()->next();
    Node* holder = take_out(part);
    std::vector<Value*> inputs;
    const std::shared_ptr<ir::Graph> body = copy_of(*holder->block(), part, inputs);
    if (after != nullptr) {
      editor_.set_insert_before(after);
    } else {
      editor_.set_insert_end(block);
    }
    editor_.set_range(part.members.back()->range());
    editor_.set_call_chain(part.members.back()->call_chain());
    inputs.push_back(editor_.constant(IValue::capsule(make_(body))));
    Node* step = editor_.create_bare_op(ops::differentiable_graph_row());
    for (Value* input : inputs) editor_.add_input(step, input);
    for (Value* result : part.results) {
      Value* output = editor_.add_output(step, Type::tensor(), result->name());
      editor_.replace_uses(result, output);
    }
    for (Node* copy : part.copies) {
      if (after != nullptr) {
        editor_.move_before(copy, after);
      } else {
        editor_.move_to_end(copy, block);
      }
    }
    editor_.remove(holder);
    context_.count("graphs");
    context_.count("members", static_cast<int64_t>(part.members.size()));
  }

 private:
  // The members in a block of their own.
  Node* take_out(const Part& part) {
    editor_.set_insert_before(part.members.front());
    Node* holder = editor_.create(NodeKind::kIf);
    Block* inside = editor_.add_block(holder);
    for (Node* member : part.members) editor_.move_to_end(member, inside);
    return holder;
  }

  std::shared_ptr<ir::Graph> copy_of(const Block& members, const Part& part,
                                     std::vector<Value*>& inputs) {
    auto body = std::make_shared<ir::Graph>("part");
    ir::GraphEditor editor(*body);
    ir::ValueMap map;
    for (const Node* node : members.nodes()) {
      for_each_read(node, [&](Value* value) {
        if (maker_in(&members, value) != nullptr || map.contains(value)) return;
        if (const IValue* constant = constant_of(value)) {
          map[value] = editor.constant(*constant, value->type());
        } else {
          map[value] = editor.add_param(&body->block(), value->type(), value->name());
          inputs.push_back(value);
        }
      });
    }
    editor.inline_block(members, map);
    for (const Value* result : part.results) editor.add_return(&body->block(), map.at(result));
    return body;
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  const MakeCapsule& make_;
};

}  // namespace

void differentiable_graphs(PassContext& context, const MakeCapsule& make) {
  PartMembers members(context.alias());
  const std::vector<Part> parts = PartFinder(context, members).run();
  for (const Part& part : parts) PartMaker(context, make).make(part);
}

}  // namespace tierup::passes
