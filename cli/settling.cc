#include "settling.h"

namespace tierup::cli {

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

namespace {

// A trial decides after some dozens of calls, and at most two more follow on it.
constexpr int kMostRounds = 100;

}  // namespace

// Before there is a profile nothing waits either: what counts is when it last came to be settled.
void Settling::look() {
  const bool is_settled = module_.is_settled();
  if (is_settled && !is_settled_) settled_ms_ = milliseconds_since(begin_);
  is_settled_ = is_settled;
}

double Settling::finish(const std::function<void(size_t)>& call) {
  module_.wait_for_compilation();
  look();
  for (int round = 0; round < 3 || (round < kMostRounds && !is_settled_); ++round) {
    for (size_t i = 0; i < 3; ++i) {
      call(i);
      module_.wait_for_compilation();
      look();
    }
  }
  return settled_ms_;
}

}  // namespace tierup::cli
