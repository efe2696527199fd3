// Long training: memory stays where it was, and one seed gives one file, with any number of
// threads, interrupted or not.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

constexpr int64_t kMaxRows = 100;

Tensor made(int64_t rows, int64_t width, double phase) {
  Tensor tensor = Tensor::empty(std::vector<int64_t>{rows, width}, DType::kFloat32);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = static_cast<float>(std::sin(phase + 0.37 * static_cast<double>(i)));
  return tensor;
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(SteadySteps, MemoryIsFlatOverTenThousandStepsAndAHundredBatchSizes) {
  const Module module = Module::load("tests/data/training/mlp_mse.train.pt");
  const Optimizer optimizer("AdamW", module, {{"lr", 1e-3}});
  const Tensor inputs = made(kMaxRows, 6, 0);
  const Tensor targets = made(kMaxRows, 3, 1);
  const auto train = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      const int64_t rows = 1 + step % kMaxRows;
      optimizer.zero_grad();
      backward(module.call({inputs.rows(0, rows), targets.rows(0, rows)}, {}, {.gradients = true})
                   .to_tensor());
      optimizer.step_clipped(gradient_norm(optimizer.parameters()), 1.0);
    }
    optimizer.zero_grad();
  };
  train(2000);
  const int64_t live = memory_stats().live_bytes;
  const int64_t resident = resident_bytes();
  train(10000);
  EXPECT_LT(memory_stats().live_bytes, live + 10000);  // Less than a byte a step.
  constexpr int64_t kPlans = 4 << 20;                  // What is made of plans meanwhile.
  EXPECT_LT(resident_bytes(), resident + kPlans);
}

// The weights' bytes after `steps` steps of a net with dropout; broken off and gone on with after
// `broken_at` of them, if that is below.
std::string trained(int threads, int steps, int broken_at) {
  const char* path = "tests/data/training/seeded_dropout.train.pt";
  const std::string checkpoint =
      (std::filesystem::temp_directory_path() / ("steady_" + std::to_string(getpid()) + ".pt"))
          .string();
  const Tensor classes = Tensor::zeros(std::vector<int64_t>{16}, DType::kInt64);
  std::string bytes;
  int step = 0;
  while (step < steps) {
    const Module module = Module::load(path, {.threads = threads, .seed = 7});
    const Optimizer optimizer("AdamW", module, {{"lr", 1e-2}});
    if (step > 0) EXPECT_EQ(load_checkpoint(checkpoint, module, optimizer, nullptr), step);
    const int last = step < broken_at ? std::min(broken_at, steps) : steps;
    for (; step < last; ++step) {
      optimizer.zero_grad();
      backward(module.call({made(16, 5, step), classes}, {}, {.gradients = true}).to_tensor());
      optimizer.step();
    }
    save_checkpoint(checkpoint, module, optimizer, nullptr, step);
    bytes.clear();
    for (const auto& [name, tensor] : module.parameters()) {
      bytes.append(static_cast<const char*>(tensor.data()),
                   static_cast<size_t>(tensor.element_count()) * sizeof(float));
    }
  }
  std::filesystem::remove(checkpoint);
  return bytes;
}

TEST(SteadySteps, OneSeedGivesOneFile) {
  const std::string once = trained(1, 250, 250);
  EXPECT_TRUE(trained(1, 250, 250) == once);
  EXPECT_TRUE(trained(2, 250, 250) == once);
  EXPECT_TRUE(trained(2, 250, 100) == once);
  EXPECT_FALSE(trained(1, 249, 249) == once);
}

}  // namespace
