#include "tierup/base/ref.h"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <thread>

namespace tierup {
namespace {

struct Counted final : RefCounted {
  explicit Counted(std::atomic<int>& alive_now) : alive(alive_now) { ++alive; }
  ~Counted() override { --alive; }
  std::atomic<int>& alive;
};

TEST(LateRef, KeepsTheFirstFillingForAllThreads) {
  std::atomic<int> alive = 0;
  for (int round = 0; round < 50; ++round) {
    LateRef<Counted> slot;
    std::array<Counted*, 2> seen{};
    std::barrier start(2);
    const auto fill = [&](size_t i) {
      start.arrive_and_wait();
      seen[i] = slot.fill(make_ref<Counted>(alive));
    };
    std::thread other(fill, 1);
    fill(0);
    other.join();
    EXPECT_EQ(seen[0], slot.get());
    EXPECT_EQ(seen[1], slot.get());
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(LateRef, GivesOutWhatItHeld) {
  std::atomic<int> alive = 0;
  LateRef<Counted> slot;
  EXPECT_FALSE(slot);
  slot = make_ref<Counted>(alive);
  slot = make_ref<Counted>(alive);
  EXPECT_EQ(alive, 1);
  const Ref<Counted> kept = slot.ref();
  EXPECT_EQ(kept->use_count(), 2U);
  EXPECT_EQ(slot.take(), kept);
  EXPECT_FALSE(slot);
  EXPECT_EQ(kept->use_count(), 1U);
}

}  // namespace
}  // namespace tierup
