// The optimisers' steps, rounded as PyTorch's loop rounds them.
#include "tierup/kernels/optimizer/optimizer_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tierup::kernels {
namespace {

// Adam's p after a step from 0 with m = 1, v = g g and eps = 0: 1 / (sqrt(v) / divisor).
template <typename T>
std::vector<T> quotients(const std::vector<T>& gradients, double divisor) {
  std::vector<T> p(gradients.size(), T(0));
  std::vector<T> m(gradients.size(), T(1));
  std::vector<T> v(gradients.size(), T(0));
  StepNumbers numbers;
  numbers.rate = 1;
  numbers.beta1 = 1;
  numbers.beta2 = 0;
  numbers.root_divisor = divisor;
  const auto count = static_cast<int64_t>(gradients.size());
  optimizer_step(StepRule::kAdam, numbers,
                 StepSpan<T>{p.data(), gradients.data(), {m.data(), v.data(), nullptr}, count});
  return p;
}

template <typename T>
void expect_divisions(const std::vector<T>& gradients, double divisor) {
  const std::vector<T> found = quotients(gradients, divisor);
  for (size_t i = 0; i < found.size(); ++i) {
    const T wanted = T(1) / (std::sqrt(gradients[i] * gradients[i]) / static_cast<T>(divisor));
    ASSERT_EQ(std::memcmp(&found[i], &wanted, sizeof(T)), 0)
        << gradients[i] << " by " << divisor << ": " << found[i] << " and " << wanted;
  }
}

template <typename T>
std::vector<T> any_gradients(std::mt19937_64& random) {
  std::vector<T> gradients{T(0), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::denorm_min()};
  constexpr int kFar = std::numeric_limits<T>::max_exponent / 2;
  std::uniform_real_distribution<double> digits(1, 2);
  for (int i = 0; i < 1000; ++i) {
    const int exponent = static_cast<int>(random() % (2 * kFar)) - kFar;
    gradients.push_back(static_cast<T>(std::ldexp(digits(random), i % 2 == 0 ? 0 : exponent)));
  }
  return gradients;
}

template <typename T>
void expect_divisions_by_all_corrections() {
  std::mt19937_64 random(3);
  for (const double beta : {0.9, 0.99, 0.999, 0.9999999, 0.0}) {
    for (int step = 1; step < 200; ++step) {
      expect_divisions(any_gradients<T>(random), std::sqrt(1 - std::pow(beta, step)));
    }
  }
}

TEST(OptimizerStep, DividesAdamsRootsToTheLastBit) {
  expect_divisions_by_all_corrections<float>();
  expect_divisions_by_all_corrections<double>();
}

}  // namespace
}  // namespace tierup::kernels
