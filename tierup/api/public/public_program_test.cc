// Programs without an archive, and what hosts may put into runs.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tierup/executor.h"
#include "tierup/module.h"

namespace tierup::v1 {
namespace {

// What torch.export writes of lambda x: x * weight, for x of one dimension.
const char* const kScale = R"({
  "schema_version": {"major": 8, "minor": 8},
  "graph_module": {
    "graph": {
      "inputs": [{"as_tensor": {"name": "p_weight"}}, {"as_tensor": {"name": "x"}}],
      "outputs": [{"as_tensor": {"name": "mul"}}],
      "nodes": [{"target": "torch.ops.aten.mul.Tensor",
                 "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}},
                            {"name": "other", "arg": {"as_tensor": {"name": "p_weight"}}}],
                 "outputs": [{"as_tensor": {"name": "mul"}}], "metadata": {}}],
      "tensor_values": {
        "p_weight": {"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}]},
        "x": {"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}]},
        "mul": {"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}]}}},
    "signature": {
      "input_specs": [
        {"parameter": {"arg": {"name": "p_weight"}, "parameter_name": "weight"}},
        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "mul"}}}}]},
    "module_call_graph": [{"fqn": "", "signature": {
      "in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
      "out_spec": "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",
      "forward_arg_names": ["x"]}}]}})";

Tensor floats(std::vector<float> values) {
  const int64_t shape[] = {static_cast<int64_t>(values.size())};
  return Tensor::of<float>(values, shape);
}

float first(const Value& value) { return value.to_tensor().data<float>()[0]; }

TEST(PublicProgram, a_programs_json_runs_over_the_callers_weights) {
  const Tensor weight = floats({2, 3});
  Options options;
  options.tiering = "compile=blocking,profiled_runs=1";
  const Module module = Module::from_exported_json(kScale, {{"weight", weight}}, options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first(module.forward({floats({5, 5})})), 10);
  EXPECT_EQ(module.parameters()[0].second.data(), weight.data());
  weight.data<float>()[0] = 4;
  weight.mark_written();
  EXPECT_EQ(first(module.forward({floats({5, 5})})), 20);
  module.set_attribute("weight", floats({6, 6}));
  EXPECT_EQ(first(module.forward({floats({5, 5})})), 30);
  EXPECT_TRUE(module.extra_files().empty());
  EXPECT_THROW(module.forward({floats({5, 5, 5})}), Error);
  EXPECT_THROW(Module::from_exported_json("{", {}), Error);
}

std::atomic<int> polls{0};
bool refuse_the_tenth() { return polls.fetch_add(1) != 9; }

template <typename Run>
ErrorCode code_of(Run&& run) {
  polls = 0;
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(polls.load(), 10);
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(PublicProgram, a_run_asks_its_host_and_ends_when_it_says_no) {
  const Module endless = Module::load("python/tests/data/endless.pt");
  RunOptions options;
  options.on_poll = refuse_the_tenth;
  EXPECT_EQ(code_of([&] { endless.forward({1}, {}, options); }), ErrorCode::kCancelled);
  EXPECT_EQ(code_of([&] { Executor(endless).run({1}, {}, options); }), ErrorCode::kCancelled);
}

TEST(PublicProgram, a_run_that_waits_for_a_frame_asks_its_host) {
  const Executor executor("python/tests/data/endless.pt", {.max_frames = 1});
  RunOptions first;
  first.cancellation.emplace();
  std::future<Value> under_way = executor.run_async({1}, {}, first);
  while (executor.stats().frames_in_use == 0) std::this_thread::yield();
  RunOptions second;
  second.on_poll = refuse_the_tenth;
  EXPECT_EQ(code_of([&] { executor.run({1}, {}, second); }), ErrorCode::kCancelled);
  first.cancellation->cancel();
  EXPECT_THROW(under_way.get(), Error);
}

}  // namespace
}  // namespace tierup::v1
