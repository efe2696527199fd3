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

// Normalised log-probabilities, one of whose scores has moved.
Tensor moved(const Tensor& log_probs, int64_t element, double step) {
  Tensor result = Tensor::empty(log_probs.sizes(), ScalarType::kDouble);
  std::copy_n(log_probs.data<double>(), log_probs.numel(), result.data<double>());
  result.data<double>()[element] += step;
  double* row = result.data<double>() + element / kClasses * kClasses;
  const double total = std::log(std::exp(row[0]) + std::exp(row[1]) + std::exp(row[2]));
  for (int64_t c = 0; c < kClasses; ++c) row[c] -= total;
  return result;
}

TEST(CtcLoss, GradientsAreThoseOfTheScores) {
  const Tensor log_probs = log_probs_of(3);
  const Tensor targets = labels_of({1, 2, 2, 2, 1});
  const IntVector input_lengths{5, 4, 5};
  const IntVector target_lengths{2, 0, 3};
  const Tensor cotangents = Tensor::empty(IntVector{3}, ScalarType::kDouble);
  for (int64_t i = 0; i < 3; ++i) cotangents.data<double>()[i] = 0.5 + static_cast<double>(i);
  const auto weighted = [&](const Tensor& x) {
    const Tensor losses = ctc_loss(x, targets, input_lengths, target_lengths, 0, 0, false);
    double sum = 0;
    for (int64_t i = 0; i < 3; ++i) sum += cotangents.data<double>()[i] * losses.data<double>()[i];
    return sum;
  };
  const auto [losses, alpha] =
      ctc_loss_forward(log_probs, targets, input_lengths, target_lengths, 0, false);
  const Tensor gradient = ctc_loss_backward(cotangents, log_probs, targets, input_lengths,
                                            target_lengths, losses, alpha, 0, false);
  constexpr double kStep = 1e-5;
  for (int64_t k = 0; k < log_probs.numel(); ++k) {
    const double slope =
        (weighted(moved(log_probs, k, kStep)) - weighted(moved(log_probs, k, -kStep))) /
        (2 * kStep);
    EXPECT_NEAR(gradient.data<double>()[k], slope, 1e-8) << "element " << k;
  }
}

TEST(CtcLoss, SequencesWithoutAlignmentHaveNoGradientIfInfinityIsZero) {
  const Tensor log_probs = log_probs_of(1);
  const Tensor targets = labels_of({1, 1, 1});
  const Tensor cotangent = Tensor::empty(IntVector{1}, ScalarType::kDouble);
  *cotangent.data<double>() = 1;
  const auto first = [&](bool zero_infinity) {
    const auto [losses, alpha] =
        ctc_loss_forward(log_probs, targets, IntVector{4}, IntVector{3}, 0, zero_infinity);
    return *ctc_loss_backward(cotangent, log_probs, targets, IntVector{4}, IntVector{3}, losses,
                              alpha, 0, zero_infinity)
                .data<double>();
  };
  EXPECT_EQ(first(true), 0);
  EXPECT_TRUE(std::isnan(first(false)));
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
