// Blocks are gone over from the back, so that a use that goes away frees what stands before it.
#include "tierup/passes/cleanup/canonicalize.h"

#include <algorithm>

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

class Canonicalizer {
 public:
  explicit Canonicalizer(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) {
    for (Node* node = block.last(); node != nullptr;) {
      Node* previous = node->previous();
      for (const Block* inner : node->blocks()) visit_block(*inner);
      visit_node(node);
      node = previous;
    }
  }

 private:
  void visit_node(Node* node) {
    switch (node->kind()) {
      case NodeKind::kUncheckedCast: return remove_cast(node);
      case NodeKind::kListUnpack: return remove_list_unpack(node);
      case NodeKind::kTupleConstruct: return remove_rebuilt_tuple(node);
      case NodeKind::kIf: return trim_if(node);
      case NodeKind::kLoop: return trim_loop(node);
      default: return;
    }
  }

  void remove_cast(Node* node) {
    if (!is_subtype(node->input()->type(), node->output()->type())) return;
    editor_.replace_uses(node->output(), node->input());
    editor_.remove(node);
    context_.count("casts");
  }

  void remove_list_unpack(Node* node) {
    Node* construct = node->input()->node();
    if (construct == nullptr || !construct->is(NodeKind::kListConstruct)) return;
    if (node->input()->uses().size() != 1) return;
    if (construct->inputs().size() != node->outputs().size()) return;  // Raises when it runs.
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      editor_.replace_uses(node->output(i), construct->input(i));
    }
    editor_.remove(node);
    context_.count("lists");
  }

  void remove_rebuilt_tuple(Node* node) {
    if (node->inputs().empty()) return;
    Node* unpack = node->input(0)->node();
    if (unpack == nullptr || !unpack->is(NodeKind::kTupleUnpack)) return;
    if (!std::equal(node->inputs().begin(), node->inputs().end(), unpack->outputs().begin(),
                    unpack->outputs().end())) {
      return;
    }
    if (!is_subtype(unpack->input()->type(), node->output()->type())) return;
    editor_.replace_uses(node->output(), unpack->input());
    editor_.remove(node);
    context_.count("tuples");
  }

  void trim_if(Node* node) {
    for (size_t i = node->outputs().size(); i-- > 0;) {
      if (!node->output(i)->uses().empty()) continue;
      for (Block* block : node->blocks()) editor_.remove_return(block, i);
      editor_.remove_output(node, i);
      context_.count("outputs");
    }
  }

  void trim_loop(Node* node) {
    Block* body = node->block();
    for (size_t i = node->outputs().size(); i-- > 0;) {
      Value* param = body->params()[i + 1];
      Value* next = body->returns()[i + 1];
      const bool is_constant =
          next == param && is_subtype(node->input(i + 2)->type(), param->type());
      if (is_constant) {
        editor_.replace_uses(param, node->input(i + 2));
        editor_.replace_uses(node->output(i), node->input(i + 2));
      }
      // Unused, and not even carried for its own sake.
      if (!node->output(i)->uses().empty() || !param->uses().empty()) continue;
      editor_.remove_return(body, i + 1);
      editor_.remove_param(body, i + 1);
      editor_.remove_input(node, i + 2);
      editor_.remove_output(node, i);
      context_.count("outputs");
    }
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void canonicalize(PassContext& context) {
  Canonicalizer(context).visit_block(context.graph().block());
}

}  // namespace tierup::passes
