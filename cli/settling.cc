#include "settling.h"

namespace tierup::cli {

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

namespace {

// A trial decides after some dozens of calls, and at most two more follow on it.
constexpr int kMostRounds = 100;

}  // namespace

double settle(const api::Model& model, const std::function<void(size_t)>& call) {
  const auto start = Clock::now();
  model.tiers().wait_for_jobs();
  for (int round = 0; round < 3 || (round < kMostRounds && model.tiers().has_open_trials());
       ++round) {
    for (size_t i = 0; i < 3; ++i) call(i);
    model.tiers().wait_for_jobs();
  }
  return milliseconds_since(start);
}

}  // namespace tierup::cli
