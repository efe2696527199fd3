#include "tierup/tier/plan_trial.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "tierup/ir/graph_editor.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/runtime/lower.h"

namespace tierup::tier {
namespace {

using Contender = PlanTrial::Contender;

std::unique_ptr<const runtime::Plan> empty_plan() {
  return runtime::lower(std::make_shared<ir::Graph>("empty"));
}

// Makes calls that are said to take so many microseconds by contender until the trial of `sizes` is
// decided; returns how many it took, 0 if a hundred were too few.
int calls_until_decided(PlanTrial& trial, SizedPlan* sizes,
                        const std::array<int, PlanTrial::kContenders>& times) {
  for (int call = 1; call <= 100; ++call) {
    PlanTrial::Turn turn = trial.begin(sizes);
    const std::chrono::microseconds took(times[static_cast<size_t>(turn.contender())]);
    if (turn.finish(took)) return call;
  }
  return 0;
}

PlanTrial::Contender winner(PlanTrial& trial, SizedPlan* sizes,
                            const std::array<int, PlanTrial::kContenders>& times) {
  EXPECT_GT(calls_until_decided(trial, sizes, times), 0);
  const auto result = PlanTrial::result(*sizes);
  return result ? result->winner : Contender::kFormer;
}

TEST(PlanTrial, the_fastest_contender_serves_the_calls_of_its_sizes) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  EXPECT_EQ(winner(trial, sized.at(1), {400, 200}), Contender::kPlan);
  EXPECT_EQ(winner(trial, sized.at(2), {200, 400}), Contender::kTier0);
  EXPECT_EQ(trial.begin(sized.at(1)).contender(), Contender::kPlan);
  EXPECT_EQ(trial.begin(sized.at(2)).contender(), Contender::kTier0);
  EXPECT_FALSE(trial.always_won(Contender::kTier0));
  EXPECT_NE(trial.to_string().find("plan is fastest (tier 0 0.4"), std::string::npos)
      << trial.to_string();
}

TEST(PlanTrial, a_clear_difference_is_found_within_some_dozen_calls) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  const int calls = calls_until_decided(trial, sized.at(1), {3000, 300});
  EXPECT_GT(calls, 0);
  EXPECT_LE(calls, 24);
}

TEST(PlanTrial, two_samples_tell_contenders_that_are_far_apart_and_one_of_long_calls) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  EXPECT_LE(calls_until_decided(trial, sized.at(1), {3000, 300}), 3 + 2 * 2 * 2);
  EXPECT_LE(calls_until_decided(trial, sized.at(2), {60'000, 30'000}), 2 + 2);
  EXPECT_EQ(winner(trial, sized.at(4), {30'000, 60'000}), Contender::kTier0);
  EXPECT_GT(calls_until_decided(trial, sized.at(3), {33'000, 30'000}), 3 + 2 * 2);
}

// Calls whose times go up and down by a quarter: how many until the trial is decided.
int noisy_calls(PlanTrial& trial, SizedPlan* sizes,
                const std::array<int, PlanTrial::kContenders>& times) {
  for (int call = 1; call <= 200; ++call) {
    PlanTrial::Turn turn = trial.begin(sizes);
    const int noise = 75 + 25 * (call * 7 % 3);
    if (turn.finish(std::chrono::microseconds(times[static_cast<size_t>(turn.contender())] * noise /
                                              100))) {
      return call;
    }
  }
  return 0;
}

TEST(PlanTrial, an_earlier_long_call_of_tier_0_saves_it_a_turn) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  trial.note_earlier_call(1, std::chrono::milliseconds(60), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(1), {60'000, 30'000}), 2 + 1);
  // One that was not the plan's luck: told from two each.
  trial.note_earlier_call(2, std::chrono::milliseconds(60), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(2), {60'000, 58'000}), 2 + 3);
  // Of very long ones one each, unless the plan's was the slower.
  trial.note_earlier_call(5, std::chrono::milliseconds(200), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(5), {200'000, 150'000}), 2 + 1);
  trial.note_earlier_call(6, std::chrono::milliseconds(200), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(6), {200'000, 280'000}), 2 + 3);
  trial.note_earlier_call(3, std::chrono::microseconds(60), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(3), {60, 20}), 3 + 2 * 4);
}

TEST(PlanTrial, one_sample_of_each_tells_for_a_plan_that_is_a_tenth_ahead) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  trial.note_earlier_call(1, std::chrono::milliseconds(60), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(1), {60'000, 54'000}), 2 + 1);
  EXPECT_EQ(PlanTrial::result(*sized.at(1))->winner, Contender::kPlan);
  trial.note_earlier_call(2, std::chrono::milliseconds(60), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(2), {60'000, 55'000}), 2 + 3);
}

TEST(PlanTrial, a_plan_that_a_job_has_run_has_less_to_warm_up) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  trial.note_rehearsal(1, std::chrono::milliseconds(60));
  trial.note_earlier_call(1, std::chrono::milliseconds(60), false);
  EXPECT_EQ(calls_until_decided(trial, sized.at(1), {60'000, 30'000}), 1);
  // The first in its arena.
  trial.note_rehearsal(2, std::chrono::microseconds(60));
  EXPECT_EQ(calls_until_decided(trial, sized.at(2), {60, 20}), 1 + 2 * 4);
}

TEST(PlanTrial, one_slow_call_does_not_lose_a_plan_of_long_calls) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  trial.note_earlier_call(1, std::chrono::milliseconds(112), false);
  const int of_plan[] = {250, 250, 210, 95};  // Two warm up.
  bool is_decided = false;
  for (size_t plans = 0; !is_decided && plans < std::size(of_plan);) {
    PlanTrial::Turn turn = trial.begin(sized.at(1));
    const bool is_plan = turn.contender() == Contender::kPlan;
    is_decided = turn.finish(std::chrono::milliseconds(is_plan ? of_plan[plans++] : 112));
  }
  ASSERT_TRUE(is_decided);
  EXPECT_EQ(PlanTrial::result(*sized.at(1))->winner, Contender::kPlan);
}

TEST(PlanTrial, long_calls_are_tried_no_longer_than_the_answer_is_worth) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  const int of_short_calls = noisy_calls(trial, sized.at(1), {1050, 1000});
  const int of_long_calls = noisy_calls(trial, sized.at(2), {105'000, 100'000});
  EXPECT_GT(of_short_calls, 3 + 2 * 2 * 4);
  EXPECT_GT(of_long_calls, 0);
  EXPECT_LE(of_long_calls, 2 + 2 * 2);
}

TEST(PlanTrial, equals_are_not_tried_to_the_end) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  trial.offer(Contender::kFormer);
  // Two equals beside one that is clearly behind.
  const int calls = noisy_calls(trial, sized.at(1), {400, 401, 0, 900});
  EXPECT_GT(calls, 0);
  EXPECT_LE(calls, 3 + 3 * 2 * 7);
}

// Tier 0 reads weights of a mapped file that a plan holds in another form: their pages come and go
// with each call as long as both are tried, and stay once tier 0 has won.
TEST(PlanTrial, what_spare_pages_take_is_not_tier_0s) {
  constexpr size_t kBytes = size_t{64} << 20U;
  std::FILE* file = std::tmpfile();
  ASSERT_EQ(ftruncate(fileno(file), kBytes), 0);
  void* data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
  ASSERT_NE(data, MAP_FAILED);
  const Tensor weight =
      Tensor::from_storage(Storage::borrow(data, kBytes, nullptr), ScalarType::kFloat,
                           IntVector{kBytes / 4}, IntVector{1}, 0);
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  const auto longest = PlanTrial::Clock::duration::max();
  auto shortest = longest;
  bool is_decided = false;
  for (int call = 0; call < 200 && !is_decided; ++call) {
    const kernels::SpareWeight spare = kernels::give_back_pages(weight);
    PlanTrial::Turn turn = trial.begin(sized.at(1));
    const auto begin = PlanTrial::Clock::now();
    if (turn.contender() == Contender::kTier0)
      const kernels::WeightReading reading(data, kBytes, INT64_MAX);
    const auto took = PlanTrial::Clock::now() - begin;
    if (turn.contender() == Contender::kTier0) shortest = std::min(shortest, took);
    is_decided = turn.finish();
  }
  const auto result = PlanTrial::result(*sized.at(1));
  ASSERT_TRUE(result);
  EXPECT_LT(*result->medians[static_cast<size_t>(Contender::kTier0)],
            shortest / std::chrono::nanoseconds(1) / 4);
  munmap(data, kBytes);
  std::fclose(file);
}

TEST(PlanTrial, takes_the_branched_plan_only_where_it_is_clearly_faster) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer_branched(empty_plan());
  EXPECT_EQ(winner(trial, sized.at(1), {0, 400, 0, 200}), Contender::kBranched);
  EXPECT_EQ(winner(trial, sized.at(2), {0, 200, 0, 400}), Contender::kPlan);
  EXPECT_EQ(winner(trial, sized.at(3), {0, 300, 0, 298}), Contender::kPlan);
}

// The winner once one thread has had its turns; calls take so many microseconds.
PlanTrial::Contender winner_after_alone(PlanTrial& trial, SizedPlan* sizes, int alone,
                                        bool is_crowded = false) {
  const std::array<int, PlanTrial::kContenders> times{60, 50, alone};
  EXPECT_EQ(winner(trial, sizes, times), Contender::kPlan);
  bool was_tried = false;
  for (int call = 0; call < 120; ++call) {
    PlanTrial::Turn turn = trial.begin(sizes, true, is_crowded);
    was_tried = was_tried || turn.contender() == Contender::kAlone;
    turn.finish(std::chrono::microseconds(times[static_cast<size_t>(turn.contender())]));
  }
  EXPECT_EQ(was_tried, !is_crowded && trial.is_offered(Contender::kAlone));
  const auto result = PlanTrial::result(*sizes);
  return result ? result->winner : Contender::kFormer;
}

TEST(PlanTrial, takes_one_thread_where_a_team_costs_more_than_it_earns) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  trial.offer_alone(std::chrono::milliseconds(3));
  EXPECT_EQ(winner_after_alone(trial, sized.at(1), 30), Contender::kAlone);
  EXPECT_EQ(winner_after_alone(trial, sized.at(2), 70), Contender::kPlan);
  EXPECT_NE(trial.to_string().find("tier 0 0.06 ms, plan 0.05 ms, plan by one thread 0.03 ms"),
            std::string::npos)
      << trial.to_string();
}

TEST(PlanTrial, does_not_try_one_thread_beside_others_nor_where_calls_are_long) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  trial.offer_alone(std::chrono::milliseconds(3));
  EXPECT_EQ(winner_after_alone(trial, sized.at(1), 30, true), Contender::kPlan);
  PlanTrial long_calls(sized);
  long_calls.offer(Contender::kTier0);
  long_calls.offer_alone(std::chrono::milliseconds(30));
  EXPECT_EQ(winner_after_alone(long_calls, sized.at(2), 30), Contender::kPlan);
}

TEST(PlanTrial, a_loser_that_has_become_faster_reopens_the_trial) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  ASSERT_EQ(winner(trial, sized.at(1), {60, 30}), Contender::kPlan);
  int call = 0;
  for (; call < 5000 && trial.begin(sized.at(1)).contender() != Contender::kTier0; ++call) {
  }
  EXPECT_LT(call, 5000);  // The loser is looked at again now and then.
  for (call = 0; call < 20000; ++call) {
    PlanTrial::Turn turn = trial.begin(sized.at(1));
    turn.finish(std::chrono::microseconds(turn.contender() == Contender::kTier0 ? 5 : 30));
    const auto result = PlanTrial::result(*sized.at(1));
    if (result && result->winner == Contender::kTier0) break;
  }
  EXPECT_LT(call, 20000);
}

// Few samples of long calls decide, so a verdict may be wrong by what the machine did meanwhile.
TEST(PlanTrial, a_narrow_verdict_on_long_calls_is_looked_at_again_after_some_dozens) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  const auto calls_until_looked_at = [&](SizedPlan* sizes) {
    const Contender won = PlanTrial::result(*sizes)->winner;
    int call = 1;
    while (call < 5000 && trial.begin(sizes).contender() == won) ++call;
    return call;
  };
  ASSERT_EQ(winner(trial, sized.at(1), {40'400, 40'000}), Contender::kPlan);
  EXPECT_LE(calls_until_looked_at(sized.at(1)), 32);
  ASSERT_EQ(winner(trial, sized.at(2), {80'000, 40'000}), Contender::kPlan);
  EXPECT_GT(calls_until_looked_at(sized.at(2)), 350);  // Twice a call, half a percent.
  ASSERT_EQ(winner(trial, sized.at(3), {404, 400}), Contender::kPlan);
  EXPECT_GT(calls_until_looked_at(sized.at(3)), 200);
}

// Which may have met memory that was still to be had, so that the plan only seemed to be faster.
TEST(PlanTrial, a_verdict_by_the_first_call_is_looked_at_soon_and_may_be_reopened) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  const auto decide = [&](SizedPlan* sizes, uint64_t signature) {
    trial.note_rehearsal(signature, std::chrono::milliseconds(60));
    trial.note_earlier_call(signature, std::chrono::milliseconds(90), true);
    EXPECT_EQ(calls_until_decided(trial, sizes, {60'000, 64'000}), 1);
    EXPECT_EQ(PlanTrial::result(*sizes)->winner, Contender::kPlan);
  };
  const auto make_calls = [&](SizedPlan* sizes, int tier0) {
    int of_tier0 = 0;
    for (int call = 0; call < 12; ++call) {
      PlanTrial::Turn turn = trial.begin(sizes);
      const bool is_tier0 = turn.contender() == Contender::kTier0;
      of_tier0 += is_tier0 ? 1 : 0;
      turn.finish(std::chrono::milliseconds(is_tier0 ? tier0 : 64));
    }
    EXPECT_EQ(of_tier0, 2);
  };
  decide(sized.at(1), 1);
  make_calls(sized.at(1), 60);
  EXPECT_EQ(winner(trial, sized.at(1), {60'000, 64'000}), Contender::kTier0);
  // What holds is not looked at so soon again, and tells what tier 0 takes as a rule.
  decide(sized.at(2), 2);
  make_calls(sized.at(2), 70);
  EXPECT_EQ(PlanTrial::result(*sized.at(2))->medians[0], 70'000'000);
  for (int call = 0; call < 20; ++call) {
    PlanTrial::Turn turn = trial.begin(sized.at(2));
    EXPECT_EQ(turn.contender(), Contender::kPlan);
    turn.finish(std::chrono::milliseconds(64));
  }
}

TEST(PlanTrial, calls_that_began_before_a_verdict_do_not_end_its_trust_in_the_first_call) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  SizedPlan* sizes = sized.at(1);
  trial.note_rehearsal(1, std::chrono::milliseconds(60));
  trial.note_earlier_call(1, std::chrono::milliseconds(90), true);
  PlanTrial::Turn deciding = trial.begin(sizes);
  trial.begin(sizes);  // Tier 0's, which fails.
  PlanTrial::Turn late = trial.begin(sizes);
  ASSERT_EQ(late.contender(), Contender::kPlan);
  EXPECT_TRUE(deciding.finish(std::chrono::milliseconds(64)));
  late.finish(std::chrono::milliseconds(64));
  const auto took = [](const PlanTrial::Turn& turn) {
    return std::chrono::milliseconds(turn.contender() == Contender::kTier0 ? 60 : 64);
  };
  for (int call = 0; call < 12; ++call) {
    PlanTrial::Turn turn = trial.begin(sizes);
    turn.finish(took(turn));
  }
  EXPECT_EQ(winner(trial, sizes, {60'000, 64'000}), Contender::kTier0);
}

TEST(PlanTrial, nothing_is_measured_while_a_job_may_change_the_times) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer(Contender::kTier0);
  for (int call = 0; call < 100; ++call) {
    PlanTrial::Turn turn = trial.begin(sized.at(1), false);
    EXPECT_EQ(turn.contender(), Contender::kPlan);
    EXPECT_FALSE(turn.finish());
  }
  EXPECT_TRUE(trial.is_open());
}

TEST(PlanTrial, new_weights_take_over_what_was_found_out) {
  SizedPlans older_sized;
  PlanTrial older(older_sized);
  older.offer(Contender::kTier0);
  ASSERT_EQ(winner(older, older_sized.at(1), {50, 200}), Contender::kTier0);
  SizedPlans sized;
  PlanTrial newer(sized);
  newer.offer(Contender::kTier0);
  newer.take_verdicts(older);
  EXPECT_EQ(newer.begin(sized.at(1)).contender(), Contender::kTier0);
  EXPECT_EQ(newer.begin(sized.at(2)).contender(), Contender::kPlan);
}

TEST(PlanTrial, sizes_without_an_entry_stay_with_the_standard) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer_branched(empty_plan());
  for (int call = 0; call < 20; ++call)
    EXPECT_EQ(trial.begin(nullptr).contender(), Contender::kPlan);
}

TEST(PlanTrial, any_number_of_threads_take_turns) {
  SizedPlans sized;
  PlanTrial trial(sized);
  trial.offer_branched(empty_plan());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (SizedPlans::Signature call = 0; call < 800; ++call) {
        PlanTrial::Turn turn = trial.begin(sized.at(call % 4 + 1));
        const bool is_branched = turn.contender() == Contender::kBranched;
        turn.finish(std::chrono::microseconds(is_branched ? 400 : 200));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(trial.is_open()) << trial.to_string();
}

}  // namespace
}  // namespace tierup::tier
