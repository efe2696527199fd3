// SizedTrial: the trial of the ways to run a function, for one set of argument sizes; see
// plan_trial.h, which alone changes it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace tierup::tier {

// Thread rule: any thread, no locks.
struct SizedTrial {
  static constexpr size_t kContenders = 5;
  static constexpr uint32_t kMostSamples = 12;
  static constexpr uint8_t kOpen = 0xff;

  struct Samples {
    std::array<std::atomic<int64_t>, kMostSamples> times{};
    std::atomic<uint32_t> count{0};

    void add(int64_t time);
    void clear() { count.store(0, std::memory_order_relaxed); }
    uint32_t size() const { return std::min(count.load(), kMostSamples); }
    std::array<int64_t, kMostSamples> sorted() const;  // The first size() are samples.
    // Of two the lower: what disturbs a call makes it longer.
    int64_t median() const { return sorted()[size() == 0 ? 0 : (size() - 1) / 2]; }
  };

  std::atomic<uint8_t> verdict{kOpen};  // Or a PlanTrial::Contender.
  std::atomic<uint32_t> turns{0};       // Since the trial was opened.
  std::atomic<int64_t> warm_time{0};    // Of the last call that warmed up.
  std::atomic<uint32_t> ahead{0};       // Turns that tier 0 took before there was a plan.
  // Tier 0's sample is its first call, which may have met memory that was still to be had, until it
  // is timed again.
  enum class FirstCall : uint8_t { kNone, kTrusted, kTimedAgain };
  std::atomic<FirstCall> first_call{FirstCall::kNone};
  // Whether the plan by one thread has had its turns: not yet, it has them now, beside the plan
  // alone, or it stands among the others.
  enum class Alone : uint8_t { kNotYet, kNow, kTried };
  std::atomic<Alone> alone{Alone::kNotYet};
  std::array<Samples, kContenders> samples;
  // After the verdict: calls since the last look at a loser, looks, how many calls lie between two,
  // the loser's last time, and how often in a row the loser was faster.
  std::atomic<uint32_t> calls{0};
  std::atomic<uint32_t> looks{0};
  std::atomic<uint32_t> period{0};
  std::atomic<int64_t> loser_time{0};
  std::atomic<uint32_t> upsets{0};
};

}  // namespace tierup::tier
