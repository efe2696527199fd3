// For tests of groups that fold: numbers, and a comparison with tier 0 that lets sums differ in
// their order.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/shape/conversion.h"

namespace tierup::codegen {

inline Tensor numbers(const IntVector& sizes, ScalarType type = ScalarType::kFloat) {
  Tensor x = Tensor::empty(sizes, ScalarType::kDouble);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double value = 1.0 / static_cast<double>(1 + i * 37 % 101) - 0.3;
    x.data<double>()[i] = type == ScalarType::kLong ? std::round(100 * value) : value;
  }
  return kernels::convert_to(x, {type, {}, {}, false});
}

// Sums in another order than tier 0's, of terms of about one or less.
inline void expect_near(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  ASSERT_EQ(shape_string(a.sizes()), shape_string(b.sizes())) << what;
  EXPECT_TRUE(std::ranges::equal(a.strides(), b.strides())) << what;
  const Tensor x = kernels::convert_to(a, {ScalarType::kDouble, {}, {}, false});
  const Tensor y = kernels::convert_to(b, {ScalarType::kDouble, {}, {}, false});
  const double bound = a.dtype() == ScalarType::kFloat ? 2e-5 : 1e-13;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = x.data<double>()[i];
    const double q = y.data<double>()[i];
    if ((std::isnan(p) && std::isnan(q)) || p == q) continue;
    ASSERT_LE(std::abs(p - q), bound * (1 + std::abs(q))) << what << " at " << i;
  }
}

inline void expect_tier_0(const ops::FusionGroup& group, const std::vector<Tensor>& inputs,
                          const std::string& what, By by = By::kKernel) {
  const uint64_t before = group.compiled_runs();
  const auto fused = run_group(group, inputs);
  EXPECT_EQ(group.compiled_runs(), before + (by == By::kKernel ? 1 : 0)) << what;
  const ThreadCountScope one_thread(1);
  const auto alone = run_group(group, inputs);
  const auto plain = run_group(group, inputs, true);
  for (size_t i = 0; i < plain.size(); ++i) {
    expect_near(fused[i], plain[i], what);
    expect_same(fused[i], alone[i], what + ", in one thread");
  }
}

inline const char* const kFolds[] = {"aten::sum.dim_IntList", "aten::mean.dim", "aten::amax",
                                     "aten::amin"};

}  // namespace tierup::codegen
