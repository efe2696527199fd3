// Training through the C API: what a loop in C needs, and what careless callers get.
#include "tierup/c_training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

namespace {

std::string refused(const std::function<void(tierup_error**)>& call) {
  tierup_error* error = nullptr;
  call(&error);
  EXPECT_NE(error, nullptr);
  const std::string text = error == nullptr ? "" : tierup_error_text(error);
  tierup_error_free(error);
  return text;
}

class CTraining : public ::testing::Test {
 protected:
  CTraining() {
    for (int i = 0; i < 30; ++i) inputs_[i] = 0.3F * static_cast<float>(i % 5);
    for (int i = 0; i < 15; ++i) targets_[i] = 0.2F * static_cast<float>(i % 3);
    const int64_t input_shape[] = {5, 6};
    const int64_t target_shape[] = {5, 3};
    batch_[0] = tierup_tensor_copy(inputs_, input_shape, 2, TIERUP_FLOAT32, nullptr);
    batch_[1] = tierup_tensor_copy(targets_, target_shape, 2, TIERUP_FLOAT32, nullptr);
  }
  ~CTraining() override {
    for (tierup_value* value : batch_) tierup_value_free(value);
    tierup_optimizer_free(optimizer_);
    tierup_module_free(module_);
  }
  tierup_value* loss() const {
    tierup_run_options run;
    tierup_run_options_init(&run);
    run.gradients = 1;
    return tierup_module_run(module_, nullptr, batch_, 2, &run, nullptr);
  }
  static double number(tierup_value* tensor) {
    tierup_tensor_view view;
    EXPECT_EQ(tierup_tensor_describe(tensor, &view, nullptr), TIERUP_OK);
    return static_cast<double>(*static_cast<const float*>(view.data));
  }

  float inputs_[30];
  float targets_[15];
  tierup_value* batch_[2];
  tierup_module* module_ =
      tierup_module_load("tests/data/training/mlp_mse.train.pt", nullptr, nullptr);
  tierup_optimizer* optimizer_ = tierup_optimizer_new("Adam", module_, nullptr, nullptr);
};

TEST_F(CTraining, steps_lower_the_loss) {
  ASSERT_NE(optimizer_, nullptr);
  double first = 0;
  double last = 0;
  for (int step = 0; step < 20; ++step) {
    tierup_value* made = loss();
    ASSERT_NE(made, nullptr);
    last = number(made);
    if (step == 0) first = last;
    EXPECT_EQ(tierup_backward(&made, 1, nullptr, nullptr), TIERUP_OK);
    double norm = 0;
    EXPECT_EQ(tierup_clip_norm(optimizer_, 1.0, 2.0, &norm, nullptr), TIERUP_OK);
    EXPECT_GT(norm, 0);
    EXPECT_EQ(tierup_clip_value(optimizer_, 1.0, nullptr), TIERUP_OK);
    EXPECT_EQ(tierup_optimizer_step(optimizer_, nullptr), TIERUP_OK);
    EXPECT_EQ(tierup_optimizer_zero_grad(optimizer_, nullptr), TIERUP_OK);
    tierup_value_free(made);
  }
  EXPECT_LT(last, first);
}

TEST_F(CTraining, gradients_are_asked_for_and_taken_away) {
  tierup_value* state = tierup_module_state(module_, nullptr);
  tierup_value* weight = tierup_value_item(state, 0, nullptr);
  tierup_value* made = loss();
  tierup_backward_options options;
  tierup_backward_options_init(&options);
  options.has_retain_graph = options.retain_graph = 1;
  tierup_value* gradients = tierup_grad(&made, 1, &weight, 1, &options, nullptr);
  EXPECT_EQ(tierup_value_size(gradients), 1U);
  tierup_value* none = tierup_tensor_grad(weight, nullptr);
  EXPECT_EQ(tierup_value_kind(none), TIERUP_KIND_NONE);
  EXPECT_EQ(tierup_backward(&made, 1, nullptr, nullptr), TIERUP_OK);
  tierup_value* accumulated = tierup_tensor_grad(weight, nullptr);
  EXPECT_EQ(tierup_value_kind(accumulated), TIERUP_KIND_TENSOR);
  EXPECT_EQ(tierup_module_zero_grad(module_, nullptr), TIERUP_OK);
  tierup_value* taken = tierup_tensor_grad(weight, nullptr);
  EXPECT_EQ(tierup_value_kind(taken), TIERUP_KIND_NONE);
  int flag = -1;
  EXPECT_EQ(tierup_tensor_set_requires_grad(weight, 0, nullptr), TIERUP_OK);
  EXPECT_EQ(tierup_tensor_requires_grad(weight, &flag, nullptr), TIERUP_OK);
  EXPECT_EQ(flag, 0);
  for (tierup_value* value : {state, weight, made, gradients, none, accumulated, taken})
    tierup_value_free(value);
}

TEST_F(CTraining, checkpointed_calls_and_schedules_work) {
  tierup_value* key = tierup_string("step_size", 9, nullptr);
  tierup_value* size = tierup_int(1);
  tierup_value* settings = tierup_dict(&key, &size, 1, nullptr);
  tierup_schedule* schedule = tierup_schedule_new("StepLR", settings, optimizer_, nullptr);
  ASSERT_NE(schedule, nullptr);
  tierup_value* made = tierup_module_run_checkpointed(module_, nullptr, batch_, 2, nullptr);
  EXPECT_EQ(tierup_backward(&made, 1, nullptr, nullptr), TIERUP_OK);
  EXPECT_EQ(tierup_optimizer_step(optimizer_, nullptr), TIERUP_OK);
  EXPECT_EQ(tierup_schedule_step(schedule, nullptr), TIERUP_OK);
  double rate = 0;
  EXPECT_EQ(tierup_optimizer_rate(optimizer_, &rate, nullptr), TIERUP_OK);
  EXPECT_NEAR(rate, 1e-4, 1e-12);

  const std::string path = (std::filesystem::temp_directory_path() / "c_training_test.pt").string();
  EXPECT_EQ(tierup_checkpoint_save(path.c_str(), module_, optimizer_, schedule, 7, nullptr),
            TIERUP_OK);
  EXPECT_EQ(tierup_optimizer_set_rate(optimizer_, 0.5, nullptr), TIERUP_OK);
  int64_t epoch = 0;
  EXPECT_EQ(tierup_checkpoint_load(path.c_str(), module_, optimizer_, schedule, &epoch, nullptr),
            TIERUP_OK);
  EXPECT_EQ(epoch, 7);
  EXPECT_EQ(tierup_optimizer_rate(optimizer_, &rate, nullptr), TIERUP_OK);
  EXPECT_NEAR(rate, 1e-4, 1e-12);
  std::filesystem::remove(path);
  tierup_schedule_free(schedule);
  for (tierup_value* value : {key, size, settings, made}) tierup_value_free(value);
}

TEST_F(CTraining, mistakes_are_errors_with_a_sentence) {
  tierup_value* plain = tierup_module_run(module_, nullptr, batch_, 2, nullptr, nullptr);
  EXPECT_NE(refused([&](auto e) { tierup_backward(&plain, 1, nullptr, e); }).find("require grad"),
            std::string::npos);
  tierup_value_free(plain);
  EXPECT_NE(refused([&](auto e) {
              tierup_optimizer_free(tierup_optimizer_new("Adamus", module_, nullptr, e));
            }).find("Adamus"),
            std::string::npos);
  refused([&](auto e) { tierup_optimizer_new(nullptr, module_, nullptr, e); });
  refused([&](auto e) { tierup_optimizer_new("Adam", nullptr, nullptr, e); });
  refused([&](auto e) { tierup_optimizer_step(nullptr, e); });
  refused([&](auto e) { tierup_backward(nullptr, 1, nullptr, e); });
  refused([&](auto e) { tierup_tensor_grad(nullptr, e); });
  refused([&](auto e) { tierup_checkpoint_save(nullptr, module_, optimizer_, nullptr, 0, e); });
  refused([&](auto e) { tierup_schedule_step(nullptr, e); });
}

}  // namespace
