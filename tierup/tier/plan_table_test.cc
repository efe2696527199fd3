#include "tierup/tier/plan_table.h"

#include <gtest/gtest.h>

#include <thread>

namespace tierup::tier {
namespace {

Tensor of_length(int64_t length) { return Tensor::empty(IntVector{length}, ScalarType::kFloat); }

// A plan for vectors of one length, without code.
Ref<InstalledPlan> plan_for(int64_t length, uint32_t serial) {
  profile::GraphProfile profile;
  profile.record(std::vector<IValue>{of_length(length)});
  auto plan = make_ref<InstalledPlan>();
  plan->guard = runtime::EntryGuard::from_profile(profile, true, {});
  plan->serial = serial;
  return plan;
}

uint32_t serial_found(const PlanTable& table, int64_t length) {
  const std::vector<IValue> arguments = {of_length(length)};
  const PlanTable::Lookup found = table.find(arguments, {});
  return found.plan ? found.plan->serial : 0;
}

TEST(PlanTable, FindsThePlanWhoseGuardHolds) {
  PlanTable table;
  table.install(plan_for(3, 1), {.plans = 4});
  table.install(plan_for(5, 2), {.plans = 4});
  EXPECT_EQ(serial_found(table, 3), 1U);
  EXPECT_EQ(serial_found(table, 5), 2U);
  EXPECT_EQ(serial_found(table, 4), 0U);
}

TEST(PlanTable, EvictsTheLeastRecentlyUsed) {
  PlanTable table;
  table.install(plan_for(1, 1), {.plans = 2});
  table.install(plan_for(2, 2), {.plans = 2});
  EXPECT_EQ(serial_found(table, 2), 2U);
  EXPECT_EQ(serial_found(table, 1), 1U);
  EXPECT_EQ(table.install(plan_for(3, 3), {.plans = 2}), 1U);
  EXPECT_EQ(serial_found(table, 2), 0U);
  EXPECT_EQ(serial_found(table, 1), 1U);
}

struct Holder final : ops::HoldsMemory {
  size_t held_bytes() const override { return 100; }
};

TEST(PlanTable, EvictsWhatHoldsTooMuchMemoryButNeverTheNewest) {
  const Holder holder;
  PlanTable table;
  const auto install = [&](int64_t length) {
    Ref<InstalledPlan> plan = plan_for(length, static_cast<uint32_t>(length));
    plan->holders.push_back(&holder);
    return table.install(plan, {.plans = 9, .bytes = 250});
  };
  EXPECT_EQ(install(1), 0U);
  EXPECT_EQ(install(2), 0U);
  EXPECT_EQ(serial_found(table, 1), 1U);
  EXPECT_EQ(install(3), 1U);
  EXPECT_EQ(serial_found(table, 2), 0U);
  EXPECT_EQ(table.install(plan_for(4, 4), {.plans = 9, .bytes = 0}), 2U);
  EXPECT_EQ(serial_found(table, 4), 4U);
}

TEST(PlanTable, AReaderKeepsAPlanThatIsTakenAway) {
  PlanTable table;
  table.install(plan_for(3, 1), {.plans = 4});
  const std::vector<IValue> arguments = {of_length(3)};
  const Ref<const InstalledPlan> held = table.find(arguments, {}).plan;
  table.clear();
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(held->serial, 1U);
}

TEST(PlanTable, NamesTheOutdatedPlan) {
  PlanTable table;
  Ref<InstalledPlan> plan = plan_for(3, 1);
  const Tensor weight = of_length(2);
  plan->guard.observe(weight.storage());
  table.install(plan, {.plans = 4});
  EXPECT_EQ(serial_found(table, 3), 1U);
  weight.storage()->bump_version();
  const std::vector<IValue> arguments = {of_length(3)};
  const PlanTable::Lookup found = table.find(arguments, {});
  EXPECT_FALSE(found.plan);
  ASSERT_TRUE(found.outdated);
  table.remove(found.outdated.get());
  EXPECT_TRUE(table.empty());
}

TEST(PlanTable, ReadersAndWritersAtOnceSeeWholeTables) {
  PlanTable table;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      const std::vector<IValue> arguments = {of_length(7)};
      while (!stop.load()) {
        const PlanTable::Lookup found = table.find(arguments, {});
        if (found.plan && found.plan->serial % 8 != 7) ++wrong;
      }
    });
  }
  for (uint32_t i = 0; i < 500; ++i) {
    table.install(plan_for(i % 8, i), {.plans = 5});
    if (i % 50 == 0) table.clear();
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0U);
}

TEST(LaterVariant, IsTakenOnceAndNotBeforeItIsDue) {
  LaterVariant later;
  const auto now = LaterVariant::Clock::now();
  EXPECT_FALSE(later.take(now));
  later.put_off(PlanVariant::kWithoutNets, now + std::chrono::seconds(3));
  EXPECT_FALSE(later.take(now + std::chrono::seconds(2)));
  EXPECT_EQ(later.take(now + std::chrono::seconds(3)), PlanVariant::kWithoutNets);
  EXPECT_FALSE(later.take(now + std::chrono::seconds(4)));
}

}  // namespace
}  // namespace tierup::tier
