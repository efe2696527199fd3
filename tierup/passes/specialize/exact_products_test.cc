#include "tierup/passes/specialize/exact_products.h"

#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::passes {
namespace {

// The only operator with results of "%x : Float(3, 4)" and what else it reads.
bool joins(const std::string& parameters, const std::string& call) {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  const std::string text = "graph @f(%x : " + parameters +
                           ") {\n"
                           "  %zero : int = prim::Constant[value=0]()\n"
                           "  %none : NoneType = prim::Constant[value=None]()\n"
                           "  %y : Tensor = " +
                           call + "\n  return (%y)\n}";
  const auto graph = ir::parse_graph(text, context);
  return joins_exactly(*graph->block().returns()[0]->node(), 5);
}

TEST(ExactProducts, ProductsOfRowsAreJoinedExactly) {
  EXPECT_TRUE(joins("Float(3, 4), %w : Float(6, 4), %b : Float(6)", "aten::linear(%x, %w, %b)"));
  EXPECT_TRUE(joins("Float(3, 4), %w : Float(4, 6)", "aten::matmul(%x, %w)"));
}

TEST(ExactProducts, NoticesWhatOneEntryMakesOfAnother) {
  EXPECT_FALSE(joins("Float(3, 4)", "aten::cumsum(%x, %zero, %none)"));
  EXPECT_TRUE(joins("Float(3, 4)", "aten::relu(%x)"));
}

TEST(ExactProducts, KnowsNothingOfOtherTypesAndSizes) {
  EXPECT_FALSE(joins("Double(3, 4), %w : Double(4, 6)", "aten::matmul(%x, %w)"));
  EXPECT_FALSE(joins("Float(*, 4), %w : Float(4, 6)", "aten::matmul(%x, %w)"));
  EXPECT_FALSE(joins("Float(3, 4), %w : Float(5, 6)", "aten::matmul(%x, %w)"));  // Raises.
}

}  // namespace
}  // namespace tierup::passes
