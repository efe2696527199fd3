#include "tierup/tier/sized_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace tierup::tier {
namespace {

std::unique_ptr<runtime::MemoryPlan> memory_plan() {
  return std::make_unique<runtime::MemoryPlan>(std::vector<runtime::BlockLife>{{64, 0, 1}});
}

// Calls with these sizes until they have an entry; 0 if a hundred thousand were too few.
int calls_until_known(SizedPlans& plans, SizedPlans::Signature sizes) {
  for (int call = 1; call <= 100000; ++call) {
    if (plans.at(sizes) != nullptr) return call;
  }
  return 0;
}

TEST(SizedPlans, equal_sizes_have_one_entry_and_one_key) {
  const std::vector<IValue> a{Tensor::empty(IntVector{2, 3}, ScalarType::kFloat), 1.5};
  const std::vector<IValue> b{Tensor::empty(IntVector{3, 2}, ScalarType::kFloat), 1.5};
  const auto key = SizedPlans::signature_of(a);
  EXPECT_NE(key, SizedPlans::signature_of(b));
  EXPECT_EQ(key, SizedPlans::signature_of(std::vector<IValue>(a)));
  SizedPlans plans;
  EXPECT_NE(plans.at(key), nullptr);
  EXPECT_EQ(plans.at(key), plans.at(key));
  EXPECT_EQ(plans.entries().size(), 1U);
}

// Many callers run the same new sizes: one of them records, not each until the plan stands.
TEST(SizedPlans, one_run_at_a_time_is_recorded) {
  SizedPlans plans;
  SizedPlan& one = *plans.at(1);
  SizedPlan& two = *plans.at(2);
  EXPECT_FALSE(plans.wants_recording(one)) << "sizes that come once may never come again";
  EXPECT_TRUE(plans.wants_recording(one));
  EXPECT_FALSE(plans.wants_recording(one));
  EXPECT_FALSE(plans.wants_recording(two));
  EXPECT_FALSE(plans.wants_recording(two));
  plans.give_up_recording();
  EXPECT_TRUE(plans.wants_recording(one));
  plans.add_memory(one, memory_plan());
  EXPECT_EQ(plans.arena_bytes(), one.memory()->layout().arena_bytes());
  const runtime::MemoryPlan* first = one.memory();
  plans.add_memory(one, memory_plan());
  EXPECT_EQ(one.memory(), first) << "calls may be at work with it";
  EXPECT_TRUE(plans.wants_recording(two));
}

TEST(SizedPlans, layouts_of_an_older_plan_need_no_recording) {
  SizedPlans older;
  older.at(1);
  older.add_memory(*older.at(2), memory_plan());
  SizedPlans newer;
  newer.take_layouts(older);
  ASSERT_EQ(newer.entries().size(), 1U) << "of sizes that were recorded";
  ASSERT_NE(newer.at(2)->memory(), nullptr);
  EXPECT_EQ(newer.at(2)->memory()->shared_layout(), older.at(2)->memory()->shared_layout());
  EXPECT_NE(newer.at(2)->memory(), older.at(2)->memory()) << "arenas go with their plan";
}

TEST(SizedPlans, sizes_that_keep_coming_take_the_place_of_those_that_do_not) {
  SizedPlans plans;
  for (SizedPlans::Signature sizes = 1; sizes <= SizedPlans::kMost; ++sizes) plans.at(sizes);
  plans.at(1);
  EXPECT_EQ(plans.at(9), nullptr);
  EXPECT_GT(calls_until_known(plans, 9), 1);
  EXPECT_EQ(plans.entries().size(), SizedPlans::kMost);
  EXPECT_EQ(plans.replacements(), 1U);
  const std::vector<SizedPlan*> entries = plans.entries();
  const auto has = [&](SizedPlans::Signature sizes) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const SizedPlan* one) { return one->signature == sizes; });
  };
  EXPECT_TRUE(has(1)) << "it was used since";
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(9));
}

TEST(SizedPlans, what_went_stays_for_calls_at_work_without_its_memory) {
  SizedPlans plans;
  SizedPlan& first = *plans.at(1);
  plans.add_memory(first, memory_plan());
  { const runtime::ArenaScope scope(*first.memory()); }
  for (SizedPlans::Signature sizes = 2; sizes <= SizedPlans::kMost; ++sizes) plans.at(sizes);
  ASSERT_GT(calls_until_known(plans, 9), 0);
  EXPECT_EQ(plans.arena_bytes(), 0U);
  EXPECT_EQ(plans.trim(), 0U) << "its arena was freed";
  { const runtime::ArenaScope scope(*first.memory()); }
  EXPECT_EQ(plans.trim(), 1U);
}

// Each round of replacements takes twice as many calls as the one before.
TEST(SizedPlans, sizes_that_take_turns_do_not_throw_each_other_out_again_and_again) {
  SizedPlans plans;
  for (int call = 0; call < 100000; ++call) plans.at(static_cast<uint64_t>(call / 50 % 40) + 1);
  // So many that all of them together take the calls: kMost times 4, 8, 16...
  uint64_t most = SizedPlans::kMost;
  for (uint64_t calls = 4; calls * SizedPlans::kMost < 100000; calls *= 2)
    most += SizedPlans::kMost;
  EXPECT_GT(plans.replacements(), 8U);
  EXPECT_LT(plans.replacements(), most);
}

TEST(SizedPlans, any_number_of_threads_find_one_entry_for_each_size) {
  SizedPlans plans;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (SizedPlans::Signature call = 0; call < 4000; ++call) {
        const SizedPlan* sized = plans.at(call % 5 + 1);
        if (sized != nullptr) {
          EXPECT_EQ(sized->signature, call % 5 + 1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plans.entries().size(), 5U);
}

}  // namespace
}  // namespace tierup::tier
