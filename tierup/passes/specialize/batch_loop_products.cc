#include "tierup/passes/specialize/batch_loop_products.h"

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::Role;

namespace {

bool is_true(const Value* value) {
  const IValue* constant = constant_of(value);
  return constant != nullptr && constant->is_bool() && constant->to_bool();
}

bool is_zero(const Value* value) {
  const IValue* constant = constant_of(value);
  return constant != nullptr && constant->is_int() && constant->to_int() == 0;
}

// Whether a value is made by the block or one inside of it.
bool is_inside(const Value* value, const Block& block) {
  const Block* at = value->node() != nullptr ? value->node()->owner() : value->block();
  while (at != nullptr && at != &block)
    at = at->parent() != nullptr ? at->parent()->owner() : nullptr;
  return at == &block;
}

class Batcher {
 public:
  explicit Batcher(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit(*inner);
      if (node->is(NodeKind::kLoop)) visit_loop(*node);
    }
  }

 private:
  struct Product {
    Node* product;
    Node* slice;
  };

  void visit_loop(Node& loop) {
    const Block& body = *loop.block();
    if (!is_true(loop.input(1)) || !is_true(body.returns()[0])) return;
    const Node* size = loop.input(0)->node();
    if (size == nullptr || role_of(*size) != Role::kSize || !is_zero(size->input(1))) return;
    std::vector<Product> found;
    for (Node* node : body.nodes()) {
      if (const auto slice = slice_of(*node, body, *size)) found.push_back({node, slice});
    }
    for (const Product& one : found) batch(loop, one);
  }

  // The node that takes this trip's part of the sized tensor for a product, or null.
  Node* slice_of(const Node& node, const Block& body, const Node& size) {
    if (role_of(node) != Role::kLinear) return nullptr;
    Node* slice = node.input(0)->node();
    if (slice == nullptr || role_of(*slice) != Role::kSelect || slice->owner() != &body ||
        slice->input(0) != size.input(0) || !is_zero(slice->input(1)) ||
        slice->input(2) != body.params()[0] || !has_rank(slice->input(0))) {
      return nullptr;
    }
    const analysis::AliasAnalysis& alias = context_.alias();
    for (size_t i = 1; i < node.inputs().size(); ++i) {
      const Value* input = node.input(i);
      if (constant_of(input) != nullptr) continue;
      if (is_inside(input, body) || alias.has_writers(input)) return nullptr;
    }
    const bool is_written = alias.has_writers(slice->input(0)) || alias.has_writers(node.output());
    return is_written || is_inside(slice->input(0), body) ? nullptr : slice;
  }

  bool has_rank(const Value* value) {
    const TensorFacts* hint = context_.hints().find(value);
    const auto& sizes = value->type()->facts().sizes;
    if (sizes) return sizes->size() >= 2;
    return hint != nullptr && hint->sizes && hint->sizes->size() >= 2;
  }

  // Nothing is computed, and nothing raised, for a loop without trips.
  Value* make_product(Node& loop, const Node& node, Value* rows) {
    editor_.set_insert_before(&loop);
    editor_.set_range(node.range());
    editor_.set_call_chain(node.call_chain());
    Node* test =
        editor_.create_op(context_.table().with(Role::kGreater),
                          std::vector<Value*>{loop.input(0), editor_.constant(int64_t{0})});
    Node* choice = editor_.create(NodeKind::kIf, {test->output()});
    Block* yes = editor_.add_block(choice);
    Block* no = editor_.add_block(choice);
    editor_.set_insert_end(yes);
    std::vector<Value*> inputs(node.inputs().begin(), node.inputs().end());
    inputs[0] = rows;
    for (Value*& input : inputs) {  // Those of the body are not known here.
      if (const IValue* constant = constant_of(input)) {
        input = editor_.constant(*constant, input->type());
      }
    }
    editor_.add_return(yes, editor_.create_op(*node.op(), inputs)->output());
    editor_.set_insert_end(no);
    editor_.add_return(no, rows);
    return editor_.add_output(choice, Type::tensor());
  }

  void batch(Node& loop, const Product& one) {
    Node* node = one.product;
    Value* products = make_product(loop, *node, one.slice->input(0));
    editor_.set_insert_before(node);
    std::vector<Value*> inputs(one.slice->inputs().begin(), one.slice->inputs().end());
    inputs[0] = products;
    Value* result = editor_.create_op(*one.slice->op(), inputs)->output();
    editor_.set_type(result, node->output()->type());
    context_.hints().copy(node->output(), result);
    editor_.replace_uses(node->output(), result);
    editor_.remove(node);
    if (one.slice->output()->uses().empty()) editor_.remove(one.slice);
    context_.count("batched");
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void batch_loop_products(PassContext& context) { Batcher(context).visit(context.graph().block()); }

}  // namespace tierup::passes
