#include "tierup/passes/specialize/differentiable_graphs.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tierup/ops/regions/differentiable_graph.h"
#include "tierup/passes/core/outliner.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/specialize/differentiable_parts.h"

namespace tierup::passes {
namespace {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::PartRefusal;

// One operator alone is as well off at tier 0.
constexpr size_t kLeastOperators = 2;

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
      if (kinds_.refusal(node) == PartRefusal::kNone && has_plain_inputs(block, node, inside)) {
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
    const PartRefusal reason = kinds_.refusal(node);
    const bool is_reader = reason == PartRefusal::kReadsNumbers;
    if (!node->is(NodeKind::kOp) || (!is_reader && !PartMembers::computes(node))) return;
    const ops::RefusedPart refusal(reason == PartRefusal::kNone ? PartRefusal::kInput : reason);
    context_.refuse({"part", std::string(refusal.name()), refusal.text(),
                     node->op()->schema().qualified_name(), node->range()});
  }

  static bool reads_from(const Block& block, const Node* node,
                         const std::unordered_set<const Node*>& inside) {
    bool found = false;
    for_inputs(*node, [&](const Value* value) {
      const Node* maker = maker_in(&block, value);
      found |= maker != nullptr && inside.contains(maker);
    });
    return found;
  }

  static bool has_plain_inputs(const Block& block, const Node* node,
                               const std::unordered_set<const Node*>& inside) {
    bool plain = true;
    for_inputs(*node, [&](const Value* value) {
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
};

// Puts the step in the place of a part.
class PartMaker {
 public:
  PartMaker(PassContext& context, const MakeCapsule& make)
      : context_(context), editor_(context.editor()), make_(make) {}

  void make(const Part& part) {
    Block* block = part.members.front()->owner();
    Node* after = part.members.back()->next();
    Outliner body(context_, block, "part");
    for (const Node* member : part.members) body.copy(*member);
    for (const Value* result : part.results)
      body.editor().add_return(&body.graph()->block(), body.copy_of(result));
    if (after != nullptr) {
      editor_.set_insert_before(after);
    } else {
      editor_.set_insert_end(block);
    }
    editor_.set_range(part.members.back()->range());
    editor_.set_call_chain(part.members.back()->call_chain());
    Value* capsule = editor_.constant(IValue::capsule(make_(body.graph())));
    Node* step = editor_.create_bare_op(ops::differentiable_graph_row());
    for (Value* input : body.captures()) editor_.add_input(step, input);
    editor_.add_input(step, capsule);
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
    for (size_t i = part.members.size(); i-- > 0;) {
      Node* member = part.members[i];
      if (std::ranges::find(part.copies, member) == part.copies.end()) editor_.remove(member);
    }
    context_.count("graphs");
    context_.count("members", static_cast<int64_t>(part.members.size()));
  }

 private:
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
