// Appends in a line are part of what makes the list; reads between appends get a list of their own.
#include <algorithm>

#include "tierup/passes/remove_mutation.h"
#include "tierup/passes/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

void append_in_block(PassContext& context, const Block& block) {
  ir::GraphEditor& editor = context.editor();
  for (Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) append_in_block(context, *inner);
    if (role_of(*node) != ops::Role::kAppend) continue;
    Value* list = node->input(0);
    Node* construct = list->node();
    if (construct == nullptr || !construct->is(NodeKind::kListConstruct) ||
        construct->owner() != &block) {
      continue;
    }
    // Every other use stands behind the append, so that nothing sees the shorter list.
    const bool is_first =
        std::all_of(list->uses().begin(), list->uses().end(), [&](const ir::Use& use) {
          if (use.user == node) return use.index == 0;
          const Node* place = place_of(use, &block);
          return place == nullptr || is_before(node, place);
        });
    if (!is_first) continue;
    // The list is made where it was appended to: the element is known there.
    editor.add_input(construct, node->input(1));
    editor.replace_uses(node->output(), list);
    editor.move_before(construct, node);
    editor.remove(node);
    context.count("appended");
  }
}

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
  append_in_block(context, context.graph().block());
  split_reads(context, context.graph().block());
}

}  // namespace tierup::passes
