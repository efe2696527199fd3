// Which calls are known not to raise, by the Fits of their rows and what types and constants say.
#include "tierup/passes/core/may_raise.h"

#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::passes {
namespace {

bool may_raise_last(const std::string& line) {
  ir::TextContext text_context;
  text_context.operators = &ops::OpTable::instance();
  const std::shared_ptr<ir::Graph> graph = ir::parse_graph(
      "graph @main(%m : Float(2, 3), %n : Float(3, 4), %b : Float(5, 2, 3), %c : Float(5, 3, 4),"
      " %d : Double(3, 4), %v : Float(3), %u : Tensor, %w : Float(4, 3), %bias : Float(4), %k : "
      "int)"
      " {\n"
      "  %zero : int = prim::Constant[value=0]()\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %two : int = prim::Constant[value=2]()\n"
      "  %three : int = prim::Constant[value=3]()\n"
      "  %none : NoneType = prim::Constant[value=None]()\n"
      "  %turned : List[int] = prim::ListConstruct(%one, %zero)\n"
      "  %twice : List[int] = prim::ListConstruct(%one, %one)\n" +
          line + "\n  return ()\n}",
      text_context);
  return may_raise(*graph->block().last());
}

void expect_fits(const std::string& call, const std::string& type = "Tensor") {
  EXPECT_FALSE(may_raise_last("  %r : " + type + " = " + call)) << call;
}
void expect_may_raise(const std::string& call, const std::string& type = "Tensor") {
  EXPECT_TRUE(may_raise_last("  %r : " + type + " = " + call)) << call;
}

TEST(MayRaise, views_of_dimensions_that_are_there_do_not) {
  expect_fits("aten::transpose.int(%m, %zero, %one)");
  expect_may_raise("aten::transpose.int(%m, %zero, %two)");
  expect_may_raise("aten::transpose.int(%m, %zero, %k)");
  expect_may_raise("aten::transpose.int(%u, %zero, %one)");
  expect_fits("aten::permute(%m, %turned)");
  expect_may_raise("aten::permute(%m, %twice)");
  expect_fits("aten::squeeze(%m)");
  expect_fits("aten::squeeze.dim(%m, %one)");
  expect_may_raise("aten::squeeze.dim(%m, %two)");
  expect_fits("aten::unsqueeze(%m, %two)");
  expect_may_raise("aten::unsqueeze(%m, %three)");
  expect_fits("aten::t(%m)");
  expect_may_raise("aten::t(%b)");
  expect_fits("aten::select.int(%m, %one, %two)");
  expect_may_raise("aten::select.int(%m, %one, %three)");
  expect_fits("aten::slice.Tensor(%m, %one, %zero, %three, %one)");
  expect_may_raise("aten::slice.Tensor(%m, %one, %zero, %three, %zero)");
}

TEST(MayRaise, products_of_factors_that_fit_do_not) {
  expect_fits("aten::mm(%m, %n)");
  expect_may_raise("aten::mm(%n, %m)");
  expect_may_raise("aten::mm(%m, %d)");
  expect_may_raise("aten::mm(%m, %v)");
  expect_fits("aten::bmm(%b, %c)");
  expect_may_raise("aten::bmm(%c, %b)");
  expect_may_raise("aten::bmm(%m, %n)");
  expect_fits("aten::matmul(%b, %n)");
  expect_fits("aten::matmul(%m, %v)");
  expect_may_raise("aten::matmul(%v, %m)");
  expect_may_raise("aten::matmul(%m, %u)");
  expect_fits("aten::linear(%m, %w, %none)");
  expect_fits("aten::linear(%m, %w, %bias)");
  expect_may_raise("aten::linear(%m, %w, %v)");
  expect_may_raise("aten::linear(%m, %n, %none)");
}

TEST(MayRaise, questions_that_every_tensor_answers_do_not) {
  expect_fits("aten::size(%u)", "List[int]");
  expect_fits("aten::dim(%u)", "int");
  expect_fits("aten::numel(%u)", "int");
  expect_fits("prim::dtype(%u)", "int");
  expect_fits("aten::size.int(%m, %one)", "int");
  expect_may_raise("aten::size.int(%m, %two)", "int");
  expect_may_raise("aten::size.int(%u, %zero)", "int");
}

TEST(MayRaise, numbers_that_were_made_tensors_come_back) {
  expect_fits("prim::NumToTensor.Scalar(%k)");
  expect_may_raise("aten::Int.Tensor(%u)", "int");
  EXPECT_FALSE(
      may_raise_last("  %t : Tensor = prim::NumToTensor.Scalar(%k)\n"
                     "  %r : int = aten::Int.Tensor(%t)"));
}

TEST(MayRaise, writes_and_other_operators_do) {
  expect_may_raise("aten::relu_(%m)");
  expect_may_raise("aten::add.Tensor(%m, %m, %one)");
}

}  // namespace
}  // namespace tierup::passes
