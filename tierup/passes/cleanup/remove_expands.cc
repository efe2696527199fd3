// See remove_expands.h.
#include "tierup/passes/cleanup/remove_expands.h"

#include <algorithm>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::Value;

namespace {

// Whether every use is an argument without alias marks, so that only its elements matter.
bool is_plain_operand(const Value* value) {
  return std::all_of(value->uses().begin(), value->uses().end(), [](const ir::Use& use) {
    if (use.user == nullptr || !use.user->is(ir::NodeKind::kOp)) return false;
    const auto& arguments = use.user->op()->schema().arguments;
    return use.index < arguments.size() && arguments[use.index].alias.empty();
  });
}

void visit_block(PassContext& context, const Block& block) {
  for (Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) visit_block(context, *inner);
    if (role_of(*node) != ops::Role::kExpand || node->inputs().size() < 3) continue;
    const IValue* implicit = constant_of(node->input(2));
    if (implicit == nullptr || !implicit->is_bool() || !implicit->to_bool()) continue;
    if (!is_plain_operand(node->output())) continue;
    context.editor().replace_uses(node->output(), node->input(0));
    context.editor().remove(node);
    context.count("removed");
  }
}

}  // namespace

void remove_expands(PassContext& context) { visit_block(context, context.graph().block()); }

}  // namespace tierup::passes
