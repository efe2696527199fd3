// Optimisers and the training loop by the public API, on the network of the demo.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "tierup/base/parallel.h"
#include "tierup/tierup.h"

namespace tierup::v1 {
namespace {

constexpr const char* kDigits = "demo/digits.pt";

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Patterns of eight digits, some pixels of which depend on the row.
NamedTensors rows(int64_t count) {
  const std::vector<int64_t> image_shape{count, 1, 8, 8};
  const std::vector<int64_t> label_shape{count};
  Tensor images = Tensor::zeros(image_shape, DType::kFloat32);
  Tensor labels = Tensor::zeros(label_shape, DType::kInt64);
  for (int64_t i = 0; i < count; ++i) {
    labels.data<int64_t>()[i] = i % 8;
    for (int64_t pixel = 0; pixel < 8; ++pixel) {
      images.data<float>()[i * 64 + (i % 8) * 8 + pixel] = 1;
    }
    images.data<float>()[i * 64 + (i * 7) % 64] += 0.25F;
  }
  return {{"images", images}, {"target", labels}};
}

std::vector<float> weights_of(const Module& module) {
  std::vector<float> all;
  for (auto& [name, tensor] : module.parameters()) {
    const float* data = tensor.data<float>();
    all.insert(all.end(), data, data + tensor.element_count());
  }
  return all;
}

TEST(PublicOptimTest, ALoopOfOnesOwnIsTheTrainersLoop) {
  const NamedTensors data = rows(32);
  TrainOptions options{.loss = "nll", .epochs = 3, .batch = 32, .shuffle = false};
  options.clip_norm = 0.5;
  const Module by_trainer = Module::load(kDigits);
  by_trainer.set_seed(3);
  const Optimizer first("Adam", by_trainer, {{"lr", 0.01}});
  const std::vector<TrainReport> reports = train(by_trainer, first, nullptr, data, {}, options);
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_LT(reports[2].loss, reports[0].loss);
  const Module by_hand = Module::load(kDigits);
  by_hand.set_seed(3);
  by_hand.train();
  const Optimizer second("Adam", by_hand, {{"lr", 0.01}});
  for (int epoch = 0; epoch < 3; ++epoch) {
    second.zero_grad();
    RunOptions run;
    run.gradients = true;
    const Tensor scores = by_hand.call({data[0].second}, {}, run).to_tensor();
    // The mean of the negative scores of the right digits, as its own gradient.
    const std::vector<int64_t> shape(scores.shape().begin(), scores.shape().end());
    const Tensor cotangent = Tensor::zeros(shape, DType::kFloat32);
    for (int64_t i = 0; i < 32; ++i) cotangent.data<float>()[i * 10 + i % 8] = -1.0F / 32;
    backward({scores}, {.gradients = {cotangent}});
    clip_norm(second.parameters(), 0.5);
    second.step();
  }
  EXPECT_EQ(weights_of(by_trainer), weights_of(by_hand));
}

TEST(PublicOptimTest, ACheckpointPutsEverythingBack) {
  const std::string path = ::testing::TempDir() + "tierup_public_checkpoint.pt";
  const NamedTensors data = rows(48);
  const TrainOptions options{.loss = "nll", .epochs = 2, .batch = 16};
  const Module module = Module::load(kDigits);
  const Optimizer optimizer("SGD", module, {{"lr", 0.05}, {"momentum", 0.9}});
  const Schedule schedule("CosineAnnealingLR", {{"T_max", 20}}, optimizer);
  train(module, optimizer, &schedule, data, {}, options);
  save_checkpoint(path, module, optimizer, &schedule, 2);
  train(module, optimizer, &schedule, data, {}, options);
  const Module other = Module::load(kDigits);
  const Optimizer again("SGD", other, {{"lr", 1.0}, {"momentum", 0.9}});
  const Schedule later("CosineAnnealingLR", {{"T_max", 20}}, again);
  EXPECT_EQ(load_checkpoint(path, other, again, &later), 2);
  train(other, again, &later, data, {}, options);
  EXPECT_EQ(weights_of(module), weights_of(other));
  EXPECT_EQ(schedule.rates(), later.rates());
  const Optimizer adam("Adam", other);
  EXPECT_NE(failure_of([&] { load_checkpoint(path, other, adam, &later); }).find("Adam"),
            std::string::npos);
  const Module foreign = Module::load("tests/data/zoo/mlp3.pt");
  EXPECT_NE(failure_of([&] {
              load_checkpoint(path, foreign, optimizer, &schedule);
            }).find("does not fit the module"),
            std::string::npos);
  std::filesystem::remove(path);
}

TEST(PublicOptimTest, WhatDoesNotFitIsAnError) {
  const Module module = Module::load(kDigits);
  EXPECT_NE(failure_of([&] { Optimizer("Adam", std::vector<Optimizer::Group>{}); }).find("empty"),
            std::string::npos);
  EXPECT_NE(failure_of([&] {
              Optimizer("Adam", module, {{"lr", -1.0}});
            }).find("invalid lr"),
            std::string::npos);
  for (auto& [name, weight] : module.parameters()) set_requires_grad(weight, false);
  EXPECT_NE(failure_of([&] { Optimizer("Adam", module); }).find("requires gradients"),
            std::string::npos);
  for (auto& [name, weight] : module.parameters()) set_requires_grad(weight, true);
  const Optimizer optimizer("Adam", module);
  EXPECT_NE(failure_of([&] { optimizer.rate(3); }).find("no group 3"), std::string::npos);
  EXPECT_NE(failure_of([&] { Schedule("StepLR", {}, optimizer); }).find("step_size"),
            std::string::npos);
  EXPECT_NE(failure_of([&] {
              train(module, optimizer, nullptr, rows(4), {}, {.loss = "nll", .batch = 5});
            }).find("larger than the data"),
            std::string::npos);
  const NamedTensors data = rows(4);
  EXPECT_NE(failure_of([&] {
              train(module, optimizer, nullptr, {data[0]}, {}, {.loss = "nll", .batch = 2});
            }),
            "no error");
}

// Whoever steers the head alone leaves the body's weights to the bit.
TEST(PublicOptimTest, TheLastLayersAloneAreTrained) {
  const Module module = Module::load(kDigits);
  const Module before = Module::load(kDigits);
  Optimizer::Group head;
  for (auto& [name, weight] : module.parameters()) {
    if (name.starts_with("classifier.4")) {
      head.parameters.emplace_back(name, weight);
    } else {
      set_requires_grad(weight, false);
    }
  }
  const Optimizer optimizer("AdamW", std::vector<Optimizer::Group>{head});
  train(module, optimizer, nullptr, rows(16), {}, {.loss = "nll", .batch = 8});
  const NamedTensors now = module.parameters();
  const NamedTensors then = before.parameters();
  for (size_t i = 0; i < now.size(); ++i) {
    const auto bytes = static_cast<size_t>(now[i].second.element_count()) * sizeof(float);
    const bool equal = std::memcmp(now[i].second.data(), then[i].second.data(), bytes) == 0;
    EXPECT_EQ(equal, !now[i].first.starts_with("classifier.4")) << now[i].first;
  }
}

// What train() does for a batch, made of the API's parts: the loss by name, a clipped step in one
// pass.
TEST(PublicOptimTest, LossesAndClippedStepsAreTheTrainers) {
  const NamedTensors data = rows(32);
  TrainOptions options{.loss = "nll", .epochs = 2, .batch = 16, .shuffle = false};
  options.clip_norm = 0.25;
  const Module by_trainer = Module::load(kDigits);
  by_trainer.set_seed(3);
  const Optimizer first("AdamW", by_trainer, {{"lr", 0.01}});
  const std::vector<TrainReport> reports = train(by_trainer, first, nullptr, data, {}, options);
  const Module by_hand = Module::load(kDigits);
  by_hand.set_seed(3);
  by_hand.train();
  const Optimizer second("AdamW", by_hand, {{"lr", 0.01}});
  RunOptions run;
  run.gradients = true;
  for (const TrainReport& report : reports) {
    double sum = 0;
    for (int64_t at = 0; at < 32; at += 16) {
      second.zero_grad();
      const Tensor scores = by_hand.call({data[0].second.rows(at, at + 16)}, {}, run).to_tensor();
      const Tensor loss = mean_loss("nll", scores, data[1].second.rows(at, at + 16));
      sum += static_cast<double>(loss.data<float>()[0]);
      backward(loss);
      const double norm = gradient_norm(second.parameters());
      EXPECT_GT(norm, 0.25);
      second.step_clipped(norm, 0.25);
      EXPECT_EQ(gradient_norm(second.parameters()), norm);
    }
    EXPECT_DOUBLE_EQ(sum / 2, report.loss);
  }
  EXPECT_EQ(weights_of(by_trainer), weights_of(by_hand));
}

TEST(PublicOptimTest, LossesHaveTheNamesThatTrainingTakes) {
  const std::vector<std::string> names = loss_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "huber"), names.end());
  const Tensor none = Tensor::zeros(std::vector<int64_t>{2}, DType::kFloat32);
  EXPECT_NE(failure_of([&] { mean_loss("hinge", none, none); }).find("no loss 'hinge'"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { mean_loss("output", none, none); }).find("the model gives"),
            std::string::npos);
}

// Its batch norm has written running statistics before the loss is seen.
TEST(PublicOptimTest, ALossThatIsNotANumberNamesWhatGaveItFirst) {
  const auto failure = [](double rate, const NamedTensors& data) {
    const Module module = Module::load(kDigits);
    const Optimizer optimizer("SGD", module, {{"lr", rate}});
    return failure_of([&] {
      train(module, optimizer, nullptr, data, {}, {.loss = "nll", .epochs = 5, .batch = 8});
    });
  };
  const std::string exploded = failure(1e30, rows(32));
  EXPECT_NE(exploded.find("nan: first given by aten::conv2d at"), std::string::npos) << exploded;
  NamedTensors data = rows(32);
  data[0].second.data<float>()[0] = std::nanf("");
  const std::string given = failure(1e-3, data);
  EXPECT_NE(given.find("the loss is nan: column 'images' is not finite"), std::string::npos)
      << given;
}

TEST(PublicOptimTest, AGradientThatIsNotANumberNamesWhoseBackwardPassGaveItFirst) {
  const Module module = Module::load("tests/data/bad_training/root_of_zero.pt");
  const Optimizer optimizer("SGD", module, {{"lr", 0.1}});
  const std::vector<int64_t> shape{4, 3};
  const NamedTensors data{{"x", Tensor::zeros(shape, DType::kFloat32)}};
  const std::string given = failure_of(
      [&] { train(module, optimizer, nullptr, data, {}, {.loss = "output", .batch = 4}); });
  EXPECT_NE(given.find("the norm of the gradients is nan: the forward pass is finite; first given "
                       "by the backward pass of aten::sqrt at"),
            std::string::npos)
      << given;
  EXPECT_NE(given.find("torch.sqrt(size * size)"), std::string::npos) << given;
}

TEST(PublicOptimTest, EarlyStoppingNamesTheBestEpoch) {
  const NamedTensors data = rows(16);
  NamedTensors others = rows(16);  // Learning the one makes the other worse.
  for (int64_t i = 0; i < 16; ++i) others[1].second.data<int64_t>()[i] = 9;
  const Module module = Module::load(kDigits);
  const Optimizer optimizer("SGD", module, {{"lr", 0.1}});
  TrainOptions options{.loss = "nll", .epochs = 20, .batch = 16};
  options.early_stop = 2;
  const std::vector<TrainReport> reports = train(module, optimizer, nullptr, data, others, options);
  ASSERT_LT(reports.size(), 20U);
  EXPECT_TRUE(reports.back().stopped_early);
  EXPECT_FALSE(reports[reports.size() - 2].stopped_early);
  EXPECT_EQ(reports.back().best_epoch, reports.back().epoch - 2);
  EXPECT_TRUE(reports[static_cast<size_t>(reports.back().best_epoch) - 1].is_best);
}

TEST(PublicOptimTest, TrainingHasTheThreadsOfTheModule) {
  Options one_thread;
  one_thread.threads = 1;
  const Module module = Module::load(kDigits, one_thread);
  const Optimizer optimizer("SGD", module, {{"lr", 0.1}});
  const ThreadScope outside(2);
  int inside = 0;
  train(module, optimizer, nullptr, rows(4), {}, {.loss = "nll", .batch = 4},
        [&](const TrainReport&) {
          inside = ::tierup::intra_op_threads();
          return true;
        });
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(::tierup::intra_op_threads(), 2);
}

TEST(PublicOptimTest, ColumnsComeFromAFile) {
  const std::string path = ::testing::TempDir() + "tierup_public_columns.safetensors";
  const NamedTensors data = rows(6);
  save_safetensors(path, data);
  const NamedTensors columns = load_columns(path, {"target", "images"});
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].first, "target");
  EXPECT_EQ(columns[0].second.data<int64_t>()[5], 5);
  EXPECT_EQ(columns[1].second.size(0), 6);
  const std::string failure = failure_of([&] { load_columns(path, {"labels"}); });
  EXPECT_NE(failure.find("'labels' is missing; the file has 'images'"), std::string::npos)
      << failure;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tierup::v1
