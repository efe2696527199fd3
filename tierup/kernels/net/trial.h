// Which of some ways to do one thing is the fastest, by measurement that noise does not decide.
//
// Candidates take turns, so that a slow spell of the machine hits all; the least time of each
// counts, and a run in which the thread was interrupted does not. Who is clearly behind drops out,
// close calls get further looks, and what stays too close to tell is decided by the order in which
// the candidates stand: the one expected to be the best comes first. So equal runs choose alike.
// What cannot come near is not run at all, where a bound of its time is known.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace tierup::kernels::net {

constexpr double kNotRun = std::numeric_limits<double>::infinity();

struct TrialRun {
  double milliseconds;
  bool is_disturbed;
};

struct TrialResult {
  size_t winner = 0;
  std::vector<double> milliseconds;  // The least of each candidate; kNotRun where it was not run.
  int rounds = 0;
};

// `run(i)` does it once by candidate i; kNotRun from one that cannot do it. The first run of each
// is for warming up. `least(i)`: milliseconds that candidate i takes at least, which is asked where
// the best so far is long; by default nothing is known.
TrialResult try_candidates(
    size_t count, const std::function<TrialRun(size_t)>& run,
    const std::function<double(size_t)>& least = [](size_t) { return 0.0; });

// Runs it in this thread and tells how long the thread worked.
TrialRun timed_run(const std::function<void()>& work);

}  // namespace tierup::kernels::net
