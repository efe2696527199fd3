// wait_policy: how long OpenMP's threads wait awake for one another.
//
// libgomp spins for about 10 ms at a barrier before it sleeps. While every core is free that is
// what makes short parallel loops cheap. But once others want the cores as much as we do, the
// thread that is waited for may be the one that cannot run *because* its core is spun on: each
// barrier then costs a time slice, and a call becomes ten to a hundred times slower. libgomp spins
// a few microseconds only when it counts more threads than cores; there is no call to say so, but
// it counts those of a team that does nothing as well.
//
// So an idle team is kept ("parked") beside the process's own while cores are crowded. And a run
// that then needs a team is limited to as many threads as others leave cores for: a thread without
// a core is waited for until another one's time slice ends. That is found out from two numbers:
// runnable threads on the machine (/proc/loadavg), and the share of a run's time in which the
// calling thread did not have its core. The first alone does not do: others of low priority take
// little, and spinning keeps the cores from them. Where the first cannot be read, or the
// environment says how OpenMP is to wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT), nothing is done.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

namespace tierup {

// An OpenMP team that sleeps. Neither making one nor leave() waits for its threads; the end does.
class ParkedTeam {
 public:
  explicit ParkedTeam(int threads);
  ~ParkedTeam();
  // Ends its threads, soon.
  void leave();
  // Threads that have come so far.
  int members() const { return members_.load(); }
  ParkedTeam(const ParkedTeam&) = delete;
  ParkedTeam& operator=(const ParkedTeam&) = delete;

 private:
  void come();  // Of each of its threads.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool leave_ = false;
  std::atomic<int> members_{0};
  std::thread thread_;
};

// The number of runnable threads in the text of /proc/loadavg ("0.20 0.18 0.12 3/80 1206": 3), the
// reading one included.
std::optional<int> runnable_threads(std::string_view load_average);

// Whether every one of a few looks says so, a fifth of a millisecond apart: at a single one, a
// thread may be seen that is about to end.
bool is_so_at_each_look(const std::function<bool()>& look);

// What is seen of the machine at the begin or end of a run. Times in nanoseconds.
struct CoreSample {
  int64_t time = 0;
  bool others_wait = false;  // More threads want to run than the cores that the run leaves.
  int64_t ran = 0;           // For how long runs were watched since the last sample,
  int64_t lost = 0;          // and for how long of it their thread did not have its core.
};

// Decides from samples whether threads are to sleep rather than spin.
//
// Begins asleep if others wait at the first sample, as a first call suffers most. Wakes when three
// samples in a row saw no others, and for a trial when a while has passed. Sleeps again when others
// wait and a tenth was lost of each of three windows, 20 ms of runs each; each time for twice as
// long, 0.1 to 3.2 s, until a second of waking went well.
class CrowdedCores {
 public:
  bool note(const CoreSample& sample);
  // Wakes: looks in a row, a millisecond apart, saw no others.
  void others_left(int64_t time);

 private:
  bool note_asleep(const CoreSample& sample);
  bool note_awake(const CoreSample& sample);
  void sleep(int64_t time);
  void wake(int64_t time);

  bool first_ = true;
  bool asleep_ = false;
  int quiet_samples_ = 0;
  int bad_windows_ = 0;
  int64_t changed_ = 0;
  int64_t hold_ = 0;
  int64_t ran_ = 0;
  int64_t lost_ = 0;
};

namespace detail {
// The run that a thread is in.
struct OwnRun {
  static constexpr int kAllCores = std::numeric_limits<int>::max();
  int threads = 0;        // 0: none.
  int cores = kAllCores;  // That it is limited to.
  bool has_looked = false;
  int64_t looked = 0;  // When, at whether the limit still stands.
  int quiet_looks = 0;
};
}  // namespace detail

// Stands around a run that may use `threads` threads of OpenMP. From the first team on, looks at
// the machine at most every 10 ms over all runs of the process (3 us each time, two readings of the
// clock otherwise). Never waits for another thread. Ends in the thread in which it began.
class WaitPolicyScope {
 public:
  explicit WaitPolicyScope(int threads);
  ~WaitPolicyScope();
  WaitPolicyScope(const WaitPolicyScope&) = delete;
  WaitPolicyScope& operator=(const WaitPolicyScope&) = delete;

 private:
  const int threads_;
  const detail::OwnRun outer_;
  int64_t began_ = 0;  // 0: this run is not watched.
  int64_t cpu_began_ = 0;
};

namespace detail {
// About a microsecond, in which the core's other thread may work.
void pause_briefly();
}  // namespace detail

// Whether threads sleep now instead of spinning, by what runs saw. Any thread.
bool cores_are_crowded();
// Where a run is about to wait for other threads: the process's first such place looks at the
// machine, and takes most of a millisecond where others want to run. Nothing outside of runs.
void look_before_team();
// Whether more threads want to run than the cores that so many threads leave, of which the calling
// one alone is awake. Each thread looks at most once in a millisecond.
bool others_wait_beside(int threads);
bool is_in_run();
// Where cores are crowded as a run first needs a team of so many threads, the run is limited to as
// many as others leave cores for. Nothing outside of runs, if nobody waits, or beside background
// work of this process, which is counted with the others and gives way to runs.
void limit_run(int threads);
// Stands around background work.
class BackgroundScope {
 public:
  BackgroundScope();
  ~BackgroundScope();
  BackgroundScope(const BackgroundScope&) = delete;
  BackgroundScope& operator=(const BackgroundScope&) = delete;
};
// Threads that the calling thread's run may use: without a limit more than any machine has cores.
// One that is limited to one thread looks each millisecond whether others still wait, and is
// without a limit after three looks that saw none.
int run_limit();
// For how long a loop goes on alone where the run is limited to one thread, before a team may be
// worth it: about a time slice of the system, after which a thread that waits gets a core.
std::chrono::nanoseconds time_slice();

// Work inside of a run that is to be done as outside of it: what is made for later runs is made for
// all their threads.
class OutsideRunScope {
 public:
  OutsideRunScope();
  ~OutsideRunScope();
  OutsideRunScope(const OutsideRunScope&) = delete;
  OutsideRunScope& operator=(const OutsideRunScope&) = delete;

 private:
  const detail::OwnRun outer_;
};

// To be called before a team of so many threads is entered that was not there, tierup's or
// oneDNN's: it is to sleep at barriers where cores are crowded.
void note_team(int threads);
// Workers of OpenMP were woken outside of a run, and spin for a while.
void note_awake_workers();

// Waits awake until `done()`, for at most a millisecond, and not at all where cores are crowded.
// For what another thread is about to do: waking a sleeping thread takes up to 0.1 ms on virtual
// machines. Whether it is done.
template <typename Done>
bool wait_awake(Done done) {
  using Clock = std::chrono::steady_clock;
  if (cores_are_crowded()) return done();
  const Clock::time_point last = Clock::now() + std::chrono::milliseconds(1);
  while (!done()) {
    detail::pause_briefly();
    if (Clock::now() > last) return done();
  }
  return true;
}

}  // namespace tierup
