// See number_constants.h.
#include "tierup/passes/number_constants.h"

#include "tierup/passes/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;

namespace {

bool stands_for_number(const IValue* constant) {
  if (constant == nullptr || !constant->is_tensor()) return false;
  const Tensor& tensor = constant->to_tensor();
  return tensor.defined() && tensor.dim() == 0 && tensor.dtype() != ScalarType::kBool &&
         !tensor.impl()->wrapped_number;
}

void visit_block(PassContext& context, const Block& block) {
  for (Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) visit_block(context, *inner);
    if (role_of(*node) != ops::Role::kArithmetic) continue;
    const IValue* constant = constant_of(node->input(1));
    if (!stands_for_number(constant)) continue;
    Tensor number = constant->to_tensor().detach();
    number.impl()->wrapped_number = true;
    context.editor().set_insert_before(node);
    context.editor().set_input(node, 1, context.editor().constant(IValue(std::move(number))));
    context.count("rewritten");
  }
}

}  // namespace

void number_constants(PassContext& context) { visit_block(context, context.graph().block()); }

}  // namespace tierup::passes
