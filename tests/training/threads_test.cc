// Two threads train one module: each records its own calls and passes back over them, into the
// same gradients; steps are taken while neither runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

constexpr int kRounds = 12;  // Recorded plans are made, and tried against tier 0, on the way.

Tensor filled(std::vector<int64_t> shape, float value) {
  Tensor tensor = Tensor::zeros(shape, DType::kFloat32);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = value * static_cast<float>(i % 5);
  return tensor;
}

// A half of a batch, forward and back.
void pass(const Module& module, float value) {
  const RunOptions run{.gradients = true};
  for (int i = 0; i < 2; ++i)
    backward(module.call({filled({5, 6}, value), filled({5, 3}, 0.2F)}, {}, run).to_tensor());
}

std::vector<float> trained_weights(bool has_two_threads) {
  const Module module = Module::load("tests/data/training/mlp_mse.train.pt");
  const Optimizer optimizer("SGD", module, {{"lr", 0.01}});
  for (int round = 0; round < kRounds; ++round) {
    if (has_two_threads) {
      std::thread other([&] { pass(module, 0.3F); });
      pass(module, 0.1F);
      other.join();
    } else {
      pass(module, 0.3F);
      pass(module, 0.1F);
    }
    optimizer.step();
    optimizer.zero_grad();
  }
  std::vector<float> all;
  for (const auto& [name, tensor] : module.parameters()) {
    const float* data = tensor.data<float>();
    all.insert(all.end(), data, data + tensor.element_count());
  }
  return all;
}

// The order in which four gradients are added is what differs.
TEST(TwoThreads, TrainOneModuleToTheWeightsOfOne) {
  const std::vector<float> alone = trained_weights(false);
  const std::vector<float> together = trained_weights(true);
  ASSERT_EQ(together.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    ASSERT_TRUE(std::isfinite(alone[i]));
    EXPECT_NEAR(together[i], alone[i], 1e-5F * std::max(1.0F, std::abs(alone[i]))) << i;
  }
  const Module untrained = Module::load("tests/data/training/mlp_mse.train.pt");
  const Tensor first = untrained.parameters().front().second;
  float moved = 0;
  for (int64_t i = 0; i < first.element_count(); ++i)
    moved = std::max(moved, std::abs(first.data<float>()[i] - alone[static_cast<size_t>(i)]));
  EXPECT_GT(moved, 1e-3F);
}

// Gradients of a module's parameters find their place in whichever thread comes back first, while
// the other still records calls over the same parameters.
TEST(TwoThreads, MeetOnAModuleThatNoCallHasBeenThrough) {
  constexpr int kMeetings = 40;  // The thread sanitizer sees one of several.
  for (int i = 0; i < kMeetings; ++i) {
    const Module module = Module::load("tests/data/training/mlp_mse.train.pt");
    std::barrier start(2);
    const auto meet = [&](float value) {
      start.arrive_and_wait();
      pass(module, value);
    };
    std::thread other(meet, 0.3F);
    meet(0.1F);
    other.join();
    for (const auto& [name, tensor] : module.parameters())
      EXPECT_TRUE(std::ranges::equal(grad_of(tensor).shape(), tensor.shape())) << name;
  }
}

}  // namespace
