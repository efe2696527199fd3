#include "tierup/passes/fuse/fuse_pointwise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/passes/core/pass_runner.h"

namespace tierup::passes {
namespace {

// Of the group that takes each row's mean from it: the width that its rows are expected to have.
int64_t expected_short_row(const std::string& parameters, const std::string& rows) {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  const auto graph = ir::parse_graph(fmt::format(R"(graph @f({}) {{
  %none : NoneType = prim::Constant[value=None]()
  %no : bool = prim::Constant[value=False]()
  %yes : bool = prim::Constant[value=True]()
  %one : int = prim::Constant[value=1]()
  %last : int = prim::Constant[value=-1]()
  %dims : List[int] = prim::ListConstruct(%last)
{}  %m : Tensor = aten::mean.dim(%x, %dims, %yes, %none)
  %d : Tensor = aten::sub.Tensor(%x, %m, %one)
  %s : Tensor = aten::neg(%d)
  %y : Tensor = aten::relu(%s)
  return (%y)
}})",
                                                 parameters, rows),
                                     context);
  const Pass passes[] = {{"fuse_pointwise", [](PassContext& c) { fuse_pointwise(c); }}};
  run_passes(*graph, passes, PassOptions());
  for (const ir::Node* node : graph->block().nodes()) {
    if (!node->is(ir::NodeKind::kOp) || ops::op_of(*node->op()).role() != ops::Role::kFusionGroup) {
      continue;
    }
    const ir::Node* capsule = node->inputs().back()->node();
    return ops::fusion_group_of(capsule->attr<IValue>(ir::AttrName::kValue)).expected_short_row();
  }
  ADD_FAILURE() << "no group";
  return -1;
}

TEST(FusePointwise, ExpectsShortRowsWhereTheirWidthIsKnown) {
  EXPECT_EQ(expected_short_row("%x : Float(9000, 7)", ""), 7);
  EXPECT_EQ(expected_short_row("%x : Float(90, 300)", ""), 0);
}

// The rows are the table's, which is no input over them.
TEST(FusePointwise, ExpectsNoShortRowsOfWhatIsLookedUp) {
  EXPECT_EQ(expected_short_row("%t : Float(900, 512), %i : Long(90)",
                               "  %x : Tensor = aten::embedding(%t, %i, %last, %no, %no)\n"),
            0);
}

}  // namespace
}  // namespace tierup::passes
