// See number_constants.h.
#include "tierup/passes/cleanup/number_constants.h"

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;

namespace {

bool stands_for_number(const IValue* constant) {
  if (constant == nullptr || !constant->is_tensor()) return false;
  const Tensor& tensor = constant->to_tensor();
  return tensor.defined() && tensor.dim() == 0 && tensor.dtype() != ScalarType::kBool;
}

// But for the second one, and for which of them are given by name alone.
bool same_arguments(const ir::Schema& a, const ir::Schema& b) {
  if (a.arguments.size() != b.arguments.size()) return false;
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    const ir::Argument& x = a.arguments[i];
    const ir::Argument& y = b.arguments[i];
    if (x.name != y.name) return false;
    if (i != 1 && !equal(x.type, y.type)) return false;
  }
  return true;
}

// The overload that takes a number where this one takes its second tensor; null if there is none.
const ops::Op* number_overload(const ops::OpTable& table, const ir::Schema& schema) {
  for (const ops::Op* op : table.overloads(schema.name)) {
    if (same_arguments(op->schema(), schema) &&
        op->schema().arguments[1].type->is(TypeKind::kNumber)) {
      return op;
    }
  }
  return nullptr;
}

class NumberConstants {
 public:
  explicit NumberConstants(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit(const Block& block) {
    std::vector<Node*> nodes;
    for (Node* node : block.nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      for (const Block* inner : node->blocks()) visit(*inner);
      if (role_of(*node) != ops::Role::kArithmetic) continue;
      const IValue* constant = constant_of(node->input(1));
      if (stands_for_number(constant)) rewrite(node, constant->to_tensor());
    }
  }

 private:
  void rewrite(Node* node, const Tensor& constant) {
    editor_.set_insert_before(node);
    const ops::Op* op = number_overload(context_.table(), node->op()->schema());
    if (op == nullptr && constant.impl()->wrapped_number) return;
    context_.count("rewritten");
    if (op != nullptr) return replace(node, *op, number(constant));
    Tensor number = constant.detach();
    number.impl()->wrapped_number = true;
    editor_.set_input(node, 1, editor_.constant(IValue(std::move(number))));
  }

  static IValue number(const Tensor& constant) { return IValue(IValue(constant).to_scalar()); }

  void replace(Node* node, const ops::Op& op, IValue number) {
    std::vector<ir::Value*> inputs(node->inputs().begin(), node->inputs().end());
    inputs[1] = editor_.constant(std::move(number));
    editor_.set_range(node->range());
    ir::Value* result = editor_.create_op(op, inputs)->output();
    editor_.set_range({});
    editor_.set_type(result, node->output()->type());
    editor_.set_name(result, node->output()->name());
    context_.hints().copy(node->output(), result);
    editor_.replace_uses(node->output(), result);
    editor_.remove(node);
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void number_constants(PassContext& context) {
  NumberConstants(context).visit(context.graph().block());
}

}  // namespace tierup::passes
