// Graph passes of users, from C++ and from a plugin: what they change, and how they fail.
#include <gtest/gtest.h>

#include "plugin_fixture.h"
#include "tierup/plugin.h"

namespace {

using namespace tierup::v1;
using namespace tierup::fixture;

// relu(x * x * 2 * 4 + y)
const char* const kForward =
    "  def forward(self: __torch__.M,\n    x: Tensor,\n    y: Tensor) -> Tensor:\n"
    "    z = torch.mul(torch.mul(torch.mul(x, x), 2), 4)\n"
    "    return torch.relu(torch.add(z, y))\n";

Module load(Options options) {
  if (options.tiering.empty()) options.tiering = "compile=blocking,fusion=off";
  return load_methods(kForward, options);
}

Module load(GraphPass pass) {
  Options options;
  options.passes.push_back(std::move(pass));
  return load(std::move(options));
}

// forward of (1, -2) and (1, 1), often enough for a plan.
std::vector<float> answer(const Module& module) {
  std::vector<float> result;
  for (int i = 0; i < 4; ++i) {
    const Tensor tensor = module({floats({1, -2}), floats({1, 1})}).to_tensor();
    result.assign(tensor.data<float>(), tensor.data<float>() + 2);
  }
  return result;
}

std::string plan_graph(const Module& module) {
  const Explanation explanation = module.explain();
  if (explanation.graphs.size() != 1 || explanation.graphs[0].plans.empty()) return "no plan";
  return explanation.graphs[0].plans[0].graph_text;
}

const std::vector<float> kAnswer = {9, 33};

GraphPass subtracting(PassPlace place) {
  return {"subtracting", place, [](PassGraph& graph) {
            for (const PassNode node : graph.nodes()) {
              if (node.name() != "aten::add.Tensor") continue;
              graph.replace(node, "aten::sub.Tensor", node.inputs());
              graph.note("an addition became a subtraction");
            }
          }};
}

TEST(UserPasses, of_a_plugin_rewrite_tier_0_and_specialised_graphs) {
  Options options;
  options.plugins = {TEST_PASSES};
  const Module module = load(options);
  EXPECT_EQ(answer(module), kAnswer);
  EXPECT_TRUE(has(module.plan_text(), "aten::square")) << module.plan_text();
  EXPECT_FALSE(has(module.plan_text(), "aten::mul.Tensor"));
  const std::string graph = plan_graph(module);
  EXPECT_TRUE(has(graph, "aten::square")) << graph;
  EXPECT_TRUE(has(graph, "value=8")) << graph;
  EXPECT_FALSE(has(graph, "value=4")) << graph;
}

TEST(UserPasses, that_the_options_leave_out_do_not_run) {
  Options options;
  options.plugins = {TEST_PASSES};
  options.tiering = "compile=blocking,fusion=off,disable_passes=square_products+join_factors";
  const Module module = load(options);
  EXPECT_EQ(answer(module), kAnswer);
  EXPECT_FALSE(has(module.plan_text(), "aten::square"));
  EXPECT_FALSE(has(plan_graph(module), "value=8"));
}

TEST(UserPasses, run_at_their_place) {
  const Module everywhere = load(subtracting(PassPlace::kTier0));
  EXPECT_TRUE(has(everywhere.plan_text(), "aten::sub.Tensor"));
  EXPECT_EQ(answer(everywhere), (std::vector<float>{7, 31}));
  for (const PassPlace place : {PassPlace::kSpecialized, PassPlace::kLast}) {
    const Module specialised = load(subtracting(place));
    EXPECT_FALSE(has(specialised.plan_text(), "aten::sub.Tensor"));
    const Tensor first = specialised({floats({1}), floats({1})}).to_tensor();
    EXPECT_EQ(first.data<float>()[0], 9);  // Tier 0 has not been touched.
    EXPECT_EQ(answer(specialised), (std::vector<float>{7, 31}));
    const PlanInfo plan = specialised.explain().graphs[0].plans.at(0);
    const auto noted = [](const PlanStep& step) {
      return step.name == "subtracting" && step.notes.size() == 1;
    };
    EXPECT_TRUE(std::any_of(plan.steps.begin(), plan.steps.end(), noted));
  }
}

// In front of the sum, work that changes nothing: 2,000,000 copies of the first argument, summed.
GraphPass wasting() {
  return {
      "wasting", PassPlace::kLast, [](PassGraph& graph) {
        for (const PassNode node : graph.nodes()) {
          if (node.name() != "aten::add.Tensor") continue;
          const PassValue x = graph.inputs().at(1);
          const auto number = [&](Value value) { return graph.constant(value, node); };
          const PassNode copies =
              graph.insert("aten::repeat", {x, number(Value::list({int64_t{2'000'000}}))}, node);
          const PassNode sum = graph.insert("aten::sum", {copies.output()}, node);
          const PassNode nothing =
              graph.insert("aten::mul.Scalar", {sum.output(), number(Value(0.0))}, node);
          const PassNode first =
              graph.insert("aten::add.Tensor", {node.input(0), nothing.output()}, node);
          graph.replace(node, "aten::add.Tensor", {first.output(), node.input(1), node.input(2)});
          return;
        }
      }};
}

// A call of microseconds at tier 0 takes milliseconds by such a plan.
TEST(Plans, that_are_slower_than_tier_0_are_withdrawn_and_their_calls_answered_all_the_same) {
  Options options;
  options.passes.push_back(wasting());
  options.tiering = "compile=background,plan_trial=on,fusion=off";
  const Module module = load(options);
  const auto graph = [&] { return module.explain().graphs.at(0); };
  int rounds = 0;
  do {
    EXPECT_EQ(answer(module), kAnswer);
    module.wait_for_compilation();
  } while (graph().state != GraphState::kNotFaster && ++rounds < 200);
  EXPECT_EQ(state_text(graph().state), state_text(GraphState::kNotFaster));
  EXPECT_TRUE(graph().plans.empty());
  // The plan's calls in the trial took as long as thousands of calls at tier 0. A try as dear as
  // that is not made again soon, however short its compilation was.
  const GraphInfo before = graph();
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(answer(module), kAnswer);
  module.wait_for_compilation();
  EXPECT_EQ(graph().tier0_calls - before.tier0_calls, graph().calls - before.calls);
  EXPECT_EQ(state_text(graph().state), state_text(GraphState::kNotFaster));
}

TEST(UserPasses, see_types_constants_producers_and_uses) {
  bool seen = false;
  const Module module = load({"looking", PassPlace::kSpecialized, [&](PassGraph& graph) {
                                EXPECT_EQ(graph.inputs().size(), 3U);
                                EXPECT_EQ(graph.outputs().size(), 1U);
                                for (const PassNode node : graph.nodes()) {
                                  if (node.name() != "aten::add.Tensor") continue;
                                  seen = true;
                                  EXPECT_EQ(node.input(2).constant().value().to_int(), 1);
                                  EXPECT_FALSE(node.input(0).constant());
                                  EXPECT_EQ(node.input(0).producer()->name(), "aten::mul.Scalar");
                                  EXPECT_FALSE(node.input(1).producer());
                                  EXPECT_EQ(node.output().use_count(), 1U);
                                  EXPECT_TRUE(has(node.input(1).type(), "Float("))
                                      << node.input(1).type();
                                  EXPECT_TRUE(has(node.place(), "torch.add(z, y)"));
                                  EXPECT_THROW(node.input(9), Error);
                                }
                              }});
  EXPECT_EQ(answer(module), kAnswer);
  EXPECT_TRUE(seen);
}

TEST(UserPasses, that_fail_at_tier_0_fail_the_call_by_name) {
  const auto failure = [](std::function<void(PassGraph&)> run) {
    return failure_of([&] { answer(load({"failing", PassPlace::kTier0, std::move(run)})); });
  };
  const std::string thrown = failure([](PassGraph&) { throw std::runtime_error("own words"); });
  EXPECT_TRUE(has(thrown, "invalid_argument: the pass 'failing' failed: own words")) << thrown;
  const std::string unknown = failure([](PassGraph& graph) {
    const PassNode node = graph.nodes().back();
    graph.replace(node, "aten::no_such_thing", node.inputs());
  });
  EXPECT_TRUE(has(unknown, "the pass 'failing' failed: there is no operator 'aten::no_such_thing'"))
      << unknown;
  const std::string used = failure([](PassGraph& graph) {
    for (const PassNode node : graph.nodes())
      if (node.name() == "aten::add.Tensor") graph.remove(node);
  });
  EXPECT_TRUE(has(used, "cannot be removed")) << used;
  const std::string wrong = failure([](PassGraph& graph) {
    for (const PassNode node : graph.nodes()) {
      if (node.name() != "aten::add.Tensor") continue;
      graph.replace(node, "aten::add.Tensor", {node.input(0), graph.constant("text", node)});
    }
  });
  EXPECT_TRUE(has(wrong, "the pass 'failing' left a graph that is wrong")) << wrong;
  // A value that is defined behind its use.
  const std::string late = failure([](PassGraph& graph) {
    const std::vector<PassNode> nodes = graph.nodes();
    const PassValue last = graph.outputs()[0];
    for (const PassNode node : nodes) {
      if (node.name() == "aten::mul.Tensor") graph.replace(node, "aten::relu", {last});
    }
  });
  EXPECT_TRUE(has(late, "the pass 'failing' left a graph that is wrong")) << late;
}

TEST(UserPasses, that_fail_in_a_compile_job_leave_the_graph_at_tier_0) {
  const Module module = load({"failing", PassPlace::kSpecialized,
                              [](PassGraph&) { throw std::runtime_error("own words"); }});
  EXPECT_EQ(answer(module), kAnswer);
  const GraphInfo graph = module.explain().graphs.at(0);
  EXPECT_EQ(graph.state, GraphState::kCompileFailed);
  EXPECT_TRUE(has(graph.detail, "the pass 'failing' failed: own words")) << graph.detail;
}

TEST(UserPasses, need_names_of_their_own) {
  EXPECT_TRUE(has(failure_of([] {
                    load({"peephole", PassPlace::kTier0, [](PassGraph&) {}});
                  }),
                  "there is a pass 'peephole' already"));
  EXPECT_TRUE(has(failure_of([] { load({"", PassPlace::kTier0, [](PassGraph&) {}}); }), "no name"));
  EXPECT_TRUE(has(failure_of([] {
                    load({"idle", PassPlace::kTier0, nullptr});
                  }),
                  "nothing to run"));
}

TEST(UserPasses, in_c_come_by_the_options) {
  struct Counter {
    static int run(const tierup_host* host, tierup_pass_graph* graph, void* context) {
      *static_cast<size_t*>(context) += host->pass_node_count(graph);
      if (host->pass_insert(graph, "aten::nothing", nullptr, 0, host->pass_node(graph, 0)) !=
          nullptr)
        return TIERUP_PLUGIN_OK;
      return TIERUP_PLUGIN_FAILED;  // With the host's words.
    }
  };
  size_t nodes = 0;
  const tierup_plugin_pass pass = {sizeof(pass), "counting", TIERUP_PASS_TIER0, &nodes,
                                   &Counter::run};
  const tierup_plugin_pass* const passes[] = {&pass};
  tierup_options options;
  tierup_options_init(&options);
  options.passes = passes;
  options.pass_count = 1;
  tierup_module* module = tierup_module_load("tests/data/zoo/mlp3.pt", &options, nullptr);
  ASSERT_NE(module, nullptr);
  EXPECT_GT(nodes, 3U);
  tierup_error* error = nullptr;
  EXPECT_EQ(tierup_module_plan_text(module, nullptr, &error), nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(has(tierup_error_message(error),
                  "the pass 'counting' failed: there is no operator 'aten::nothing'"))
      << tierup_error_message(error);
  tierup_error_free(error);
  tierup_module_free(module);
}

}  // namespace
