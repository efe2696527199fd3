// Which parts of a program become steps, and what stays outside of them.
#include "tierup/passes/specialize/differentiable_graphs.h"

#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ir/verifier.h"
#include "tierup/ops/table/external.h"
#include "tierup/passes/specialize/differentiable_parts.h"

namespace tierup::passes {

using ops::PartRefusal;

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
    refused_ = context.take_refused();
    ir::verify_graph(*graph, "the pass");
    return graph->to_string();
  }
  static bool holds(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  }

  std::vector<std::string> bodies_;
  // The one operator that was refused, and why: "aten::relu_: writes".
  std::string refusal(const char* text) {
    run(text);
    if (refused_.size() != 1) return std::to_string(refused_.size()) + " refusals";
    return refused_[0].region + " " + refused_[0].operation + ": " + refused_[0].reason;
  }

  std::vector<ops::RefusedOperator> refused_;
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
  ASSERT_EQ(refused_.size(), 1U);
  EXPECT_EQ(refused_[0].operation, "aten::dropout");
  EXPECT_EQ(refused_[0].reason, refusal_name(PartRefusal::kRandom));
  EXPECT_EQ(refused_[0].text, "it draws random numbers");
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

TEST_F(Parts, name_why_an_operator_ends_them) {
  const auto of = [&](const std::string& line) {
    return refusal(("graph @main(%a : Tensor, %b : Tensor, %list : List[Tensor]) {\n"
                    "  %zero : int = prim::Constant[value=0]()\n"
                    "  %no : NoneType = prim::Constant[value=None]()\n"
                    "  %sizes : List[int] = prim::ListConstruct(%zero)\n" +
                    line + "\n  return (%r)\n}")
                       .c_str());
  };
  const auto named = [](const std::string& operation, PartRefusal reason) {
    return "part " + operation + ": " + std::string(refusal_name(reason));
  };
  EXPECT_EQ(of("  %r : Tensor = aten::relu_(%a)"), named("aten::relu_", PartRefusal::kWrites));
  EXPECT_EQ(of("  %r : Tensor = aten::masked_select(%a, %b)"),
            named("aten::masked_select", PartRefusal::kValueSizes));
  EXPECT_EQ(of("  %r : Tensor = aten::empty.memory_format(%sizes, %no, %no, %no, %no, %no)"),
            named("aten::empty.memory_format", PartRefusal::kNoDerivative));
  EXPECT_EQ(of("  %r : bool = aten::Bool.Tensor(%a)"),
            named("aten::Bool.Tensor", PartRefusal::kReadsNumbers));
  EXPECT_EQ(of("  %r : Tensor = aten::stack(%list, %zero)"),
            named("aten::stack", PartRefusal::kInput));
}

// Of operators that come with a model, or that no graph of a front end has.
TEST_F(Parts, have_no_operators_of_unknown_kinds) {
  struct Nothing final : ops::ExternalTarget {
    void call(ops::OpCall& /*call*/) const override {}
  };
  ops::ExternalOperators external;
  const auto refusal_of = [&](const ops::Op& op) {
    ir::Graph graph;
    ir::GraphEditor editor(graph);
    std::vector<ir::Value*> inputs;
    for (const ir::Argument& argument : op.schema().arguments)
      inputs.push_back(editor.add_param(&graph.block(), argument.type));
    ir::Node* node = editor.create_bare_op(op);
    for (ir::Value* input : inputs) editor.add_input(node, input);
    editor.add_output(node, op.schema().returns[0].type);
    PassContext context(graph, ops::OpTable::instance());
    return PartMembers(context.alias()).refusal(node);
  };
  const auto added = [&](const char* schema, uint8_t effects) -> const ops::Op& {
    return external.add(schema, effects, make_ref<Nothing>());
  };
  EXPECT_EQ(refusal_of(added("my::scale(Tensor x) -> Tensor", ir::kNoEffect)),
            PartRefusal::kNoDerivative);
  EXPECT_EQ(refusal_of(added("my::garbage(Tensor x) -> Tensor", ir::kNondeterministic)),
            PartRefusal::kUninitialized);
  EXPECT_EQ(refusal_of(added("my::log(Tensor x) -> Tensor", ir::kSideEffect)),
            PartRefusal::kEffects);
  EXPECT_EQ(refusal_of(added("my::modes(Tensor x) -> Tensor", ir::kReadsPolicy)),
            PartRefusal::kReadsModes);
  EXPECT_EQ(refusal_of(added("my::any(Tensor x, ...) -> Tensor", ir::kNoEffect)),
            PartRefusal::kAnyArguments);
}

// Each of a node by itself.
TEST_F(Parts, have_members_of_these_kinds_alone) {
  ir::TextContext text_context;
  text_context.operators = &ops::OpTable::instance();
  const std::shared_ptr<ir::Graph> graph = ir::parse_graph(R"(graph @main(%a : Tensor, %n : int) {
  %true : bool = prim::Constant[value=True]()
  %t : Tensor = aten::relu(%a)
  %kept : List[Tensor] = prim::ListConstruct(%t)
  %lists : List[List[Tensor]] = prim::If(%true)
    block0():
      %l0 : List[List[Tensor]] = prim::ListConstruct(%kept)
      -> (%l0)
    block1():
      %l1 : List[List[Tensor]] = prim::ListConstruct(%kept)
      -> (%l1)
  %drawn : Tensor = prim::If(%true)
    block0():
      %d : Tensor = aten::rand_like(%a)
      -> (%d)
    block1():
      -> (%a)
  prim::Print(%drawn)
  return (%kept, %lists)
})",
                                                           text_context);
  PassContext context(*graph, ops::OpTable::instance());
  PartMembers members(context.alias());
  std::vector<PartRefusal> found;
  for (const ir::Node* node : graph->block().nodes()) {
    if (!node->is(ir::NodeKind::kConstant)) found.push_back(members.refusal(node));
  }
  const std::vector<PartRefusal> expected = {PartRefusal::kNone, PartRefusal::kKeptList,
                                             PartRefusal::kContainers, PartRefusal::kHolds,
                                             PartRefusal::kNoOperator};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tierup::passes
