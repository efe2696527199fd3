// Sixteen callers of one Executor while its weights are swapped every 50 ms: each answer belongs to
// exactly one generation, swaps cost little throughput, memory comes back. Seconds per half (with
// and without swaps, by turns) come from STRESS_SECONDS (default 1); the figures are printed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tierup/api/public/weights_fixture.h"
#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;
using Clock = std::chrono::steady_clock;

double seconds_per_half() {
  const char* text = std::getenv("STRESS_SECONDS");
  return text != nullptr ? std::atof(text) : 1.0;
}

class SwapStress : public testing::TestWithParam<const char*> {
 protected:
  struct Outcome {
    uint64_t answers = 0;
    uint64_t strangers = 0;  // Answers of no generation.
    uint64_t swaps = 0;
    double seconds = 0;

    double per_second() const { return static_cast<double>(answers) / seconds; }
    Outcome& operator+=(const Outcome& other) {
      answers += other.answers;
      strangers += other.strangers;
      swaps += other.swaps;
      seconds += other.seconds;
      return *this;
    }
  };

  SwapStress() : executor_(std::string("tests/data/zoo/") + GetParam(), {.max_frames = 8}) {
    original_ = executor_.weights();
    for (const float factor : {1.0F, 2.0F, 4.0F}) {
      executor_.swap_weights(scaled(original_, factor));
      for (int i = 0; i < 20; ++i) expected_.push_back(answer());
    }
  }

  std::vector<float> answer() const { return values(executor_({input_}).to_tensor()); }

  // Tier 1 may round otherwise than tier 0: close to one generation and far from the others, which
  // differ by factors of two and more.
  bool is_known(const std::vector<float>& found) const {
    for (const std::vector<float>& one : expected_) {
      bool close = found.size() == one.size();
      for (size_t i = 0; close && i < one.size(); ++i) {
        close = std::abs(found[i] - one[i]) <= 1e-4F * (std::abs(one[i]) + 1e-2F);
      }
      if (close) return true;
    }
    return false;
  }

  Outcome call(double seconds, bool swaps) {
    Outcome outcome;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> answers{0};
    std::atomic<uint64_t> strangers{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 16; ++i) {
      callers.emplace_back([&] {
        while (!stop.load(std::memory_order_relaxed)) {
          if (!is_known(answer())) ++strangers;
          answers.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
    const auto start = Clock::now();
    const auto end = start + std::chrono::duration<double>(seconds);
    // A machine that is busy otherwise may need all the time for one swap.
    for (int swap = 0; Clock::now() < end || (swaps && swap < 3); ++swap) {
      const auto next = Clock::now() + std::chrono::milliseconds(50);
      if (swaps) {
        executor_.swap_weights(scaled(original_, static_cast<float>(1 << (swap % 3))));
        ++outcome.swaps;
      }
      std::this_thread::sleep_until(next);
    }
    stop = true;
    for (std::thread& caller : callers) caller.join();
    outcome.answers = answers;
    outcome.strangers = strangers;
    outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return outcome;
  }

  // In slices of two seconds at most, in the order quiet, swapped, swapped, quiet, so that a drift
  // of the machine's speed favours neither.
  void call_by_turns(Outcome& quiet, Outcome& swapped) {
    const int pairs = std::max(1, static_cast<int>(seconds_per_half() / 2));
    for (int pair = 0; pair < pairs; ++pair) {
      for (const bool swaps : {pair % 2 == 1, pair % 2 == 0}) {
        (swaps ? swapped : quiet) += call(seconds_per_half() / pairs, swaps);
      }
    }
  }

  void wait_for_old() const {
    for (int i = 0; i < 500 && executor_.stats().generations_old > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  const Tensor input_ =
      Tensor::of<float>(std::vector<float>(40, 1.0F), std::vector<int64_t>{2, 20});
  const Executor executor_;
  NamedTensors original_;
  std::vector<std::vector<float>> expected_;
};

TEST_P(SwapStress, every_answer_is_one_generations) {
  call(seconds_per_half() / 4, true);
  wait_for_old();
  const int64_t base = memory_stats().live_bytes;
  Outcome quiet;
  Outcome swapped;
  call_by_turns(quiet, swapped);
  wait_for_old();
  std::printf("%s: %.0f answers/s without swaps, %.0f with %llu swaps (%.1f %%)\n", GetParam(),
              quiet.per_second(), swapped.per_second(),
              static_cast<unsigned long long>(swapped.swaps),
              100 * swapped.per_second() / quiet.per_second());
  EXPECT_EQ(quiet.strangers + swapped.strangers, 0U);
  EXPECT_GT(swapped.answers, 0U);
  EXPECT_GT(swapped.swaps, 1U);
  EXPECT_EQ(executor_.stats().generations_old, 0U);
  EXPECT_EQ(executor_.stats().frames_in_use, 0U);
  EXPECT_LE(memory_stats().live_bytes, base + (1 << 20));
}

INSTANTIATE_TEST_SUITE_P(Zoo, SwapStress, testing::Values("mlp3.pt", "mlp3.pt2"),
                         [](const auto& info) {
                           return std::string(info.param).ends_with("2") ? "exported"
                                                                         : "torchscript";
                         });

}  // namespace
