// Sorts of elements of 64 bits, by comparisons and by digits.
#include "tierup/kernels/reduce/sorting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tierup/kernels/memory/nan_order.h"
#include "tierup/kernels/memory/small_tensors.h"

namespace tierup::kernels {
namespace {

template <typename T>
void expect_stable_sort(const std::vector<T>& x) {
  const auto count = static_cast<int64_t>(x.size());
  for (const bool descending : {false, true}) {
    const auto [values, indices] = sort(make_tensor<T>({count}, x), 0, descending);
    std::vector<int64_t> wanted(x.size());
    std::iota(wanted.begin(), wanted.end(), int64_t{0});
    std::stable_sort(wanted.begin(), wanted.end(), [&](int64_t a, int64_t b) {
      return descending ? nan_less(x[b], x[a]) : nan_less(x[a], x[b]);
    });
    EXPECT_EQ(values_of<int64_t>(indices), wanted) << count << " descending " << descending;
    for (size_t i = 0; i < x.size(); ++i) {
      const T value = values.template data<T>()[i];
      const T own = x[wanted[i]];
      ASSERT_TRUE(value == own || (value != value && own != own)) << i;
    }
  }
}

TEST(Sort, OfLongsIsStableWhateverTheirRange) {
  for (const int64_t count : {1, 9, 160, 161, 1000}) {
    for (const int64_t apart : {int64_t{1}, int64_t{1} << 30U, int64_t{1} << 55U}) {
      std::vector<int64_t> x(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) x[i] = ((i * 7919) % 211 - 100) * apart;
      expect_stable_sort(x);
      if (count < 10) continue;
      x[7] = std::numeric_limits<int64_t>::min();
      x[5] = std::numeric_limits<int64_t>::max();
      expect_stable_sort(x);
    }
  }
}

TEST(Sort, OfDoublesIsStableWithNanLast) {
  for (const int64_t count : {1, 9, 160, 161, 1000}) {
    std::vector<double> x(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>((i * 7919) % 211 - 100);
      x[i] = i % 97 == 8 ? NAN : i % 89 == 7 ? -0.0 : i % 83 == 6 ? -INFINITY : value * 1e-300;
    }
    expect_stable_sort(x);
  }
}

}  // namespace
}  // namespace tierup::kernels
