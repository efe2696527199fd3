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

TEST(PublicProgram, parameters_whose_names_have_dots_are_replaced) {
  std::string program = kScale;
  const std::string own = R"("parameter_name": "weight")";
  program.replace(program.find(own), own.size(), R"("parameter_name": "layers.0.weight")");
  Options options;
  options.tiering = "compile=blocking,profiled_runs=1";
  const Module module =
      Module::from_exported_json(program, {{"layers.0.weight", floats({2, 3})}}, options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first(module.forward({floats({5, 5})})), 10);
  EXPECT_EQ(first(module.attribute("layers.0.weight")), 2);
  module.set_attribute("layers.0.weight", floats({6, 6}));
  EXPECT_EQ(first(module.forward({floats({5, 5})})), 30);
  EXPECT_FALSE(module.has_attribute("layers.1.weight"));
}

// What torch.export of PyTorch 2.15 writes of a multi-head attention over [length, batch, width]:
// the result of attention lies as its query does there, so that the program has a plain view.
const char* const kAttention = R"({
  "schema_version": {"major": 8, "minor": 8},
  "graph_module": {
    "graph": {
      "inputs": [{"as_tensor": {"name": "q"}}, {"as_tensor": {"name": "k"}}, {"as_tensor": {"name": "v"}}],
      "outputs": [{"as_tensor": {"name": "rows"}}],
      "nodes": [
        {"target": "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default",
         "inputs": [{"name": "query", "arg": {"as_tensor": {"name": "q"}}},
                    {"name": "key", "arg": {"as_tensor": {"name": "k"}}},
                    {"name": "value", "arg": {"as_tensor": {"name": "v"}}}],
         "outputs": [{"as_tensor": {"name": "out"}}, {"as_tensor": {"name": "sums"}}], "metadata": {}},
        {"target": "torch.ops.aten.permute.default",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "out"}}},
                    {"name": "dims", "arg": {"as_ints": [2, 0, 1, 3]}}],
         "outputs": [{"as_tensor": {"name": "turned"}}], "metadata": {}},
        {"target": "torch.ops.aten.view.default",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "turned"}}},
                    {"name": "size", "arg": {"as_ints": [6, 8]}}],
         "outputs": [{"as_tensor": {"name": "rows"}}], "metadata": {}}],
      "tensor_values": {
        "q": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 2}, {"as_int": 3}, {"as_int": 4}],
              "strides": [{"as_int": 8}, {"as_int": 4}, {"as_int": 16}, {"as_int": 1}]},
        "k": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 2}, {"as_int": 1}, {"as_int": 4}],
              "strides": [{"as_int": 8}, {"as_int": 4}, {"as_int": 4}, {"as_int": 1}]},
        "v": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 2}, {"as_int": 1}, {"as_int": 4}],
              "strides": [{"as_int": 8}, {"as_int": 4}, {"as_int": 4}, {"as_int": 1}]},
        "out": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 2}, {"as_int": 3}, {"as_int": 4}],
                "strides": [{"as_int": 8}, {"as_int": 4}, {"as_int": 16}, {"as_int": 1}]},
        "sums": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 2}, {"as_int": 3}],
                 "strides": [{"as_int": 6}, {"as_int": 1}, {"as_int": 2}]},
        "turned": {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 2}, {"as_int": 2}, {"as_int": 4}],
                   "strides": [{"as_int": 16}, {"as_int": 8}, {"as_int": 4}, {"as_int": 1}]},
        "rows": {"dtype": 7, "sizes": [{"as_int": 6}, {"as_int": 8}],
                 "strides": [{"as_int": 8}, {"as_int": 1}]}}},
    "signature": {
      "input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "q"}}}},
                      {"user_input": {"arg": {"as_tensor": {"name": "k"}}}},
                      {"user_input": {"arg": {"as_tensor": {"name": "v"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "rows"}}}}]},
    "module_call_graph": [{"fqn": "", "signature": {
      "in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}, {\"type\": null, \"context\": null, \"children_spec\": []}, {\"type\": null, \"context\": null, \"children_spec\": []}]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
      "out_spec": "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",
      "forward_arg_names": ["q", "k", "v"]}}]}})";

TEST(PublicProgram, attention_may_lie_in_another_way_than_where_the_program_was_written) {
  const Module module = Module::from_exported_json(kAttention, {});
  const std::vector<float> queries(48, 0.5F);
  const std::vector<float> keys(16, 1);
  // Of one key, so that each query gets its value: batch and head.
  const std::vector<float> values = {0, 0, 0, 0, 1, 1, 1, 1, 10, 10, 10, 10, 11, 11, 11, 11};
  for (int call = 0; call < 4; ++call) {
    const Tensor rows =
        module
            .forward({Tensor::of(queries, {2, 2, 3, 4}), Tensor::of(keys, {2, 2, 1, 4}),
                      Tensor::of(values, {2, 2, 1, 4})})
            .to_tensor();
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 8; ++column) {
        EXPECT_EQ(rows.data<float>()[row * 8 + column], 10 * (row % 2) + column / 4);
      }
    }
  }
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
