// See constant_pooling.h.
#include "tierup/passes/cleanup/constant_pooling.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

size_t hash_of(const IValue& value) {
  const auto tag = static_cast<size_t>(value.tag());
  switch (value.tag()) {
    case IValue::Tag::kInt:
    case IValue::Tag::kBool: return std::hash<int64_t>()(value.to_int()) * 31 + tag;
    case IValue::Tag::kFloat: return std::bit_cast<uint64_t>(value.to_float()) * 31 + tag;
    case IValue::Tag::kStr: return std::hash<std::string>()(value.to_str());
    case IValue::Tag::kList: return value.to_list().items.size() * 31 + tag;
    case IValue::Tag::kTensor: return std::bit_cast<size_t>(value.tensor_impl());
    default: return tag;
  }
}

class ConstantPool {
 public:
  explicit ConstantPool(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (node->is(NodeKind::kConstant)) visit_constant(node);
    }
  }

 private:
  void visit_constant(Node* node) {
    const IValue& value = node->attr<IValue>(ir::AttrName::kValue);
    if (value.is_list() && !is_only_read(node->output())) {
      move_to_head(node);
      return;
    }
    std::vector<Node*>& same_hash = pool_[hash_of(value)];
    for (Node* kept : same_hash) {
      if (!same_constant(kept->attr<IValue>(ir::AttrName::kValue), value) ||
          !equal(kept->output()->type(), node->output()->type())) {
        continue;
      }
      editor_.replace_uses(node->output(), kept->output());
      editor_.remove(node);
      context_.count("merged");
      return;
    }
    same_hash.push_back(node);
    move_to_head(node);
  }

  void move_to_head(Node* node) {
    const Block& block = context_.graph().block();
    Node* const place = last_ != nullptr ? last_->next() : block.first();
    if (place != node) {
      if (place != nullptr) {
        editor_.move_before(node, place);
      } else {
        editor_.move_to_end(node, &context_.graph().block());
      }
    }
    last_ = node;
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  std::unordered_map<size_t, std::vector<Node*>> pool_;
  Node* last_ = nullptr;  // The last constant of the head.
};

}  // namespace

void constant_pooling(PassContext& context) {
  ConstantPool(context).visit_block(context.graph().block());
}

}  // namespace tierup::passes
