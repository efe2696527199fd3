// Which parts of a program become steps, and what stays outside of them.
#include "tierup/passes/specialize/differentiable_graphs.h"

#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ir/verifier.h"

namespace tierup::passes {
namespace {

struct Capsule final : RefCounted {};

class Parts : public ::testing::Test {
 protected:
  // The graph's text behind the pass; bodies_ has the parts'.
  std::string run(const char* text) {
    bodies_.clear();
    ir::TextContext text_context;
    text_context.operators = &ops::OpTable::instance();
    const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text, text_context);
    PassContext context(*graph, ops::OpTable::instance());
    differentiable_graphs(context, [&](const std::shared_ptr<ir::Graph>& body) -> Ref<RefCounted> {
      ir::verify_graph(*body, "the pass");
      bodies_.push_back(body->to_string());
      return make_ref<Capsule>();
    });
    notes_ = context.take_notes();
    ir::verify_graph(*graph, "the pass");
    return graph->to_string();
  }
  static bool holds(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  }

  std::vector<std::string> bodies_;
  std::vector<std::string> notes_;
};

TEST_F(Parts, are_runs_of_operators) {
  const std::string text = run(R"(graph @main(%a : Tensor, %b : Tensor) {
  %c : Tensor = aten::mul.Tensor(%a, %b)
  %d : Tensor = aten::tanh(%c)
  return (%d)
})");
  ASSERT_EQ(bodies_.size(), 1U);
  EXPECT_TRUE(holds(bodies_[0], "aten::tanh"));
  EXPECT_FALSE(holds(text, "aten::"));
}

TEST_F(Parts, end_at_random_draws_and_say_so) {
  const std::string text = run(R"(graph @main(%a : Tensor, %b : Tensor) {
  %p : float = prim::Constant[value=0.5]()
  %true : bool = prim::Constant[value=True]()
  %c : Tensor = aten::mul.Tensor(%a, %b)
  %d : Tensor = aten::tanh(%c)
  %e : Tensor = aten::dropout(%d, %p, %true)
  %f : Tensor = aten::mul.Tensor(%e, %b)
  %g : Tensor = aten::tanh(%f)
  return (%g)
})");
  EXPECT_EQ(bodies_.size(), 2U);
  EXPECT_TRUE(holds(text, "aten::dropout"));
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_TRUE(holds(notes_[0], "aten::dropout draws random numbers"));
}

TEST_F(Parts, leave_views_and_writes_outside) {
  const std::string text = run(R"(graph @main(%a : Tensor, %b : Tensor) {
  %zero : int = prim::Constant[value=0]()
  %c : Tensor = aten::mul.Tensor(%a, %b)
  %d : Tensor = aten::tanh(%c)
  %v : Tensor = aten::unsqueeze(%d, %zero)
  %w : Tensor = aten::relu_(%v)
  return (%w)
})");
  ASSERT_EQ(bodies_.size(), 1U);
  EXPECT_TRUE(holds(text, "aten::unsqueeze"));
  EXPECT_TRUE(holds(text, "aten::relu_"));
}

TEST_F(Parts, take_loops_whose_course_no_tensor_decides) {
  const char* loop = R"(graph @main(%a : Tensor, %b : Tensor) {
  %true : bool = prim::Constant[value=True]()
  %zero : int = prim::Constant[value=0]()
  %n : int = aten::size.int(%b, %zero)
  %h : Tensor = prim::Loop(%n, %true, %a)
    block0(%i : int, %x : Tensor):
      %y : Tensor = aten::mul.Tensor(%x, %b)
      -> (%true, %y)
  return (%h)
})";
  EXPECT_FALSE(holds(run(loop), "prim::Loop"));
  EXPECT_EQ(bodies_.size(), 1U);
  const char* decided = R"(graph @main(%a : Tensor, %b : Tensor) {
  %c : Tensor = aten::mul.Tensor(%a, %b)
  %s : bool = aten::Bool.Tensor(%c)
  %h : Tensor = prim::If(%s)
    block0():
      %y : Tensor = aten::mul.Tensor(%c, %b)
      %z : Tensor = aten::tanh(%y)
      -> (%z)
    block1():
      -> (%c)
  return (%h)
})";
  EXPECT_TRUE(holds(run(decided), "aten::Bool"));
  EXPECT_TRUE(holds(run(decided), "prim::If"));
}

TEST_F(Parts, end_at_sizes_that_depend_on_values) {
  const std::string text = run(R"(graph @main(%a : Tensor, %b : Tensor) {
  %m : Tensor = aten::masked_select(%b, %a)
  %s : Tensor = aten::tanh(%m)
  %t : Tensor = aten::exp(%s)
  return (%t)
})");
  EXPECT_TRUE(holds(text, "aten::masked_select"));
  EXPECT_EQ(bodies_.size(), 1U);
}

}  // namespace
}  // namespace tierup::passes
