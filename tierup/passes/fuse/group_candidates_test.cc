// Reasons that no text of a graph can plant, since the verifier refuses it; the others are in
// tests/passes/group_refusals.tir.
#include "tierup/passes/fuse/group_candidates.h"

#include <gtest/gtest.h>

#include "tierup/ops/table/op_table.h"

namespace tierup::passes {
namespace {

TEST(GroupCandidates, AnUndefinedTensorIsNoOperand) {
  ir::Graph graph;
  ir::GraphEditor editor(graph);
  const ops::Op& op = *ops::OpTable::instance().find("aten::neg");
  ir::Value* const inputs[] = {editor.constant(IValue(), Type::tensor())};
  const ir::Node* node = editor.create_op(op, inputs);
  ir::ValueHints hints;
  ValueForms forms(hints);
  const ops::RefusedGroup refusal = point_refusal(*node, analysis::AliasAnalysis(graph), forms);
  EXPECT_EQ(refusal.reason, ops::GroupRefusal::kUndefinedArgument);
}

}  // namespace
}  // namespace tierup::passes
