#include "tierup/kernels/reduce/histogram.h"

#include <gtest/gtest.h>

#include <vector>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"

namespace tierup::kernels {
namespace {

TEST(Bincount, CountsOnAnyNumberOfThreads) {
  Tensor x = Tensor::empty(IntVector{100003}, ScalarType::kLong);
  std::vector<int64_t> wanted(50, 0);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t value = i * 7919 % 37;
    x.data<int64_t>()[i] = value;
    ++wanted[value];
  }
  for (const int threads : {1, 2, 3}) {
    const ThreadCountScope scope(threads);
    const Tensor counts = bincount(x, {}, 50);
    ASSERT_EQ(counts.numel(), 50);
    for (int64_t i = 0; i < 50; ++i) ASSERT_EQ(counts.data<int64_t>()[i], wanted[i]) << i;
    EXPECT_EQ(bincount(x, {}, 100000).numel(), 100000);
    EXPECT_EQ(bincount(x, {}, 100000).data<int64_t>()[36], wanted[36]);
    x.data<int64_t>()[100002] = -1;
    EXPECT_THROW(bincount(x, {}, 50), Error);
    x.data<int64_t>()[100002] = 100002 * 7919 % 37;
  }
}

}  // namespace
}  // namespace tierup::kernels
