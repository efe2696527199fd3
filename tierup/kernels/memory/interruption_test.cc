// Operators that can take long ask whether to stop.
#include <gtest/gtest.h>

#include <functional>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/creation.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/kernels/random/random.h"
#include "tierup/kernels/reduce/order_statistics.h"
#include "tierup/kernels/reduce/searchsorted.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/cat.h"
#include "tierup/kernels/shape/padding.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/triangle.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

class Stop final : public Interrupt {
 public:
  void poll() const override { fail(ErrorCode::kDeadlineExceeded, "stop"); }
};

constexpr int64_t kMany = 1 << 20;

void expect_stops(const char* what, const std::function<void()>& work) {
  const ThreadCountScope two(2);
  work();
  const Stop stop;
  const InterruptScope scope(&stop);
  try {
    work();
    ADD_FAILURE() << what << " went on to its end";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeadlineExceeded) << what << ": " << error.what();
  }
}

TEST(Interruption, StopsTheMakersOfLargeTensors) {
  const Tensor row = arange(0, kMany, 1, ScalarType::kFloat);
  expect_stops("triu_indices", [] { triu_indices(1500, 1500, 0, ScalarType::kLong); });
  expect_stops("combinations", [] { combinations(arange(0, 200, 1, std::nullopt), 3, false); });
  expect_stops("blackman_window", [] { blackman_window(kMany, true, ScalarType::kFloat); });
  expect_stops("replication_pad1d", [&] { replication_pad1d(unsqueeze(row, 0), {kMany, kMany}); });
}

TEST(Interruption, StopsSorts) {
  const Tensor floats = arange(kMany, 0, -1, ScalarType::kFloat);
  const Tensor doubles = to_dtype(floats, ScalarType::kDouble);
  expect_stops("sort of floats", [&] { sort(floats, 0, false); });
  expect_stops("sort of doubles", [&] { sort(doubles, 0, false); });
  expect_stops("topk", [&] { topk(floats, kMany / 2, 0, true, true); });
  expect_stops("isin", [&] { isin(floats, doubles, false, false); });
}

TEST(Interruption, StopsDraws) {
  Generator generator(1);
  const Tensor floats = arange(0, kMany, 1, ScalarType::kFloat);
  expect_stops("normal_", [&] { normal_(floats, 0, 1, generator); });
  expect_stops("uniform_", [&] { uniform_(floats, 0, 1, generator); });
  expect_stops("randperm", [&] { randperm(kMany, ScalarType::kLong, generator); });
}

TEST(Interruption, StopsManyViews) {
  const Tensor many = expand(full(IntVector{1}, 0, ScalarType::kFloat), {kMany}, false);
  expect_stops("split", [&] { split(many, 1, 0); });
  expect_stops("unbind", [&] { unbind(many, 0); });
}

}  // namespace
}  // namespace tierup::kernels
