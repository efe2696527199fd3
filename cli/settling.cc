#include "settling.h"

namespace tierup::cli {

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

namespace {

// A trial decides after some dozens of calls, and at most two more follow on it.
constexpr int kMostRounds = 100;

}  // namespace

double settle(const v1::Module& module, const std::function<void(size_t)>& call) {
  const auto start = Clock::now();
  module.wait_for_compilation();
  for (int round = 0; round < 3 || (round < kMostRounds && !module.is_settled()); ++round) {
    for (size_t i = 0; i < 3; ++i) call(i);
    module.wait_for_compilation();
  }
  return milliseconds_since(start);
}

}  // namespace tierup::cli
