// The runner's own work: order, leaving out, budget, dumps, verification, reports.
#include "tierup/passes/core/pass_runner.h"

#include <gtest/gtest.h>

#include "tierup/ir/text.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/passes/pipeline.h"

namespace tierup::passes {
namespace {

std::shared_ptr<ir::Graph> parse(const char* text) {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  return ir::parse_graph(text, context);
}

const char* const kText = R"(graph @f(%x : Tensor) {
  %a : Tensor = aten::mul.Tensor(%x, %x)
  return (%x)
})";

Pass named(std::string name, std::vector<std::string>& log) {
  return {name, [name, &log](PassContext&) { log.push_back(name); }};
}

TEST(PassRunner, RunsUserPassesAroundTheOthers) {
  const auto graph = parse(kText);
  std::vector<std::string> log;
  PassRegistry registry;
  registry.before.push_back(named("first", log));
  registry.after.push_back(named("last", log));
  PassOptions options;
  options.user_passes = &registry;
  const std::vector<Pass> passes = {named("middle", log)};
  run_passes(*graph, passes, options);
  EXPECT_EQ(log, (std::vector<std::string>{"first", "middle", "last"}));
}

TEST(PassRunner, LeavesOutDisabledPasses) {
  const auto graph = parse(kText);
  PassOptions options;
  options.disabled = {"dead_code_elimination"};
  run_no_opt_pipeline(*graph, options);
  EXPECT_NE(graph->block().first(), nullptr);
  run_no_opt_pipeline(*graph);
  EXPECT_EQ(graph->block().first(), nullptr);
}

TEST(PassRunner, StopsWhenTheBudgetIsSpent) {
  const auto graph = parse(kText);
  std::vector<std::string> log;
  std::atomic<int64_t> budget = 2;
  PassOptions options;
  options.pass_budget = &budget;
  const std::vector<Pass> passes = {named("a", log), named("b", log), named("c", log)};
  run_passes(*graph, passes, options);
  EXPECT_EQ(log, (std::vector<std::string>{"a", "b"}));
}

TEST(PassRunner, PrintsWhatChanged) {
  const auto graph = parse(kText);
  std::vector<std::string> dumps;
  PassOptions options;
  options.print = [&](const std::string& text) { dumps.push_back(text); };
  options.print_after = {"changed", "input"};
  run_no_opt_pipeline(*graph, options);
  ASSERT_EQ(dumps.size(), 2u);
  EXPECT_EQ(dumps[0], "# input\n" + std::string(kText) + "\n");
  EXPECT_EQ(dumps[1], "# after dead_code_elimination\ngraph @f(%x : Tensor) {\n  return (%x)\n}\n");
}

TEST(PassRunner, NamesThePassThatBrokeTheGraph) {
  const auto graph = parse(kText);
  const std::vector<Pass> passes = {{"breaks", [](PassContext& context) {
                                       ir::Node* node = context.graph().block().first();
                                       context.editor().remove_input(node, 0);
                                     }}};
  PassOptions options;
  options.verify_each = true;
  try {
    run_passes(*graph, passes, options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_NE(error.message().find("broken after breaks"), std::string::npos) << error.what();
  }
}

// As if relu's shape function were wrong: the profile saw another size.
TEST(PassRunner, ComparesShapesWithWhatRan) {
  const auto graph =
      parse("graph @f(%x : Float(*, 2)) {\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n}");
  const auto seen = [](int64_t rows) {
    TensorFacts facts;
    facts.sizes = {{Dim::Kind::kStatic, rows}, {Dim::Kind::kStatic, 2}};
    return facts;
  };
  ir::ValueHints hints;
  hints.set(graph->inputs()[0], seen(3));
  PassOptions options;
  options.verify_each = true;
  options.hints = &hints;
  hints.set(graph->outputs()[0], seen(3));
  run_passes(*graph, {find_pass("propagate_shapes"), 1}, options);
  hints.set(graph->outputs()[0], seen(4));
  EXPECT_THROW(run_passes(*graph, {find_pass("propagate_shapes"), 1}, options), Error);
}

TEST(PassRunner, ReportsCountersAndChanges) {
  const auto graph = parse(kText);
  const PipelineReport report = run_no_opt_pipeline(*graph);
  ASSERT_EQ(report.size(), no_opt_passes().size());
  for (const PassReport& pass : report) {
    EXPECT_EQ(pass.changed, pass.name == "dead_code_elimination") << pass.name;
    if (pass.name == "dead_code_elimination") {
      EXPECT_EQ(pass.counters.at("removed"), 1);
    }
  }
}

TEST(PassContext, MakesAnalysesAgainAfterAnEdit) {
  const auto graph = parse(kText);
  PassContext context(*graph, ops::OpTable::instance());
  const auto* before = &context.liveness();
  EXPECT_EQ(before, &context.liveness());
  const ir::Node* node = graph->block().first();
  EXPECT_EQ(before->last_use(graph->inputs()[0]), nullptr);  // Returned.
  context.editor().set_return(&graph->block(), 0, node->output());
  EXPECT_EQ(context.liveness().last_use(graph->inputs()[0]), node);
}

}  // namespace
}  // namespace tierup::passes
