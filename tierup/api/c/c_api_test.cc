// The C API given what no careful caller gives: null pointers, wrong counts, other kinds.
#include "tierup/c_api.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

namespace {

// The code that a call fails with; TIERUP_OK and a failed expectation if it does not.
tierup_code refused(const std::function<void(tierup_error**)>& call) {
  tierup_error* error = nullptr;
  call(&error);
  EXPECT_NE(error, nullptr);
  EXPECT_GT(std::strlen(tierup_error_message(error)), 0U);
  const tierup_code code = tierup_error_code(error);
  tierup_error_free(error);
  return code;
}

class CApi : public ::testing::Test {
 protected:
  ~CApi() override {
    tierup_value_free(number_);
    tierup_value_free(tensor_);
    tierup_executor_free(executor_);
  }
  const int64_t shape_[2] = {3, 20};
  const float data_[60] = {};
  tierup_value* number_ = tierup_int(7);
  tierup_value* tensor_ = tierup_tensor_copy(data_, shape_, 2, TIERUP_FLOAT32, nullptr);
  tierup_executor* executor_ =
      tierup_executor_open("tests/data/zoo/mlp3.pt", nullptr, nullptr, nullptr);
};

TEST_F(CApi, null_places_for_results_are_errors) {
  const auto code = TIERUP_INVALID_ARGUMENT;
  EXPECT_EQ(refused([&](auto e) { tierup_value_int(number_, nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_value_float(number_, nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_value_bool(number_, nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_tensor_describe(tensor_, nullptr, e); }), code);
  tierup_options_init(nullptr);
  tierup_executor_config_init(nullptr);
  tierup_run_options_init(nullptr);
  tierup_executor_get_stats(executor_, nullptr);
}

TEST_F(CApi, null_handles_are_errors) {
  const auto code = TIERUP_INVALID_ARGUMENT;
  int64_t number = 0;
  tierup_tensor_view view;
  EXPECT_EQ(refused([&](auto e) { tierup_value_int(nullptr, &number, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_tensor_describe(nullptr, &view, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_value_describe(nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_value_item(nullptr, 0, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_value_key(nullptr, 0, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_tensor_contiguous(nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_tensor_to_dlpack(nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_tensor_from_dlpack(nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_executor_run(nullptr, nullptr, 0, nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_executor_weights(nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_executor_of(nullptr, nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_module_run(nullptr, "f", nullptr, 0, nullptr, e); }),
            code);
  EXPECT_EQ(
      refused([&](auto e) { tierup_executor_swap_weights(executor_, nullptr, 1, nullptr, e); }),
      code);
  EXPECT_EQ(refused([&](auto e) { tierup_module_load(nullptr, nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_module_load_bytes(nullptr, 5, nullptr, e); }), code);
  EXPECT_EQ(refused([&](auto e) {
              tierup_executor_run_async(executor_, &tensor_, 1, nullptr, nullptr, nullptr, e);
            }),
            code);
  EXPECT_EQ(tierup_value_size(nullptr), 0U);
  EXPECT_EQ(tierup_value_kind(nullptr), TIERUP_KIND_NONE);
  EXPECT_EQ(tierup_error_code(nullptr), TIERUP_OK);
  tierup_token_cancel(nullptr);
  tierup_executor_get_stats(nullptr, nullptr);
}

TEST_F(CApi, null_arrays_and_items_are_errors) {
  const auto code = TIERUP_INVALID_ARGUMENT;
  tierup_value* items[] = {number_, nullptr};
  EXPECT_EQ(refused([&](auto e) { tierup_list(nullptr, 2, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_list(items, 2, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_dict(items, items, 2, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_string(nullptr, 3, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_tensor_copy(nullptr, shape_, 2, TIERUP_INT8, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_tensor_copy(data_, nullptr, 2, TIERUP_INT8, e); }), code);
  tierup_options options;
  tierup_options_init(&options);
  options.plugin_count = 1;
  EXPECT_EQ(refused([&](auto e) { tierup_module_load("x.pt", &options, e); }), code);
  const char* const plugins[] = {nullptr};
  options.plugins = plugins;
  EXPECT_EQ(refused([&](auto e) { tierup_module_load("x.pt", &options, e); }), code);
  tierup_run_options run;
  tierup_run_options_init(&run);
  run.keyword_count = 1;
  EXPECT_EQ(refused([&](auto e) { tierup_executor_run(executor_, &tensor_, 1, &run, e); }), code);
  run.keyword_names = plugins;
  EXPECT_EQ(refused([&](auto e) { tierup_executor_run(executor_, &tensor_, 1, &run, e); }), code);
  run.keyword_count = 2;
  EXPECT_EQ(refused([&](auto e) { tierup_executor_run(executor_, &tensor_, 1, &run, e); }), code);
}

TEST_F(CApi, values_of_other_kinds_are_errors) {
  int64_t number = 0;
  tierup_value* text = tierup_string("a", 1, nullptr);
  tierup_value* list = tierup_list(&number_, 1, nullptr);
  refused([&](auto e) { tierup_value_int(text, &number, e); });
  refused([&](auto e) { tierup_value_item(list, 1, e); });
  refused([&](auto e) { tierup_value_item(number_, 0, e); });
  refused([&](auto e) { tierup_value_key(list, 0, e); });
  refused([&](auto e) { tierup_tensor_contiguous(text, e); });
  refused([&](auto e) { tierup_dict(&list, &number_, 1, e); });  // Lists are no keys.
  refused([&](auto e) { tierup_executor_run(executor_, &text, 1, nullptr, e); });
  refused([&](auto e) { tierup_executor_run(executor_, nullptr, 0, nullptr, e); });
  refused([&](auto e) { tierup_executor_run_into(executor_, &tensor_, 1, &text, 1, nullptr, e); });
  refused(
      [&](auto e) { tierup_executor_run_into(executor_, &tensor_, 1, nullptr, 0, nullptr, e); });
  refused([&](auto e) { tierup_executor_swap_weights(executor_, list, 1, nullptr, e); });
  tierup_value_free(text);
  tierup_value_free(list);
}

TEST_F(CApi, tensors_that_cannot_be_are_errors) {
  const int64_t negative[] = {-1, 2};
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  const int64_t far[] = {std::numeric_limits<int64_t>::max(), 1};
  float memory[4] = {};
  const auto dtype = TIERUP_FLOAT32;
  refused([&](auto e) { tierup_tensor_copy(data_, negative, 2, dtype, e); });
  refused([&](auto e) { tierup_tensor_copy(data_, huge, 2, dtype, e); });
  refused(
      [&](auto e) { tierup_tensor_copy(data_, shape_, 2, static_cast<tierup_dtype>(8000), e); });
  const auto borrow = [&](const int64_t* shape, const int64_t* strides, tierup_error** e) {
    tierup_tensor_borrow(memory, shape, strides, 2, dtype, nullptr, nullptr, e);
  };
  refused([&](auto e) { borrow(negative, nullptr, e); });
  refused([&](auto e) { borrow(shape_, negative, e); });
  refused([&](auto e) { borrow(shape_, far, e); });
  refused([&](auto e) { borrow(huge, nullptr, e); });
}

TEST_F(CApi, structs_without_their_size_are_errors) {
  tierup_options options;
  tierup_options_init(&options);
  options.size = 0;
  EXPECT_EQ(refused([&](auto e) { tierup_module_load("tests/data/zoo/mlp3.pt", &options, e); }),
            TIERUP_INVALID_ARGUMENT);
  options.size = 12;
  EXPECT_EQ(refused([&](auto e) { tierup_module_load("tests/data/zoo/mlp3.pt", &options, e); }),
            TIERUP_INVALID_ARGUMENT);
}

TEST_F(CApi, an_error_without_a_place_is_dropped) {
  EXPECT_EQ(tierup_module_load("nowhere.pt", nullptr, nullptr), nullptr);
  EXPECT_EQ(tierup_executor_swap_weights_file(executor_, "nowhere.pt", 1, nullptr, nullptr),
            TIERUP_NOT_FOUND);
}

TEST_F(CApi, explains_graphs_plans_and_regions) {
  tierup_options options;
  tierup_options_init(&options);
  options.tiering = "compile=blocking,disable_passes=fuse_products";
  tierup_module* module = tierup_module_load("tests/data/zoo/mlp3.pt", &options, nullptr);
  ASSERT_NE(module, nullptr);
  for (int i = 0; i < 4; ++i)
    tierup_value_free(tierup_module_run(module, nullptr, &tensor_, 1, nullptr, nullptr));
  int done = 0;
  EXPECT_EQ(tierup_module_wait_for_compilation(module, 1000, &done, nullptr), TIERUP_OK);
  EXPECT_EQ(done, 1);
  tierup_explanation* explanation = tierup_module_explain(module, nullptr);
  ASSERT_EQ(tierup_explanation_graph_count(explanation), 1U);
  tierup_graph_info graph{};
  graph.size = sizeof(graph);
  ASSERT_EQ(tierup_explanation_graph(explanation, 0, &graph, nullptr), TIERUP_OK);
  EXPECT_STREQ(graph.method, "forward");
  EXPECT_EQ(graph.calls, 4U);
  EXPECT_EQ(graph.state, TIERUP_GRAPH_SPECIALIZED);
  ASSERT_EQ(graph.plan_count, 1U);
  EXPECT_EQ(tierup_explanation_misses(explanation, 0, TIERUP_MISS_DTYPE), 0U);
  tierup_plan_info plan{};
  plan.size = sizeof(plan);
  ASSERT_EQ(tierup_explanation_plan(explanation, 0, 0, &plan, nullptr), TIERUP_OK);
  EXPECT_GT(plan.hits, 0U);
  EXPECT_GT(std::strlen(plan.graph_text), 0U);
  EXPECT_NE(tierup_explanation_note(explanation, 0, 0, 0), nullptr);
  EXPECT_EQ(tierup_explanation_note(explanation, 0, 0, plan.note_count), nullptr);
  ASSERT_GE(plan.region_count, 1U);
  tierup_region_info region{};
  region.size = sizeof(region);
  ASSERT_EQ(tierup_explanation_region(explanation, 0, 0, 0, &region, nullptr), TIERUP_OK);
  EXPECT_EQ(region.is_net, 1);
  EXPECT_STREQ(tierup_explanation_region_operator(explanation, 0, 0, 0, 0), "aten::linear");
  EXPECT_EQ(tierup_explanation_region_operator(explanation, 0, 0, 0, region.operator_count),
            nullptr);
  EXPECT_EQ(tierup_explanation_unfused(explanation, 0, 7, 0), nullptr);
  const auto code = TIERUP_INVALID_ARGUMENT;
  EXPECT_EQ(refused([&](auto e) { tierup_explanation_plan(explanation, 0, 1, &plan, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_explanation_graph(explanation, 0, nullptr, e); }), code);
  graph.size = 0;
  EXPECT_EQ(refused([&](auto e) { tierup_explanation_graph(explanation, 0, &graph, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_module_explain(nullptr, e); }), code);
  tierup_explanation_free(explanation);
  EXPECT_EQ(tierup_module_flush(module, nullptr), TIERUP_OK);
  tierup_module_free(module);
}

// A caller that was compiled against an older, shorter struct.
TEST_F(CApi, explanations_fill_no_more_than_the_callers_struct) {
  tierup_module* module = tierup_module_load("tests/data/zoo/mlp3.pt", nullptr, nullptr);
  tierup_value_free(tierup_module_run(module, nullptr, &tensor_, 1, nullptr, nullptr));
  tierup_explanation* explanation = tierup_module_explain(module, nullptr);
  tierup_graph_info graph{};
  graph.size = offsetof(tierup_graph_info, calls);
  graph.calls = 77;
  ASSERT_EQ(tierup_explanation_graph(explanation, 0, &graph, nullptr), TIERUP_OK);
  EXPECT_EQ(graph.calls, 77U);
  EXPECT_NE(graph.name, nullptr);
  tierup_explanation_free(explanation);
  tierup_module_free(module);
}

TEST_F(CApi, tells_signatures_state_and_texts) {
  tierup_module* module = tierup_module_load("tests/data/zoo/mlp3.pt2", nullptr, nullptr);
  tierup_signature* signature = tierup_module_signature(module, nullptr, nullptr);
  ASSERT_EQ(tierup_signature_input_count(signature), 1U);
  ASSERT_EQ(tierup_signature_output_count(signature), 1U);
  tierup_value_spec spec{};
  spec.size = sizeof(spec);
  ASSERT_EQ(tierup_signature_input(signature, 0, &spec, nullptr), TIERUP_OK);
  EXPECT_STREQ(spec.type, "Tensor");
  EXPECT_EQ(spec.dtype, TIERUP_FLOAT32);
  EXPECT_EQ(spec.has_default, 0);
  ASSERT_EQ(spec.rank, 2U);
  tierup_size_spec size{};
  ASSERT_EQ(tierup_signature_input_size(signature, 0, 0, &size, nullptr), TIERUP_OK);
  EXPECT_STREQ(size.text, "s77");
  EXPECT_EQ(size.is_static, 0);
  EXPECT_EQ(size.has_least, 1);
  EXPECT_EQ(size.has_most, 0);
  ASSERT_EQ(tierup_signature_input_size(signature, 0, 1, &size, nullptr), TIERUP_OK);
  EXPECT_EQ(size.value, 20);
  ASSERT_EQ(tierup_signature_output_size(signature, 0, 0, &size, nullptr), TIERUP_OK);
  EXPECT_STREQ(size.text, "s77");
  const auto code = TIERUP_INVALID_ARGUMENT;
  EXPECT_EQ(refused([&](auto e) { tierup_signature_input(signature, 1, &spec, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_signature_input_size(signature, 0, 2, &size, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_signature_default(signature, 0, e); }), code);
  EXPECT_EQ(refused([&](auto e) { tierup_module_signature(module, "backward", e); }),
            TIERUP_NOT_FOUND);
  tierup_signature_free(signature);
  signature = tierup_executor_signature(executor_, nullptr);
  EXPECT_STREQ(tierup_signature_text(signature), "forward(Tensor x) -> Tensor");
  tierup_signature_free(signature);
  EXPECT_EQ(refused([&](auto e) { tierup_executor_signature(nullptr, e); }), code);

  tierup_value* state = tierup_module_state(module, nullptr);
  EXPECT_GE(tierup_value_size(state), 2U);
  EXPECT_EQ(tierup_module_load_state(module, state, 1, nullptr), TIERUP_OK);
  tierup_value* key = tierup_value_key(state, 0, nullptr);
  char* name = tierup_value_string(key, nullptr, nullptr);
  tierup_value* weight = tierup_value_item(state, 0, nullptr);
  EXPECT_EQ(tierup_tensor_mark_written(weight, nullptr), TIERUP_OK);
  EXPECT_EQ(refused([&](auto e) { tierup_module_attribute(module, "no.such", e); }),
            TIERUP_NOT_FOUND);
  char* graph = tierup_module_graph_text(module, "forward", nullptr);
  char* plan = tierup_module_plan_text(module, nullptr, nullptr);
  EXPECT_NE(std::string(graph).find("aten::linear"), std::string::npos);
  EXPECT_GT(std::strlen(plan), 0U);
  for (char* text : {name, graph, plan}) tierup_text_free(text);
  for (tierup_value* value : {state, key, weight}) tierup_value_free(value);
  tierup_module_free(module);
}

}  // namespace
