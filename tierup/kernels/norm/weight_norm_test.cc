#include "tierup/kernels/norm/weight_norm.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tierup::kernels {
namespace {

Tensor numbers(const IntVector& sizes, double first) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kDouble);
  for (int64_t i = 0; i < result.numel(); ++i)
    result.data<double>()[i] = std::sin(first + 1.7 * static_cast<double>(i));
  return result;
}

// <grad, w> as a function of v and g.
double inner(const Tensor& grad, const Tensor& v, const Tensor& g, int64_t dim) {
  const Tensor w = weight_norm(v, g, dim);
  double sum = 0;
  for (int64_t i = 0; i < w.numel(); ++i) sum += grad.data<double>()[i] * w.data<double>()[i];
  return sum;
}

void expect_differences(const Tensor& grad, const Tensor& v, const Tensor& g, int64_t dim,
                        const Tensor& moved, const Tensor& found) {
  constexpr double kStep = 1e-6;
  ASSERT_EQ(found.numel(), moved.numel());
  for (int64_t i = 0; i < moved.numel(); ++i) {
    double& number = moved.data<double>()[i];
    const double before = number;
    number = before + kStep;
    const double above = inner(grad, v, g, dim);
    number = before - kStep;
    const double below = inner(grad, v, g, dim);
    number = before;
    EXPECT_NEAR(found.data<double>()[i], (above - below) / (2 * kStep), 1e-7) << "element " << i;
  }
}

TEST(WeightNorm, GradientsAreThoseOfDifferences) {
  for (const int64_t dim : {0, 2}) {
    const Tensor v = numbers({3, 2, 4}, 0.3);
    const Tensor grad = numbers({3, 2, 4}, 1.1);
    const Tensor g = numbers(dim == 0 ? IntVector{3, 1, 1} : IntVector{1, 1, 4}, 2.2);
    const Tensor norms = std::get<1>(weight_norm_interface(v, g, dim));
    const auto [of_v, of_g] = weight_norm_backward(grad, v, g, norms, dim);
    expect_differences(grad, v, g, dim, v, of_v);
    expect_differences(grad, v, g, dim, g, of_g);
  }
}

TEST(WeightNorm, GradientsOfAVectorGoAlongItsLengthsAlone) {
  const Tensor v = numbers({4}, 0.3);
  const Tensor norms = std::get<1>(weight_norm_interface(v, v, 0));
  const auto [of_v, of_g] = weight_norm_backward(numbers({4}, 1), v, v, norms, 0);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(of_v.data<double>()[i], 0, 1e-12);
    EXPECT_NE(of_g.data<double>()[i], 0);
  }
}

}  // namespace
}  // namespace tierup::kernels
