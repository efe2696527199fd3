#include "tierup/kernels/net/trial.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>

namespace tierup::kernels::net {
namespace {

constexpr int kMostRounds = 4;
constexpr int kMostRepeats = 3;         // Of a disturbed run.
constexpr double kFarBehind = 3;        // In the first run, which may be slow,
constexpr double kFarBehindLong = 1.5;  // and hardly is where all take longer than that:
constexpr double kLongMilliseconds = 1;
constexpr double kBehind = 1.25;      // After one round,
constexpr double kBehindLater = 1.1;  // after more.
constexpr double kTooClose = 1.04;
constexpr double kMostMilliseconds = 4;  // For further looks, and repeats of disturbed runs.

double milliseconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

int64_t interruptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

class Trial {
 public:
  Trial(size_t count, const std::function<TrialRun(size_t)>& run,
        const std::function<double(size_t)>& least)
      : run_(run), least_(least) {
    result_.milliseconds.assign(count, kNotRun);
    is_in_.assign(count, true);
  }

  TrialResult decide() {
    warm_up();
    for (; result_.rounds < kMostRounds && is_open(); ++result_.rounds) {
      for (size_t i = 0; i < is_in_.size(); ++i) {
        if (is_in_[i]) result_.milliseconds[i] = std::min(result_.milliseconds[i], measure(i));
      }
      drop_slower_than(result_.rounds == 0 ? kBehind : kBehindLater);
    }
    while (!is_in_[result_.winner] || !is_among_equals(result_.winner)) ++result_.winner;
    return std::move(result_);
  }

 private:
  void warm_up() {
    std::vector<double> first;
    double best = kNotRun;
    for (size_t i = 0; i < is_in_.size(); ++i) {
      const bool is_long = best > kLongMilliseconds && best < kNotRun;
      const bool is_hopeless = is_long && least_(i) > kFarBehindLong * best;
      first.push_back(is_hopeless ? kNotRun : measure(i));
      best = std::min(best, first.back());
    }
    const double bound = (best > kLongMilliseconds ? kFarBehindLong : kFarBehind) * best;
    for (size_t i = 0; i < is_in_.size(); ++i) is_in_[i] = first[i] <= bound;
    const bool is_decided = std::count(is_in_.begin(), is_in_.end(), true) == 1;
    for (size_t i = 0; i < is_in_.size(); ++i)
      if (!is_in_[i] || is_decided) result_.milliseconds[i] = first[i];
  }

  // Beside other work, what takes long is disturbed however often it is done again.
  double measure(size_t i) {
    TrialRun run = run_(i);
    if (run.milliseconds == kNotRun) return kNotRun;
    double best = run.milliseconds;
    spent_ += run.milliseconds;
    const auto wants_repeat = [&] { return run.is_disturbed && spent_ < kMostMilliseconds; };
    for (int repeats = 0; wants_repeat() && repeats < kMostRepeats; ++repeats) {
      run = run_(i);
      spent_ += run.milliseconds;
      best = std::min(best, run.milliseconds);
    }
    return best;
  }

  // While more than one is in, they are looked at again: twice in any case, then within bounds
  // unless all are equals, of which the first is taken.
  bool is_open() const {
    if (std::count(is_in_.begin(), is_in_.end(), true) < 2) return false;
    if (result_.rounds < 2) return true;
    bool is_tie = true;
    for (size_t i = 0; i < is_in_.size(); ++i)
      is_tie = is_tie && (!is_in_[i] || is_among_equals(i));
    return !is_tie && spent_ < kMostMilliseconds;
  }

  bool is_among_equals(size_t i) const { return result_.milliseconds[i] <= kTooClose * least(); }

  double least() const {
    double best = kNotRun;
    for (size_t i = 0; i < is_in_.size(); ++i)
      if (is_in_[i]) best = std::min(best, result_.milliseconds[i]);
    return best;
  }
  void drop_slower_than(double factor) {
    const double bound = factor * least();
    for (size_t i = 0; i < is_in_.size(); ++i)
      is_in_[i] = is_in_[i] && result_.milliseconds[i] <= bound;
  }

  const std::function<TrialRun(size_t)>& run_;
  const std::function<double(size_t)>& least_;
  TrialResult result_;
  std::vector<bool> is_in_;
  double spent_ = 0;
};

}  // namespace

TrialResult try_candidates(size_t count, const std::function<TrialRun(size_t)>& run,
                           const std::function<double(size_t)>& least) {
  return Trial(count, run, least).decide();
}

// Of this thread's own time: that other work had the core does not count, but that the work's data
// may have left the cache meanwhile makes the run worthless.
TrialRun timed_run(const std::function<void()>& work) {
  constexpr double kWaited = 0.03;  // Milliseconds.
  const int64_t before = interruptions();
  const double wall_begin = milliseconds_of(CLOCK_MONOTONIC);
  const double begin = milliseconds_of(CLOCK_THREAD_CPUTIME_ID);
  work();
  const double time = milliseconds_of(CLOCK_THREAD_CPUTIME_ID) - begin;
  const double wall = milliseconds_of(CLOCK_MONOTONIC) - wall_begin;
  return {time, interruptions() != before || wall > time + kWaited};
}

}  // namespace tierup::kernels::net
