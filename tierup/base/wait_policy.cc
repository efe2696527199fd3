#include "tierup/base/wait_policy.h"

#include <fcntl.h>
#include <omp.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tierup/base/fork_hooks.h"

namespace tierup {
namespace {

constexpr int64_t kMillisecond = 1'000'000;  // ns
constexpr int64_t kSampleInterval = 10 * kMillisecond;
constexpr int64_t kLeastWindow = 20 * kMillisecond;  // Of runs, over which losses are judged.
constexpr int64_t kLeastHold = 100 * kMillisecond;
constexpr int64_t kMostHold = 3200 * kMillisecond;
constexpr int kQuietLooks = 3;  // In a row: others have gone.
constexpr int64_t kSecond = 1000 * kMillisecond;

int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// For how long this thread had a core, ever.
int64_t thread_cpu_ns() {
  timespec time{};
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 ? time.tv_sec * kSecond + time.tv_nsec
                                                            : 0;
}

std::atomic<int>& background_works() {
  static std::atomic<int> works{0};
  return works;
}

detail::OwnRun& own_run() {
  thread_local detail::OwnRun run;
  return run;
}

// What the whole process shares: libgomp's count is the process's too.
class WaitPolicy {
 public:
  static WaitPolicy& of_process() {
    static WaitPolicy policy;
    return policy;
  }

  // Whether the run is to be watched.
  bool run_begins(int threads, int64_t now) {
    if (!has_looked()) return false;
    // The workers of a run that ended a moment ago may still spin: they would count as others.
    if (now - last_end_.load(std::memory_order_relaxed) > 2 * kSampleInterval)
      sample(threads, 1, now);
    return long_runs_.load(std::memory_order_relaxed) || is_due(now);
  }

  // `lost`: how much of `ran` the thread did not have its core; both 0 for a run that was not
  // watched.
  void run_ends(int threads, int64_t now, int64_t ran, int64_t lost) {
    if (!has_looked()) return;
    last_end_.store(now, std::memory_order_relaxed);
    if (ran > 0) {
      long_runs_.store(ran > kMillisecond / 2, std::memory_order_relaxed);
      ran_.fetch_add(ran, std::memory_order_relaxed);
      lost_.fetch_add(lost, std::memory_order_relaxed);
    }
    // Now they certainly do, if there are any and they do not sleep.
    const bool one_is_awake = is_crowded() || !has_team_.load(std::memory_order_relaxed);
    sample(threads, one_is_awake ? 1 : threads, now);
  }

  void look_first(int threads) {
    if (file_ < 0 || has_looked()) return;
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock || has_looked()) return;
    const bool wait = is_so_at_each_look([&] { return others_wait(threads, 1); });
    decide({now_ns(), wait, 0, 0}, threads);
    next_sample_.store(now_ns() + kSampleInterval, std::memory_order_relaxed);
  }

  void workers_woke(int64_t now) { last_end_.store(now, std::memory_order_relaxed); }

  bool others_wait_now(int threads) const { return file_ >= 0 && others_wait(threads, 1); }

  // Cores that are left for a run of which one thread is awake; at least 1.
  int cores_left(int threads) const {
    if (file_ < 0 || !others_wait_at_rest(threads)) return detail::OwnRun::kAllCores;
    const int others = read_runnable().value_or(1) - 1;
    return std::max(1, cores_ - others);
  }

  void others_left() {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) return;
    cores_crowded_.others_left(now_ns());
    follow(false, 0);
  }

  bool is_crowded() const { return crowded_now_.load(std::memory_order_relaxed); }

  void team_is_entered(int threads) {
    if (has_team_.load(std::memory_order_relaxed) && !lacks_park_.load(std::memory_order_relaxed))
      return;
    has_team_.store(true, std::memory_order_relaxed);
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock && is_crowded()) park(threads);
  }

  ~WaitPolicy() {
    if (file_ >= 0) close(file_);
  }

 private:
  WaitPolicy() {
    if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) {
      return;
    }
    cores_ = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    file_ = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  }

  // Nothing is looked at for runs which need no team.
  bool has_looked() const { return next_sample_.load(std::memory_order_relaxed) > 0; }
  bool is_due(int64_t now) const { return now >= next_sample_.load(std::memory_order_relaxed); }

  // `ours`: threads of the run that are awake.
  void sample(int threads, int ours, int64_t now) {
    if (!is_due(now)) return;
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock || !is_due(now)) return;
    next_sample_.store(now + kSampleInterval, std::memory_order_relaxed);
    const bool wait = ours > 1 ? others_wait(threads, ours) : others_wait_at_rest(threads);
    decide({now, wait, ran_.exchange(0), lost_.exchange(0)}, threads);
  }

  bool others_wait(int threads, int ours) const {
    return read_runnable().value_or(0) - ours > cores_ - threads;
  }

  // Of the run one thread is awake; those that sleep at barriers may still be on their way there,
  // which takes them some 15 us.
  bool others_wait_at_rest(int threads) const {
    constexpr int64_t kPatience = 50'000;  // ns
    for (const int64_t last = now_ns() + kPatience; others_wait(threads, 1);) {
      if (now_ns() > last) return true;
      detail::pause_briefly();
    }
    return false;
  }

  std::optional<int> read_runnable() const {
    std::array<char, 128> text{};
    const ssize_t size = pread(file_, text.data(), text.size(), 0);
    if (size <= 0) return std::nullopt;
    return runnable_threads({text.data(), static_cast<size_t>(size)});
  }

  void decide(const CoreSample& sample, int threads) {
    follow(cores_crowded_.note(sample), threads);
  }

  void follow(bool crowded, int threads) {
    crowded_now_.store(crowded, std::memory_order_relaxed);
    if (crowded) {
      park(threads);
    } else if (parked_) {
      parked_->leave();
      leaving_ = std::move(parked_);
    }
  }

  // Where nobody has a team yet, the parked one would be the only one, and spin itself.
  void park(int threads) {
    const bool has_team = has_team_.load(std::memory_order_relaxed);
    lacks_park_.store(!has_team, std::memory_order_relaxed);
    if (parked_ || !has_team) return;
    leaving_.reset();
    // Enough to make libgomp count more threads than there are processors.
    parked_ = std::make_unique<ParkedTeam>(std::max(2, omp_get_num_procs() - threads + 2));
  }

  // Parked teams are not in the child: their destructors would wait for them.
  void renew() {
    static_cast<void>(parked_.release());
    static_cast<void>(leaving_.release());
    crowded_now_.store(false, std::memory_order_relaxed);
    has_team_.store(false, std::memory_order_relaxed);
    background_works().store(0);
    next_sample_.store(0, std::memory_order_relaxed);
    cores_crowded_ = CrowdedCores();
    mutex_.unlock();
  }

  int file_ = -1;
  int cores_ = 1;
  std::atomic<int64_t> next_sample_{0};
  std::atomic<int64_t> last_end_{0};
  std::atomic<int64_t> ran_{0};
  std::atomic<int64_t> lost_{0};
  std::atomic<bool> long_runs_{true};
  std::atomic<bool> crowded_now_{false};
  std::atomic<bool> has_team_{false};
  std::atomic<bool> lacks_park_{false};  // Cores are crowded, and there was no team.
  std::mutex mutex_;                     // Of what follows.
  CrowdedCores cores_crowded_;
  std::unique_ptr<ParkedTeam> parked_;
  std::unique_ptr<ParkedTeam> leaving_;
  const ForkHooks fork_hooks_{{.pause = {},
                               .lock = [this] { mutex_.lock(); },
                               .resume = [this] { mutex_.unlock(); },
                               .renew = [this] { renew(); }}};
};

}  // namespace

ParkedTeam::ParkedTeam(int threads)
    : thread_([this, threads] {
// A region in which nothing is done would be compiled to no region.
#pragma omp parallel num_threads(threads)
        come();
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return leave_; });
      }) {
}

// Under the lock, which tells the thread sanitizer what the barrier of the region does not: that
// the team's threads have come before this object goes.
void ParkedTeam::come() {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.fetch_add(1);
}

ParkedTeam::~ParkedTeam() {
  leave();
  thread_.join();
}

void ParkedTeam::leave() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    leave_ = true;
  }
  changed_.notify_one();
}

std::optional<int> runnable_threads(std::string_view load_average) {
  const size_t slash = load_average.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const size_t space = load_average.rfind(' ', slash);
  if (space == std::string_view::npos) return std::nullopt;
  int count = 0;
  const char* end = load_average.data() + slash;
  const auto [rest, error] = std::from_chars(load_average.data() + space + 1, end, count);
  if (error != std::errc() || rest != end || count < 0) return std::nullopt;
  return count;
}

bool is_so_at_each_look(const std::function<bool()>& look) {
  constexpr int kLooks = 4;
  for (int i = 0; i < kLooks; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (!look()) return false;
  }
  return true;
}

bool CrowdedCores::note(const CoreSample& sample) {
  if (std::exchange(first_, false)) {
    changed_ = sample.time;
    if (sample.others_wait) sleep(sample.time);
    return asleep_;
  }
  return asleep_ ? note_asleep(sample) : note_awake(sample);
}

void CrowdedCores::others_left(int64_t time) {
  if (asleep_) wake(time);
}

bool CrowdedCores::note_asleep(const CoreSample& sample) {
  quiet_samples_ = sample.others_wait ? 0 : quiet_samples_ + 1;
  if (quiet_samples_ == kQuietLooks || sample.time - changed_ >= hold_) wake(sample.time);
  return asleep_;
}

bool CrowdedCores::note_awake(const CoreSample& sample) {
  ran_ += sample.ran;
  lost_ += sample.lost;
  if (ran_ < kLeastWindow) return false;
  // The first window of a trial is still slow: the parked team is leaving.
  constexpr int kBadWindows = 3;
  bad_windows_ = sample.others_wait && lost_ > ran_ / 10 ? bad_windows_ + 1 : 0;
  ran_ = lost_ = 0;
  if (bad_windows_ == kBadWindows) {
    sleep(sample.time);
  } else if (sample.time - changed_ >= kSecond) {
    hold_ = 0;
  }
  return asleep_;
}

void CrowdedCores::sleep(int64_t time) {
  asleep_ = true;
  quiet_samples_ = 0;
  changed_ = time;
  hold_ = std::clamp(2 * hold_, kLeastHold, kMostHold);
}

void CrowdedCores::wake(int64_t time) {
  asleep_ = false;
  changed_ = time;
  ran_ = lost_ = 0;
  bad_windows_ = 0;
}

void detail::pause_briefly() {
#if defined(__x86_64__)
  for (int i = 0; i < 32; ++i) __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` is nothing to most cores; this waits for what is under way, as long as a pause of x86.
  for (int i = 0; i < 32; ++i) asm volatile("isb" : : : "memory");
#else
  std::this_thread::yield();
#endif
}

bool cores_are_crowded() { return WaitPolicy::of_process().is_crowded(); }

void look_before_team() {
  if (own_run().threads > 1) WaitPolicy::of_process().look_first(own_run().threads);
}

bool others_wait_beside(int threads) {
  struct Look {
    int64_t time = -kMillisecond;
    bool others_wait = false;
  };
  thread_local Look look;
  const int64_t now = now_ns();
  if (now - look.time >= kMillisecond)
    look = {now, WaitPolicy::of_process().others_wait_now(threads)};
  return look.others_wait;
}

bool is_in_run() { return own_run().threads > 0; }

void limit_run(int threads) {
  detail::OwnRun& run = own_run();
  if (run.threads == 0 || !cores_are_crowded() || std::exchange(run.has_looked, true)) return;
  if (background_works().load(std::memory_order_relaxed) > 0) return;
  const int cores = WaitPolicy::of_process().cores_left(threads);
  if (cores < threads) run.cores = cores;
}

BackgroundScope::BackgroundScope() { background_works().fetch_add(1); }
BackgroundScope::~BackgroundScope() { background_works().fetch_sub(1); }

int run_limit() {
  detail::OwnRun& run = own_run();
  if (run.cores != 1) return run.cores;
  const int64_t now = now_ns();
  if (now - run.looked < kMillisecond) return run.cores;
  run.looked = now;
  run.quiet_looks = WaitPolicy::of_process().others_wait_now(run.threads) ? 0 : run.quiet_looks + 1;
  if (run.quiet_looks < kQuietLooks) return run.cores;
  run.cores = detail::OwnRun::kAllCores;
  WaitPolicy::of_process().others_left();
  return run.cores;
}

std::chrono::nanoseconds time_slice() {
  static const auto slice = [] {
    using std::chrono::nanoseconds;
    timespec tick{};  // Running threads are parted when the clock ticks.
    const bool is_known = clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_sec == 0;
    return std::clamp(nanoseconds(is_known ? tick.tv_nsec : 0), nanoseconds(kMillisecond),
                      nanoseconds(kSampleInterval));
  }();
  return slice;
}

OutsideRunScope::OutsideRunScope() : outer_(std::exchange(own_run(), detail::OwnRun())) {}
OutsideRunScope::~OutsideRunScope() { own_run() = outer_; }

void note_team(int threads) { WaitPolicy::of_process().team_is_entered(threads); }

void note_awake_workers() { WaitPolicy::of_process().workers_woke(now_ns()); }

WaitPolicyScope::WaitPolicyScope(int threads)
    : threads_(threads), outer_(std::exchange(own_run(), {.threads = threads})) {
  if (threads_ == 1) return;
  const int64_t now = now_ns();
  if (!WaitPolicy::of_process().run_begins(threads_, now)) return;
  began_ = now;
  cpu_began_ = thread_cpu_ns();
}

WaitPolicyScope::~WaitPolicyScope() {
  own_run() = outer_;
  if (threads_ == 1) return;
  const int64_t now = now_ns();
  const int64_t ran = began_ > 0 ? now - began_ : 0;
  const int64_t lost = ran > 0 ? std::max<int64_t>(0, ran - (thread_cpu_ns() - cpu_began_)) : 0;
  WaitPolicy::of_process().run_ends(threads_, now, ran, lost);
}

}  // namespace tierup
