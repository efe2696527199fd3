#include "tierup/kernels/norm/norm_backward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/kernels/memory/small_tensors.h"

namespace tierup::kernels {
namespace {

Tensor waves(const IntVector& sizes, double step, ScalarType dtype) {
  const Tensor t = Tensor::empty(sizes, ScalarType::kDouble);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<double>()[i] = std::sin(step * static_cast<double>(i + 1)) + 1.5;
  return to_dtype(t, dtype);
}

// Planes of one point are the rows of a matrix, whose columns are summed; a plane of two points
// that are alike says the same.
TEST(BatchNormGradients, OfMatricesAreThoseOfPlanes) {
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble}) {
    for (const bool train : {true, false}) {
      constexpr int64_t kRows = 21;
      constexpr int64_t kChannels = 43;
      const Tensor grad = waves({kRows, kChannels}, 0.7, dtype);
      const Tensor input = waves({kRows, kChannels}, 1.3, dtype);
      const auto run = [&](const Tensor& g, const Tensor& x) {
        const auto of_channels = [&](double step) { return waves({kChannels}, step, dtype); };
        return batch_norm_backward(g, x, of_channels(0.3), of_channels(0.4), of_channels(0.5),
                                   of_channels(0.6), of_channels(0.8), train, 1e-5,
                                   {true, true, true});
      };
      const auto doubled = [&](const Tensor& t) {
        const Tensor wide = to_dtype(t, ScalarType::kDouble);
        const Tensor to = Tensor::empty(IntVector{kRows, kChannels, 2}, ScalarType::kDouble);
        for (int64_t i = 0; i < to.numel(); ++i) to.data<double>()[i] = wide.data<double>()[i / 2];
        return to_dtype(to, dtype);
      };
      const auto [dx, dweight, dbias] = run(grad, input);
      const auto [planes_dx, planes_dweight, planes_dbias] = run(doubled(grad), doubled(input));
      const auto expect_near = [&](const Tensor& a, const Tensor& b, int64_t step, double factor) {
        const auto found = values_of<double>(to_dtype(a, ScalarType::kDouble));
        const auto expected = values_of<double>(to_dtype(b, ScalarType::kDouble));
        ASSERT_EQ(found.size() * static_cast<size_t>(step), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          const double value = expected[i * static_cast<size_t>(step)] * factor;
          EXPECT_NEAR(found[i], value, 1e-5 * (1 + std::abs(value))) << i << " " << train;
        }
      };
      expect_near(dx, planes_dx, 2, 1);
      expect_near(dweight, planes_dweight, 1, 0.5);
      expect_near(dbias, planes_dbias, 1, 0.5);
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
