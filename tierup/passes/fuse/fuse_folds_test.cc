#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/fuse/fuse_pointwise.h"

namespace tierup::passes {
namespace {

// The groups that are made of |x * y|, its sum over dimensions, and what is made of `sum`.
std::vector<std::string> groups_of(const std::string& x, const std::string& dims,
                                   const std::string& rest) {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  const auto graph = ir::parse_graph(fmt::format(R"(graph @f(%x : {}, %y : Float(1)) {{
  %none : NoneType = prim::Constant[value=None]()
  %no : bool = prim::Constant[value=False]()
  %one : int = prim::Constant[value=1]()
  %dim : int = prim::Constant[value={}]()
  %dims : List[int] = prim::ListConstruct(%dim)
  %p : Tensor = aten::mul.Tensor(%x, %y)
  %q : Tensor = aten::abs(%p)
  %sum : Tensor = aten::sum.dim_IntList(%q, %dims, %no, %none)
{}}})",
                                                 x, dims, rest),
                                     context);
  const Pass passes[] = {{"fuse_pointwise", [](PassContext& c) { fuse_pointwise(c); }}};
  run_passes(*graph, passes, PassOptions());
  std::vector<std::string> groups;
  for (const ir::Node* node : graph->block().nodes()) {
    if (!node->is(ir::NodeKind::kOp) || ops::op_of(*node->op()).role() != ops::Role::kFusionGroup) {
      continue;
    }
    const ir::Node* capsule = node->inputs().back()->node();
    groups.push_back(ops::fusion_group_of(capsule->attr<IValue>(ir::AttrName::kValue)).to_string());
  }
  return groups;
}

using Groups = std::vector<std::string>;

TEST(FuseFolds, TakesFoldsOfMiddleAndOuterDimensions) {
  const char* const rest = "  return (%sum)\n";
  EXPECT_EQ(groups_of("Float(90, 50, 64)", "1", rest),
            (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2! = sum(#1, [1], False, None)"}));
  EXPECT_EQ(groups_of("Float(90, 5000)", "0", rest),
            (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2! = sum(#1, [0], False, None)"}));
}

// Few elements side by side, or little for threads to share.
TEST(FuseFolds, LeavesFoldsThatLanesDoNotServe) {
  const char* const rest = "  return (%sum)\n";
  EXPECT_EQ(groups_of("Float(90, 50, 7)", "1", rest), (Groups{"#0 = mul(%0, %1); #1! = abs(#0)"}));
  EXPECT_EQ(groups_of("Float(5000, 64)", "0", rest), (Groups{"#0 = mul(%0, %1); #1! = abs(#0)"}));
}

// Components are taken apart, so that lanes go along the dimension before them; what has one
// element for all components stands in the same group.
TEST(FuseFolds, TakesFoldsOverShortLastDimensionsAndBeforeThem) {
  EXPECT_EQ(groups_of("Float(90, 50, 3)", "1",
                      "  %last : int = prim::Constant[value=-1]()\n"
                      "  %lasts : List[int] = prim::ListConstruct(%last)\n"
                      "  %yes : bool = prim::Constant[value=True]()\n"
                      "  %length : Tensor = aten::sum.dim_IntList(%q, %lasts, %yes, %none)\n"
                      "  %root : Tensor = aten::sqrt(%length)\n"
                      "  %lengths : Tensor = aten::sum.dim_IntList(%root, %dims, %no, %none)\n"
                      "  %r : Tensor = aten::mul.Tensor(%root, %q)\n"
                      "  %t : Tensor = aten::sum.dim_IntList(%r, %dims, %no, %none)\n"
                      "  return (%sum, %lengths, %t)\n"),
            (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2! = sum(#1, [1], False, None); "
                    "#3 = sum(#1, [-1], True, None); #4 = sqrt(#3); "
                    "#5! = sum(#4, [1], False, None); #6 = mul(#4, #1); "
                    "#7! = sum(#6, [1], False, None)"}));
}

// Which fill no memory there.
TEST(FuseFolds, TakesTensorsOfOneNumber) {
  EXPECT_EQ(
      groups_of("Float(90, 50, 64)", "1",
                "  %zeros : Tensor = aten::zeros_like(%q, %none, %none, %none, %none, %none)\n"
                "  %far : Tensor = aten::gt.Scalar(%q, %one)\n"
                "  %t : Tensor = aten::where.self(%far, %zeros, %q)\n"
                "  return (%sum, %t)\n"),
      (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2! = sum(#1, [1], False, None); "
              "#3 = zeros_like(#1, None, None, None, None, None); #4 = gt(#1, 1); "
              "#5! = where(#4, #3, #1)"}));
}

TEST(FuseFolds, TakesWhatReadsAFold) {
  EXPECT_EQ(groups_of("Float(90, 50, 64)", "1",
                      "  %r : Tensor = aten::relu(%sum)\n  %s : Tensor = aten::neg(%r)\n"
                      "  return (%s)\n"),
            (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2 = sum(#1, [1], False, None); "
                    "#3 = relu(#2); #4! = neg(#3)"}));
  const char* const centred =
      "  %yes : bool = prim::Constant[value=True]()\n"
      "  %mean : Tensor = aten::mean.dim(%q, %dims, %yes, %none)\n"
      "  %m : Tensor = aten::neg(%mean)\n"
      "  %c : Tensor = aten::add.Tensor(%q, %m, %one)\n"
      "  %s : Tensor = aten::softmax.int(%c, %one, %none)\n"
      "  return (%sum, %s)\n";
  EXPECT_EQ(groups_of("Float(8, 50, 4, 16)", "1", centred),
            (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2! = sum(#1, [1], False, None); "
                    "#3 = mean(#1, [1], True, None); #4 = neg(#3); #5 = add(#1, #4, 1); "
                    "#6! = softmax(#5, 1, None)"}));
}

// Tiles of as many elements would not stay in a cache; and what lacks the folded dimensions, but
// reads something else, may lie anyhow.
TEST(FuseFolds, LeavesReadersOfLongFoldsAndOtherTensorsToAnotherGroup) {
  EXPECT_EQ(groups_of("Float(8, 5000, 256)", "1",
                      "  %r : Tensor = aten::relu(%sum)\n  %s : Tensor = aten::neg(%r)\n"
                      "  return (%s)\n"),
            (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2! = sum(#1, [1], False, None)",
                    "#0 = relu(%0); #1! = neg(#0)"}));
  EXPECT_EQ(groups_of("Float(90, 50, 64)", "1",
                      "  %r : Tensor = aten::mul.Tensor(%sum, %y)\n"
                      "  %s : Tensor = aten::neg(%r)\n  return (%s)\n"),
            (Groups{"#0 = mul(%0, %1); #1 = abs(#0); #2! = sum(#1, [1], False, None)",
                    "#0 = mul(%0, %1); #1! = neg(#0)"}));
}

// A fold over the last dimension is done otherwise.
TEST(FuseFolds, DoesNotMixThemWithFoldsOfRows) {
  const Groups groups =
      groups_of("Float(90, 50, 64)", "1",
                "  %last : int = prim::Constant[value=-1]()\n"
                "  %lasts : List[int] = prim::ListConstruct(%last)\n"
                "  %other : Tensor = aten::sum.dim_IntList(%q, %lasts, %no, %none)\n"
                "  return (%sum, %other)\n");
  EXPECT_EQ(groups, (Groups{"#0 = mul(%0, %1); #1! = abs(#0); #2! = sum(#1, [1], False, None)"}));
}

}  // namespace
}  // namespace tierup::passes
