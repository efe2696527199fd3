// See number_constants.h.
#include "tierup/passes/cleanup/number_constants.h"

#include <algorithm>
#include <unordered_set>

#include "tierup/passes/core/run_operator.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::Value;

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

// Gives arithmetic numbers for the constants that stand for them.
class NumberOperands {
 public:
  explicit NumberOperands(PassContext& context) : context_(context), editor_(context.editor()) {}

  void rewrite(Node* node, const Tensor& constant) {
    editor_.set_insert_before(node);
    const ops::Op* op = number_overload(context_.table(), node->op()->schema());
    if (op == nullptr && constant.impl()->wrapped_number) return;
    context_.count("rewritten");
    if (op != nullptr) return replace(node, *op, IValue(IValue(constant).to_scalar()));
    Tensor number = constant.detach();
    number.impl()->wrapped_number = true;
    editor_.set_input(node, 1, editor_.constant(IValue(std::move(number))));
  }

 private:
  void replace(Node* node, const ops::Op& op, IValue number) {
    std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
    inputs[1] = editor_.constant(std::move(number));
    editor_.set_range(node->range());
    Value* result = editor_.create_op(op, inputs)->output();
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

std::vector<Node*> nodes_of(const Block& block) {
  std::vector<Node*> nodes;
  for (Node* node : block.nodes()) nodes.push_back(node);
  return nodes;
}

void visit_constants(NumberOperands& operands, const Block& block) {
  for (Node* node : nodes_of(block)) {
    for (const Block* inner : node->blocks()) visit_constants(operands, *inner);
    if (role_of(*node) != ops::Role::kArithmetic) continue;
    const IValue* constant = constant_of(node->input(1));
    if (stands_for_number(constant)) operands.rewrite(node, constant->to_tensor());
  }
}

// Computes what is made of numbers alone by way of tensors without dimensions.
class NumberTensors {
 public:
  explicit NumberTensors(PassContext& context)
      : context_(context), editor_(context.editor()), operands_(context) {}

  void visit(const Block& block) {
    for (Node* node : nodes_of(block)) {
      for (const Block* inner : node->blocks()) visit(*inner);
      if (node->is(ir::NodeKind::kOp) && !fold(node)) take_number(node);
    }
  }

 private:
  // A tensor that is nothing but a number: (number) -> Tensor.
  static bool makes_tensor_of_number(const ops::Op& op) {
    const auto& arguments = op.schema().arguments;
    return arguments.size() == 1 &&
           (arguments[0].type->is(TypeKind::kNumber) || arguments[0].type->is(TypeKind::kBool));
  }

  bool is_made(const Value* value) const { return made_.contains(value); }

  // A constant that is no more than a number, and stays as it is.
  bool is_number(const Value* value, const IValue& constant) const {
    if (is_plain(constant) || is_made(value)) return true;
    return stands_for_number(&constant) && !constant.to_tensor().requires_grad() &&
           is_only_read(value);
  }

  // From numbers, point-wise or to a number. What is written or handed on is to be a tensor of its
  // own in each run.
  bool can_fold(const Node& node, const ops::Op& op) const {
    if (node.outputs().size() != 1 || !can_run(node, op)) return false;
    const bool gives_tensor = is_tensor(node.output());
    if (gives_tensor && !is_only_read(node.output())) return false;
    const bool has_tensor = std::any_of(node.inputs().begin(), node.inputs().end(),
                                        [](const Value* input) { return is_tensor(input); });
    if (!has_tensor) return gives_tensor && makes_tensor_of_number(op);
    return !gives_tensor || op.body() != nullptr;
  }

  bool fold(Node* node) {
    const ops::Op& op = ops::op_of(*node->op());
    if (!can_fold(*node, op)) return false;
    std::vector<IValue> arguments;
    for (const Value* input : node->inputs()) {
      const IValue* constant = constant_of(input);
      if (constant == nullptr || !is_number(input, *constant)) return false;
      arguments.push_back(*constant);
    }
    auto results = run_operator(context_, op, arguments, 1);
    if (!results) return false;
    IValue& result = results->front();
    if (result.is_tensor() ? result.to_tensor().dim() != 0 : !is_plain(result)) return false;
    editor_.set_insert_before(node);
    editor_.set_range(node->range());
    const bool is_of_tensor = result.is_tensor();
    Value* constant = editor_.constant(std::move(result), node->output()->type());
    editor_.set_range({});
    editor_.set_name(constant, node->output()->name());
    editor_.replace_uses(node->output(), constant);
    editor_.remove(node);
    if (is_of_tensor) made_.insert(constant);
    context_.count("folded");
    return true;
  }

  // Beside elements of float or double, a tensor without dimensions and a number are the same.
  void take_number(Node* node) {
    if (role_of(*node) != ops::Role::kArithmetic || !is_made(node->input(1))) return;
    const TensorFacts& facts = node->input(0)->type()->facts();
    if (!facts.sizes || facts.sizes->empty()) return;
    if (facts.dtype != ScalarType::kFloat && facts.dtype != ScalarType::kDouble) return;
    const IValue* constant = constant_of(node->input(1));
    if (!is_complex(constant->to_tensor().dtype()) && stands_for_number(constant)) {
      operands_.rewrite(node, constant->to_tensor());
    }
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
  NumberOperands operands_;
  std::unordered_set<const Value*> made_;
};

}  // namespace

void number_constants(PassContext& context) {
  NumberOperands operands(context);
  visit_constants(operands, context.graph().block());
}

void number_tensors(PassContext& context) { NumberTensors(context).visit(context.graph().block()); }

}  // namespace tierup::passes
