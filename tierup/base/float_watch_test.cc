// Float flags of this thread and of the workers of parallel loops, ours and a library's.
#include "tierup/base/float_watch.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"

namespace tierup {
namespace {

constexpr int kThreads = 2;

// Makes a NaN of numbers.
void make_nan() {
  volatile double infinity = std::numeric_limits<double>::infinity();
  volatile double nan = infinity - infinity;
  static_cast<void>(nan);
}

// As a library does it, unseen by parallel_for.
template <typename Body>
void on_workers(const Body& body) {
#pragma omp parallel num_threads(kThreads)
  if (omp_get_thread_num() > 0) body();
}

void loop(bool makes_nan_on_worker) {
  parallel_for(0, kThreads, 1, [&](int64_t begin, int64_t) {
    if (begin > 0 && makes_nan_on_worker) make_nan();
  });
}

class FloatWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FloatWatch watch(FloatWatch::Scope::kWorkers, kThreads);  // Clears what others left.
  }
  const ThreadCountScope threads_{kThreads};
};

TEST_F(FloatWatchTest, sees_what_this_thread_makes_and_keeps_older_flags) {
  make_nan();
  FloatWatch outer(FloatWatch::Scope::kThread, kThreads);
  {
    FloatWatch inner(FloatWatch::Scope::kThread, kThreads);
    EXPECT_FALSE(inner.met_nan());
    make_nan();
    EXPECT_TRUE(inner.met_nan());
  }
  EXPECT_TRUE(outer.met_nan());
}

TEST_F(FloatWatchTest, workers_of_loops_hand_theirs_over) {
  for (const bool makes_nan : {true, false, true, false}) {
    FloatWatch watch(FloatWatch::Scope::kWorkersAfter, kThreads);
    loop(makes_nan);
    EXPECT_EQ(watch.met_nan(), makes_nan);
    EXPECT_FALSE(watch.entered_regions());
  }
}

TEST_F(FloatWatchTest, workers_of_a_library_are_asked) {
  for (const bool makes_nan : {true, false}) {
    FloatWatch watch(FloatWatch::Scope::kWorkersAfter, kThreads);
    FloatWatch::note_region();
    on_workers([&] {
      if (makes_nan) make_nan();
    });
    EXPECT_EQ(watch.met_nan(), makes_nan);
    EXPECT_TRUE(watch.entered_regions());
  }
}

TEST_F(FloatWatchTest, a_loop_behind_a_librarys_region_loses_nothing) {
  FloatWatch watch(FloatWatch::Scope::kWorkersAfter, kThreads);
  FloatWatch::note_region();
  on_workers(make_nan);
  loop(false);
  EXPECT_TRUE(watch.met_nan());
}

TEST_F(FloatWatchTest, what_workers_raised_before_does_not_count_in_loops) {
  on_workers(make_nan);
  FloatWatch watch(FloatWatch::Scope::kWorkersAfter, kThreads);
  loop(false);
  EXPECT_FALSE(watch.met_nan());
}

}  // namespace
}  // namespace tierup
