// The loss against its definition: the sum over all alignments, written out.
#include "tierup/kernels/loss/ctc_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tierup/base/error.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kSteps = 5;
constexpr int64_t kClasses = 3;

Tensor log_probs_of(int64_t count) {
  Tensor result = Tensor::empty(IntVector{kSteps, count, kClasses}, ScalarType::kDouble);
  for (int64_t row = 0; row < kSteps * count; ++row) {
    double total = 0;
    double* values = result.data<double>() + row * kClasses;
    for (int64_t c = 0; c < kClasses; ++c) {
      values[c] = 0.1 + static_cast<double>((row * 7 + c * 5) % 11);
      total += values[c];
    }
    for (int64_t c = 0; c < kClasses; ++c) values[c] = std::log(values[c] / total);
  }
  return result;
}

Tensor labels_of(const std::vector<int64_t>& labels) {
  Tensor result = Tensor::empty(IntVector{static_cast<int64_t>(labels.size())}, ScalarType::kLong);
  std::copy(labels.begin(), labels.end(), result.data<int64_t>());
  return result;
}

// What an alignment says: repetitions merged, then blanks (class 0) dropped.
std::vector<int64_t> collapse(int64_t code, int64_t steps) {
  std::vector<int64_t> result;
  int64_t last = -1;
  for (int64_t t = 0; t < steps; ++t, code /= kClasses) {
    const int64_t label = code % kClasses;
    if (label != last && label != 0) result.push_back(label);
    last = label;
  }
  return result;
}

double by_definition(const Tensor& log_probs, int64_t sequence, const std::vector<int64_t>& target,
                     int64_t steps) {
  const auto paths = static_cast<int64_t>(std::pow(kClasses, steps));
  double likelihood = 0;
  for (int64_t code = 0; code < paths; ++code) {
    if (collapse(code, steps) != target) continue;
    double sum = 0;
    for (int64_t t = 0, rest = code; t < steps; ++t, rest /= kClasses) {
      sum +=
          log_probs.data<double>()[(t * log_probs.size(1) + sequence) * kClasses + rest % kClasses];
    }
    likelihood += std::exp(sum);
  }
  return -std::log(likelihood);
}

TEST(CtcLoss, SumsOverAllAlignments) {
  const Tensor log_probs = log_probs_of(4);
  const std::vector<std::vector<int64_t>> targets = {{1, 2}, {}, {2, 2}, {1}};
  const IntVector input_lengths{5, 4, 5, 3};
  const IntVector target_lengths{2, 0, 2, 1};
  const Tensor losses =
      ctc_loss(log_probs, labels_of({1, 2, 2, 2, 1}), input_lengths, target_lengths, 0, 0, false);
  ASSERT_EQ(losses.numel(), 4);
  double mean = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    const double expected =
        by_definition(log_probs, static_cast<int64_t>(i), targets[i], input_lengths[i]);
    EXPECT_NEAR(losses.data<double>()[i], expected, 1e-12) << "sequence " << i;
    mean += expected / static_cast<double>(std::max<size_t>(1, targets[i].size())) / 4;
  }
  const Tensor averaged =
      ctc_loss(log_probs, labels_of({1, 2, 2, 2, 1}), input_lengths, target_lengths, 0, 1, false);
  EXPECT_NEAR(*averaged.data<double>(), mean, 1e-12);
}

TEST(CtcLoss, TargetsThatDoNotFitAreInfiniteOrZero) {
  const Tensor log_probs = log_probs_of(1);
  const Tensor targets = labels_of({1, 1, 1});  // Needs a blank between each two: five steps.
  const auto loss = [&](int64_t steps, bool zero_infinity) {
    return *ctc_loss(log_probs, targets, IntVector{steps}, IntVector{3}, 0, 2, zero_infinity)
                .data<double>();
  };
  EXPECT_TRUE(std::isfinite(loss(5, false)));
  EXPECT_TRUE(std::isinf(loss(4, false)));
  EXPECT_EQ(loss(4, true), 0);
  EXPECT_TRUE(std::isinf(loss(0, false)));
}

TEST(CtcLoss, WrongLengthsAndLabelsAreErrors) {
  const Tensor log_probs = log_probs_of(1);
  const auto run = [&](const std::vector<int64_t>& labels, int64_t steps, int64_t length) {
    return ctc_loss(log_probs, labels_of(labels), IntVector{steps}, IntVector{length}, 0, 1, false);
  };
  EXPECT_THROW(run({1}, 6, 1), Error);
  EXPECT_THROW(run({1}, 5, 2), Error);
  EXPECT_THROW(run({3}, 5, 1), Error);
  EXPECT_THROW(run({1}, 5, -1), Error);
}

}  // namespace
}  // namespace tierup::kernels
