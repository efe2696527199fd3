// Outputs of Ifs and Loops are split first: a TupleUnpack goes into the block before its return, a
// TupleConstruct behind the node. Then one sweep forwards elements, which cancels both.
#include "tierup/passes/cleanup/lower_tuples.h"

#include <algorithm>

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

bool is_tuple(const Value* value) { return value->type()->is(TypeKind::kTuple); }

bool is_built(const Value* value) {
  return is_tuple(value) && value->node() != nullptr &&
         value->node()->is(NodeKind::kTupleConstruct);
}

bool is_taken_apart(const Value* value) {
  return std::all_of(value->uses().begin(), value->uses().end(), [](const ir::Use& use) {
    return use.user != nullptr &&
           (use.user->is(NodeKind::kTupleIndex) || use.user->is(NodeKind::kTupleUnpack) ||
            use.user->is(NodeKind::kTupleSlice));
  });
}

class TupleSplitter {
 public:
  explicit TupleSplitter(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (node->is(NodeKind::kIf)) split_if(node);
      if (node->is(NodeKind::kLoop)) split_loop(node);
    }
  }

 private:
  void split_if(Node* node) {
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value* output = node->output(i);
      const auto built = [&](const Block* block) { return is_built(block->returns()[i]); };
      const auto blocks = node->blocks();
      if (!is_tuple(output) || !std::any_of(blocks.begin(), blocks.end(), built)) continue;
      if (!std::all_of(blocks.begin(), blocks.end(), built) && !is_taken_apart(output)) continue;
      for (Block* block : blocks) split_return(block, i);
      split_output(node, i);
      --i;  // The first element stands where the tuple was; it may be a tuple itself.
    }
  }

  void split_loop(Node* node) {
    Block* body = node->block();
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value* param = body->params()[i + 1];
      if (!is_built(node->input(i + 2)) || !is_built(body->returns()[i + 1]) || !is_tuple(param) ||
          !is_tuple(node->output(i)) ||
          param->type()->elements().size() != node->output(i)->type()->elements().size()) {
        continue;
      }
      split_return(body, i + 1);
      split_input(node, i + 2);
      split_param(body, i + 1);
      split_output(node, i);
      --i;
    }
  }

  // The elements of a tuple, as they went into it if it was made in the graph.
  std::vector<Value*> unpack_here(Value* tuple) {
    if (is_built(tuple)) {
      const auto inputs = tuple->node()->inputs();
      return {inputs.begin(), inputs.end()};
    }
    Node* unpack = editor_.create(NodeKind::kTupleUnpack, {tuple});
    std::vector<Value*> elements;
    for (const TypePtr& type : tuple->type()->elements()) {
      elements.push_back(editor_.add_output(unpack, type));
    }
    return elements;
  }

  // A tuple of new values, each made by `make(type)`, in place of `old`, whose position they take.
  template <typename Make>
  Value* construct_here(const TypePtr& type, const Make& make) {
    std::vector<Value*> elements;
    for (const TypePtr& element : type->elements()) elements.push_back(make(element));
    Node* construct = editor_.create(NodeKind::kTupleConstruct, elements);
    return editor_.add_output(construct, type);
  }

  void split_return(Block* block, size_t index) {
    editor_.set_insert_end(block);
    const std::vector<Value*> elements = unpack_here(block->returns()[index]);
    editor_.remove_return(block, index);
    for (size_t i = 0; i < elements.size(); ++i) {
      editor_.insert_return(block, index + i, elements[i]);
    }
  }

  void split_input(Node* node, size_t index) {
    editor_.set_insert_before(node);
    const std::vector<Value*> elements = unpack_here(node->input(index));
    editor_.remove_input(node, index);
    for (size_t i = 0; i < elements.size(); ++i) editor_.insert_input(node, index + i, elements[i]);
  }

  void split_param(Block* body, size_t index) {
    Value* old = body->params()[index];
    size_t at = index + 1;
    if (body->first() != nullptr) {
      editor_.set_insert_before(body->first());
    } else {
      editor_.set_insert_end(body);
    }
    Value* tuple = construct_here(
        old->type(), [&](const TypePtr& type) { return editor_.insert_param(body, at++, type); });
    editor_.replace_uses(old, tuple);
    editor_.remove_param(body, index);
  }

  void split_output(Node* node, size_t index) {
    Value* old = node->output(index);
    size_t at = index + 1;
    editor_.set_insert_after(node);
    Value* tuple = construct_here(
        old->type(), [&](const TypePtr& type) { return editor_.insert_output(node, at++, type); });
    editor_.replace_uses(old, tuple);
    editor_.remove_output(node, index);
    context_.count("split");
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

void forward_block(PassContext& context, const Block& block) {
  for (Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) forward_block(context, *inner);
    forward_tuple(context, node);
  }
}

}  // namespace

bool forward_tuple(PassContext& context, Node* node) {
  const bool is_index = node->is(NodeKind::kTupleIndex);
  const bool is_unpack = node->is(NodeKind::kTupleUnpack);
  const bool is_slice = node->is(NodeKind::kTupleSlice);
  if (!is_index && !is_unpack && !is_slice) return false;
  if (!is_built(node->input())) return false;
  ir::GraphEditor& editor = context.editor();
  Node* construct = node->input()->node();
  if (is_index) {
    const auto index = static_cast<size_t>(node->attr<int64_t>(ir::AttrName::kIndex));
    editor.replace_uses(node->output(), construct->input(index));
  } else if (is_unpack) {
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      editor.replace_uses(node->output(i), construct->input(i));
    }
  } else {
    const auto begin = static_cast<size_t>(node->attr<int64_t>(ir::AttrName::kBegin));
    const auto end = static_cast<size_t>(node->attr<int64_t>(ir::AttrName::kEnd));
    editor.set_insert_before(node);
    Node* part =
        editor.create(NodeKind::kTupleConstruct, construct->inputs().subspan(begin, end - begin));
    editor.replace_uses(node->output(), editor.add_output(part, node->output()->type()));
  }
  editor.remove(node);
  context.count("lowered");
  return true;
}

void lower_tuples(PassContext& context) {
  const Block& block = context.graph().block();
  forward_block(context, block);
  TupleSplitter(context).visit_block(block);
  forward_block(context, block);
}

}  // namespace tierup::passes
