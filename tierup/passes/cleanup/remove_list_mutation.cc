// Appends in a line are part of what makes the list; reads between appends get a list of their own.
#include <algorithm>
#include <unordered_set>

#include "tierup/passes/cleanup/remove_mutation.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

// Appends to lists that nothing has seen yet, of a block and of those inside.
class FirstAppends {
 public:
  explicit FirstAppends(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (is_first(*node)) {
        take(node);
      } else {
        seen_.insert(node->inputs().begin(), node->inputs().end());
      }
    }
    seen_.insert(block.returns().begin(), block.returns().end());
  }

 private:
  // Whether it appends to a list made in its block, every other use of which stands behind it, so
  // that nothing sees the shorter list.
  bool is_first(const Node& node) const {
    if (role_of(node) != ops::Role::kAppend) return false;
    const Node* construct = node.input(0)->node();
    return construct != nullptr && construct->is(NodeKind::kListConstruct) &&
           construct->owner() == node.owner() && node.input(1) != node.input(0) &&
           !seen_.contains(node.input(0));
  }

  // The list is made where it was appended to: the element is known there.
  void take(Node* node) {
    Value* list = node->input(0);
    Node* construct = list->node();
    editor_.add_input(construct, node->input(1));
    seen_.insert(node->input(1));
    editor_.replace_uses(node->output(), list);
    editor_.move_before(construct, node);
    editor_.remove(node);
    context_.count("appended");
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  std::unordered_set<const Value*> seen_;  // By the nodes so far.
};

bool is_append_to(const Node& node, const Value* list) {
  return role_of(node) == ops::Role::kAppend && node.input(0) == list;
}

// Made in the block, and there only appended to and read.
bool grows_between_reads(const Node& construct) {
  const Value* list = construct.output();
  bool has_appends = false;
  for (const ir::Use& use : list->uses()) {
    if (use.user != nullptr && is_append_to(*use.user, list) && use.index == 0) {
      if (use.user->owner() != construct.owner()) return false;
      has_appends = true;
    } else if (!is_only_read_by(use)) {
      return false;
    }
  }
  return has_appends;
}

// One list for each stretch of the block in which the elements stay the same.
class Stretches {
 public:
  Stretches(PassContext& context, Node* construct)
      : context_(context), editor_(context.editor()), construct_(construct) {}

  void run() {
    Value* list = construct_->output();
    items_.assign(construct_->inputs().begin(), construct_->inputs().end());
    std::vector<Node*> appends;
    for (Node* node = construct_->next(); node != nullptr; node = node->next()) {
      if (is_append_to(*node, list)) {
        items_.push_back(node->input(1));
        current_ = nullptr;
        appends.push_back(node);
      } else {
        read(node, list);
      }
    }
    for (Node* append : appends) editor_.remove(append);
    editor_.remove(construct_);
    context_.count("appended", static_cast<int64_t>(appends.size()));
  }

 private:
  void read(Node* node, Value* list) {
    for (const Block* inner : node->blocks()) {
      for (Node* each : inner->nodes()) read(each, list);
    }
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i) == list) editor_.set_input(node, i, list_before(node, list));
    }
  }
  Value* list_before(Node* node, const Value* list) {
    if (current_ != nullptr) return current_;
    while (node->owner() != construct_->owner()) node = node->owner()->parent();
    editor_.set_insert_before(node);
    editor_.set_range(construct_->range());
    Node* made = editor_.create(NodeKind::kListConstruct, items_);
    current_ = editor_.add_output(made, list->type(), list->name());
    editor_.set_range({});
    return current_;
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  Node* construct_;
  std::vector<Value*> items_;
  Value* current_ = nullptr;  // The list of the present stretch, once it is needed.
};

void split_reads(PassContext& context, const Block& block) {
  std::vector<Node*> constructs;
  for (Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) split_reads(context, *inner);
    // What append gives is the list itself.
    if (role_of(*node) == ops::Role::kAppend)
      context.editor().replace_uses(node->output(), node->input(0));
    if (node->is(NodeKind::kListConstruct)) constructs.push_back(node);
  }
  for (Node* construct : constructs) {
    if (grows_between_reads(*construct)) Stretches(context, construct).run();
  }
}

}  // namespace

void remove_list_mutation(PassContext& context) {
  FirstAppends(context).visit_block(context.graph().block());
  split_reads(context, context.graph().block());
}

}  // namespace tierup::passes
