#include "tierup/passes/core/outliner.h"

namespace tierup::passes {

using ir::AttrName;
using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

void Outliner::copy(const Node& node) {
  for_inputs(node, [&](Value* input) { bring(input); });
  editor_.set_range(node.range());
  editor_.set_call_chain(node.call_chain());
  std::vector<Value*> inputs;
  for (Value* input : node.inputs()) inputs.push_back(map_.at(input));
  Node* copy = node.is(NodeKind::kOp) ? editor_.create_bare_op(*node.op())
                                      : editor_.create(node.kind(), inputs);
  if (node.is(NodeKind::kOp)) {
    for (Value* input : inputs) editor_.add_input(copy, input);
  }
  for (const auto& [name, value] : node.attrs()) editor_.set_attr(copy, name, value);
  for (Value* output : node.outputs()) {
    take(output, editor_.add_output(copy, output->type(), output->name()));
  }
  editor_.set_call_chain(nullptr);
  for (const Block* block : node.blocks()) copy_block(*block, copy);
}

void Outliner::keep_ids() {
  for (const auto& [value, copy] : map_) editor_.set_id(copy, value->id());
}

void Outliner::take(Value* from, Value* to) {
  map_[from] = to;
  context_.hints().copy(from, to);
}

// A value from outside becomes a parameter, a constant is made again.
void Outliner::bring(Value* value) {
  if (map_.contains(value) || is_inner(value)) return;
  if (value->node() != nullptr && value->node()->is(NodeKind::kConstant)) {
    take(value, editor_.constant(value->node()->attr<IValue>(AttrName::kValue), value->type()));
    return;
  }
  captures_.push_back(value);
  take(value, editor_.add_param(&graph_->block(), value->type(), value->name()));
}

// Made inside the blocks of the node being copied.
bool Outliner::is_inner(const Value* value) const {
  const Block* block = value->node() != nullptr ? value->node()->owner() : value->block();
  if (block == home_) return false;
  while (block != nullptr && block != home_) {
    block = block->parent() != nullptr ? block->parent()->owner() : nullptr;
  }
  return block == home_;
}

void Outliner::copy_block(const Block& block, Node* owner) {
  Block* copy = editor_.add_block(owner);
  for (Value* param : block.params()) {
    take(param, editor_.add_param(copy, param->type(), param->name()));
  }
  editor_.set_insert_end(copy);
  for (Value* value : editor_.inline_block(block, map_)) editor_.add_return(copy, value);
  editor_.set_insert_end(&graph_->block());
}

}  // namespace tierup::passes
