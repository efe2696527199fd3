// Every edit keeps three things in step: the linked list of nodes, the use lists of values, and
// the positions (Value::index, Use::index) that both sides hold of each other.
#include "tierup/ir/graph_editor.h"

#include <algorithm>

namespace tierup::ir {
namespace {

// Whether another value stands for this constant already.
bool is_given(const Node& node, const ValueMap& map) {
  if (!node.is(NodeKind::kConstant)) return false;
  const auto found = map.find(node.output());
  return found != map.end() && found->second != node.output();
}

}  // namespace

void GraphEditor::set_insert_after(Node* node) {
  block_ = node->owner_;
  before_ = node->next_;
}

Value* GraphEditor::new_value(TypePtr type, std::string name) {
  Value& value = graph_->values_.make();
  value.type_ = std::move(type);
  value.name_ = std::move(name);
  value.id_ = graph_->next_id_++;
  ++edit_count_;
  return &value;
}

void GraphEditor::drop_use(Value* value, const Use& use) {
  // From both ends: sweeps drop uses in order, forwards or backwards.
  auto& uses = value->uses_;
  for (size_t i = 0; 2 * i < uses.size(); ++i) {
    const size_t last = uses.size() - 1 - i;
    if (uses[last] == use || uses[i] == use) {
      uses.erase(uses.begin() + static_cast<ptrdiff_t>(uses[last] == use ? last : i));
      return;
    }
  }
  TIERUP_CHECK(false);
}

void GraphEditor::link(Node* node, Block* block, Node* before) {
  node->owner_ = block;
  node->next_ = before;
  node->previous_ = before != nullptr ? before->previous_ : block->last_;
  (node->previous_ != nullptr ? node->previous_->next_ : block->first_) = node;
  (before != nullptr ? before->previous_ : block->last_) = node;
  ++edit_count_;
}

void GraphEditor::unlink(Node* node) {
  Block* block = node->owner_;
  (node->previous_ != nullptr ? node->previous_->next_ : block->first_) = node->next_;
  (node->next_ != nullptr ? node->next_->previous_ : block->last_) = node->previous_;
  node->owner_ = nullptr;
  node->next_ = nullptr;
  node->previous_ = nullptr;
  ++edit_count_;
}

Node* GraphEditor::create(NodeKind kind, std::span<Value* const> inputs) {
  Node* node = &graph_->nodes_.make();
  node->kind_ = kind;
  node->range_ = range_;
  node->call_chain_ = chain_;
  link(node, block_, before_);
  for (Value* input : inputs) add_input(node, input);
  return node;
}

Node* GraphEditor::create_op(const Operator& op, std::span<Value* const> inputs) {
  Node* node = create_bare_op(op);
  for (Value* input : inputs) add_input(node, input);
  for (const Argument& result : op.schema().returns) add_output(node, result.type);
  return node;
}

Node* GraphEditor::create_bare_op(const Operator& op) {
  Node* node = create(NodeKind::kOp);
  node->op_ = &op;
  return node;
}

Value* GraphEditor::constant(IValue value, TypePtr type) {
  if (type == nullptr) type = value.type();
  Node* node = create(NodeKind::kConstant);
  set_attr(node, AttrName::kValue, std::move(value));
  return add_output(node, std::move(type));
}

Value* GraphEditor::add_output(Node* node, TypePtr type, std::string name) {
  Value* value = new_value(std::move(type), std::move(name));
  value->node_ = node;
  value->index_ = node->outputs_.size();
  node->outputs_.push_back(value);
  return value;
}

Block* GraphEditor::add_block(Node* node) {
  Block* block = &graph_->blocks_.make();
  block->parent_ = node;
  node->blocks_.push_back(block);
  ++edit_count_;
  return block;
}

Value* GraphEditor::add_param(Block* block, TypePtr type, std::string name) {
  Value* value = new_value(std::move(type), std::move(name));
  value->block_ = block;
  value->index_ = block->params_.size();
  block->params_.push_back(value);
  return value;
}

void GraphEditor::add_return(Block* block, Value* value) {
  value->uses_.push_back({nullptr, block, block->returns_.size()});
  block->returns_.push_back(value);
  ++edit_count_;
}

void GraphEditor::insert_return(Block* block, size_t index, Value* value) {
  TIERUP_CHECK(index <= block->returns_.size());
  for (size_t i = block->returns_.size(); i-- > index;) {
    move_use(block->returns_[i], {nullptr, block, i}, i + 1);
  }
  block->returns_.insert(block->returns_.begin() + static_cast<ptrdiff_t>(index), value);
  value->uses_.push_back({nullptr, block, index});
  ++edit_count_;
}

void GraphEditor::move_use(Value* value, const Use& use, size_t index) {
  const auto found = std::find(value->uses_.begin(), value->uses_.end(), use);
  TIERUP_CHECK(found != value->uses_.end());
  found->index = index;
}

void GraphEditor::add_input(Node* node, Value* value) {
  value->uses_.push_back({node, nullptr, node->inputs_.size()});
  node->inputs_.push_back(value);
  ++edit_count_;
}

void GraphEditor::insert_input(Node* node, size_t index, Value* value) {
  TIERUP_CHECK(index <= node->inputs_.size());
  for (size_t i = node->inputs_.size(); i-- > index;) {
    move_use(node->inputs_[i], {node, nullptr, i}, i + 1);
  }
  node->inputs_.insert(node->inputs_.begin() + static_cast<ptrdiff_t>(index), value);
  value->uses_.push_back({node, nullptr, index});
  ++edit_count_;
}

Value* GraphEditor::insert_output(Node* node, size_t index, TypePtr type, std::string name) {
  Value* value = add_output(node, std::move(type), std::move(name));
  const auto begin = node->outputs_.begin();
  std::rotate(begin + static_cast<ptrdiff_t>(index), node->outputs_.end() - 1,
              node->outputs_.end());
  for (size_t i = index; i < node->outputs_.size(); ++i) node->outputs_[i]->index_ = i;
  return value;
}

Value* GraphEditor::insert_param(Block* block, size_t index, TypePtr type, std::string name) {
  Value* value = add_param(block, std::move(type), std::move(name));
  const auto begin = block->params_.begin();
  std::rotate(begin + static_cast<ptrdiff_t>(index), block->params_.end() - 1,
              block->params_.end());
  for (size_t i = index; i < block->params_.size(); ++i) block->params_[i]->index_ = i;
  return value;
}

void GraphEditor::set_attr(Node* node, AttrName name, AttrValue value) {
  ++edit_count_;
  for (auto& [key, held] : node->attrs_) {
    if (key != name) continue;
    held = std::move(value);
    return;
  }
  node->attrs_.emplace_back(name, std::move(value));
}

void GraphEditor::set_type(Value* value, TypePtr type) {
  value->type_ = std::move(type);
  ++edit_count_;
}

void GraphEditor::set_name(Value* value, std::string name) { value->name_ = std::move(name); }

void GraphEditor::set_id(Value* value, int id) {
  value->id_ = id;
  graph_->next_id_ = std::max(graph_->next_id_, id + 1);
}

void GraphEditor::set_node_range(Node* node, SourceRange range) { node->range_ = std::move(range); }

void GraphEditor::set_input(Node* node, size_t index, Value* value) {
  if (node->inputs_[index] == value) return;
  drop_use(node->inputs_[index], {node, nullptr, index});
  node->inputs_[index] = value;
  value->uses_.push_back({node, nullptr, index});
  ++edit_count_;
}

void GraphEditor::set_return(Block* block, size_t index, Value* value) {
  if (block->returns_[index] == value) return;
  drop_use(block->returns_[index], {nullptr, block, index});
  block->returns_[index] = value;
  value->uses_.push_back({nullptr, block, index});
  ++edit_count_;
}

void GraphEditor::remove_input(Node* node, size_t index) {
  drop_use(node->inputs_[index], {node, nullptr, index});
  node->inputs_.erase(node->inputs_.begin() + static_cast<ptrdiff_t>(index));
  for (size_t i = index; i < node->inputs_.size(); ++i) {
    move_use(node->inputs_[i], {node, nullptr, i + 1}, i);
  }
  ++edit_count_;
}

void GraphEditor::remove_output(Node* node, size_t index) {
  TIERUP_CHECK(node->outputs_[index]->uses_.empty());
  node->outputs_[index]->node_ = nullptr;
  node->outputs_.erase(node->outputs_.begin() + static_cast<ptrdiff_t>(index));
  for (size_t i = index; i < node->outputs_.size(); ++i) node->outputs_[i]->index_ = i;
  ++edit_count_;
}

void GraphEditor::remove_param(Block* block, size_t index) {
  TIERUP_CHECK(block->params_[index]->uses_.empty());
  block->params_[index]->block_ = nullptr;
  block->params_.erase(block->params_.begin() + static_cast<ptrdiff_t>(index));
  for (size_t i = index; i < block->params_.size(); ++i) block->params_[i]->index_ = i;
  ++edit_count_;
}

void GraphEditor::remove_return(Block* block, size_t index) {
  drop_use(block->returns_[index], {nullptr, block, index});
  block->returns_.erase(block->returns_.begin() + static_cast<ptrdiff_t>(index));
  for (size_t i = index; i < block->returns_.size(); ++i) {
    move_use(block->returns_[i], {nullptr, block, i + 1}, i);
  }
  ++edit_count_;
}

void GraphEditor::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  for (const Use& use : from->uses_) {
    (use.user != nullptr ? use.user->inputs_[use.index] : use.block->returns_[use.index]) = to;
    to->uses_.push_back(use);
  }
  from->uses_.clear();
  ++edit_count_;
}

void GraphEditor::clear_block(Block* block) {
  while (!block->returns_.empty()) remove_return(block, block->returns_.size() - 1);
  while (block->last_ != nullptr) remove(block->last_);
}

void GraphEditor::remove(Node* node) {
  for (const Value* output : node->outputs_) TIERUP_CHECK(output->uses_.empty());
  for (Block* block : node->blocks_) clear_block(block);
  for (size_t i = 0; i < node->inputs_.size(); ++i) drop_use(node->inputs_[i], {node, nullptr, i});
  node->inputs_.clear();
  node->attrs_.clear();
  if (before_ == node) before_ = node->next_;
  unlink(node);
}

void GraphEditor::move_before(Node* node, Node* position) {
  if (node == position) return;
  unlink(node);
  link(node, position->owner_, position);
}

void GraphEditor::move_to_end(Node* node, Block* block) {
  unlink(node);
  link(node, block, nullptr);
}

Node* GraphEditor::copy_node(const Node& source, ValueMap& map, ChainCache& chains) {
  Node* node = create(source.kind_);
  node->op_ = source.op_;
  node->range_ = source.range_;
  node->call_chain_ = chains.extend(source.call_chain_, chain_);
  node->attrs_ = source.attrs_;
  for (const Value* input : source.inputs_) add_input(node, mapped(input, map));
  for (const Value* output : source.outputs_) {
    map[output] = add_output(node, output->type_, output->name_);
  }
  for (const Block* inner : source.blocks_) {
    Block* block = add_block(node);
    for (const Value* param : inner->params_) {
      map[param] = add_param(block, param->type_, param->name_);
    }
    Block* const outer_block = block_;
    Node* const outer_before = before_;
    set_insert_end(block);
    for (const Node* inner_node : inner->nodes()) {
      if (!is_given(*inner_node, map)) copy_node(*inner_node, map, chains);
    }
    for (const Value* value : inner->returns_) add_return(block, mapped(value, map));
    block_ = outer_block;
    before_ = outer_before;
  }
  return node;
}

Value* GraphEditor::mapped(const Value* value, const ValueMap& map) {
  const auto found = map.find(value);
  TIERUP_CHECK(found != map.end());
  return found->second;
}

const CallChain& GraphEditor::ChainCache::extend(const CallChain& inner, const CallChain& outer) {
  if (inner == nullptr || inner->empty()) return outer;
  if (outer == nullptr || outer->empty()) return inner;
  CallChain& joined = joined_[inner.get()];
  if (joined == nullptr) {
    auto calls = std::make_shared<std::vector<CallPlace>>(*inner);
    calls->insert(calls->end(), outer->begin(), outer->end());
    joined = std::move(calls);
  }
  return joined;
}

std::vector<Value*> GraphEditor::inline_block(const Block& source, ValueMap& map) {
  ChainCache chains;
  for (const Node* node : source.nodes()) {
    if (!is_given(*node, map)) copy_node(*node, map, chains);
  }
  std::vector<Value*> returns;
  returns.reserve(source.returns_.size());
  for (const Value* value : source.returns_) returns.push_back(mapped(value, map));
  return returns;
}

}  // namespace tierup::ir
