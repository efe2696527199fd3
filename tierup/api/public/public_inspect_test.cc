// What files, executors and runs tell: info, operators, delegates, configuration, times of nodes.
#include <gtest/gtest.h>

#include <algorithm>

#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

const char* const kScript = "tests/data/zoo/mlp3.pt";
const char* const kExported = "tests/data/zoo/mlp3.pt2";

Tensor input() { return Tensor::zeros(std::vector<int64_t>{2, 20}, DType::kFloat32); }

uint64_t calls_of(const std::vector<NodeTime>& times, const std::string& op) {
  uint64_t calls = 0;
  for (const NodeTime& time : times) calls += time.op == op ? time.calls : 0;
  return calls;
}

TEST(PublicInspect, tells_what_a_file_says_of_itself) {
  const ModelInfo script = Module::load(kScript).info();
  EXPECT_FALSE(script.is_exported);
  EXPECT_GT(script.version, 0);
  EXPECT_NE(script.class_name.find("Mlp3"), std::string::npos);
  const ModelInfo exported = Module::load(kExported).info();
  EXPECT_TRUE(exported.is_exported);
  EXPECT_TRUE(exported.torch_version.starts_with("2."));
  EXPECT_EQ(exported.models.size(), 1U);
  EXPECT_EQ(exported.models[0], exported.model);
  const auto sources = Module::read_sources(kScript);
  ASSERT_FALSE(sources.empty());
  EXPECT_TRUE(sources[0].first.ends_with(".py"));
  EXPECT_THROW(Module::read_sources(kExported), Error);
}

TEST(PublicInspect, counts_the_operators_that_methods_reach) {
  const auto operators = Module::load(kScript).operators();
  const auto linear = std::find_if(operators.begin(), operators.end(),
                                   [](const auto& one) { return one.first == "aten::linear"; });
  ASSERT_NE(linear, operators.end());
  EXPECT_EQ(linear->second, 3U);
}

TEST(PublicInspect, one_of_several_models_is_opened_by_name) {
  Options options;
  options.model_name = "parts/decoder";
  EXPECT_EQ(Module::load("tests/data/packages/two_models.pt2", options).info().model,
            "parts/decoder");
  options.model_name = "third";
  EXPECT_THROW(Module::load("tests/data/packages/two_models.pt2", options), Error);
}

// As the reference's: so many runs that are not counted, then so many that are.
TEST(PublicInspect, node_benchmarks_count_the_main_runs_alone) {
  Options options;
  options.tiering = "compile=off";
  const Module module = Module::load(kScript, options);
  const NodeBenchmark figures = module.benchmark_nodes({input()}, 3, 5);
  EXPECT_EQ(figures.warmup_runs, 3U);
  EXPECT_EQ(figures.main_runs, 5U);
  EXPECT_EQ(calls_of(figures.kinds, "aten::linear"), 15U);
  EXPECT_EQ(calls_of(figures.nodes, "aten::relu"), calls_of(figures.kinds, "aten::relu"));
  EXPECT_GT(figures.run_ms, 0);
  EXPECT_EQ(module.stats().run_count, 8);
  EXPECT_TRUE(module.benchmark_nodes({input()}, 0, 0).nodes.empty());
}

TEST(PublicInspect, node_benchmarks_measure_the_plan_that_the_warm_up_asked_for) {
  Options options;
  options.tiering = "compile=background,profiled_runs=2,plan_trial=off";
  const Module module = Module::load(kScript, options);
  const NodeBenchmark figures = module.benchmark_nodes({input()}, 4, 5);
  EXPECT_EQ(calls_of(figures.kinds, "aten::linear"), 0U);  // They are in a net.
  EXPECT_EQ(module.explain().graphs.at(0).plans.at(0).hits, 7U);
}

TEST(PublicInspect, runs_add_to_a_collector_of_times) {
  Options options;
  options.tiering = "compile=off";
  const Module module = Module::load(kScript, options);
  RunOptions run;
  run.node_times = NodeTimes();
  module.call({input()}, {}, run);
  module.forward({input()}, {}, run);
  EXPECT_EQ(calls_of(run.node_times->kinds(), "aten::linear"), 6U);
  EXPECT_EQ(run.node_times->nodes().size(), 5U);
  run.node_times->clear();
  EXPECT_TRUE(run.node_times->nodes().empty());
}

TEST(PublicInspect, executors_tell_signature_configuration_and_times) {
  const Executor executor(kExported, {.max_frames = 3, .time_limit_ms = 5000});
  EXPECT_EQ(executor.config().max_frames, 3U);
  EXPECT_EQ(executor.config().time_limit_ms, 5000);
  const Signature signature = executor.signature();
  ASSERT_EQ(signature.inputs.size(), 1U);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(signature.inputs[0].dtype, DType::kFloat32);
  EXPECT_TRUE(executor.delegates().empty());
  EXPECT_FALSE(executor.benchmark_nodes({input()}, 1, 2).nodes.empty());
}

}  // namespace
