#include "tierup/kernels/reduce/order_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/sorting.h"

namespace tierup::kernels {
namespace {

// Two lanes with equal elements; of numbers, with NaNs and zeros of both signs.
Tensor two_lanes(int64_t count, ScalarType type) {
  Tensor x = Tensor::empty(IntVector{2, count}, ScalarType::kDouble);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<double>()[i] = static_cast<double>(i * 7919 % 23) - 11;
    if (is_integral(type, true)) continue;
    if (i % 7 == 3) x.data<double>()[i] = i % 2 == 0 ? 0.0 : -0.0;
    if (i % 3 == 2) x.data<double>()[i] = NAN;
  }
  return to_dtype(x, type);
}

TEST(Kthvalue, IsTheKthOfTheWholeOrder) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kBFloat16,
                                ScalarType::kInt, ScalarType::kLong}) {
    for (const int64_t count : {1, 5, 101, 300}) {
      const Tensor x = two_lanes(count, type);
      const Tensor order = std::get<1>(sort(x, 1, false));
      for (int64_t k = 1; k <= count; k += 1 + count / 40) {
        const auto [values, places] = kthvalue(x, k, 1, false);
        for (int64_t lane = 0; lane < 2; ++lane) {
          ASSERT_EQ(places.data<int64_t>()[lane], order.data<int64_t>()[lane * count + k - 1])
              << scalar_type_name(type) << " " << k << " of " << count;
        }
      }
    }
  }
}

TEST(Kthvalue, TellsLargeWholeNumbersApart) {
  Tensor x = Tensor::empty(IntVector{3}, ScalarType::kLong);
  const int64_t large = int64_t{1} << 40;
  x.data<int64_t>()[0] = large + 1;
  x.data<int64_t>()[1] = -large;
  x.data<int64_t>()[2] = large;
  EXPECT_EQ(*std::get<0>(kthvalue(x, 1, 0, false)).data<int64_t>(), -large);
  EXPECT_EQ(*std::get<0>(kthvalue(x, 2, 0, false)).data<int64_t>(), large);
  EXPECT_EQ(*std::get<0>(kthvalue(x, 3, 0, false)).data<int64_t>(), large + 1);
}

TEST(Mode, IsTheLastOfTheMostFrequentElements) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kLong}) {
    for (const int64_t count : {1, 5, 40, 101, 300}) {
      const Tensor x = two_lanes(count, type);
      const Tensor wide = to_dtype(x, ScalarType::kDouble);
      const auto [values, places] = mode(x, 1, false);
      for (int64_t lane = 0; lane < 2; ++lane) {
        std::map<double, int64_t> counts;
        std::map<double, int64_t> last;
        for (int64_t i = 0; i < count; ++i) {
          const double value = wide.data<double>()[lane * count + i];
          if (std::isnan(value)) continue;
          ++counts[value];
          last[value] = i;
        }
        double best = counts.begin()->first;
        for (const auto& [value, often] : counts) {
          if (often > counts[best]) best = value;
        }
        ASSERT_EQ(places.data<int64_t>()[lane], last[best]) << scalar_type_name(type) << count;
      }
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
