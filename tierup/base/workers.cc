#include "tierup/base/workers.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <semaphore>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/base/wait_policy.h"

namespace tierup {
namespace {

using Cores = std::vector<std::atomic<int>>;  // Of a team's threads.

// Stands beside a thread that starts its team: where the team is not there after a while, moves
// that thread, which waits awake, away from its core, so that one that was made there can begin.
//
// Making it also wakes a core that sleeps: its maker waits asleep until it has begun. The threads
// that are made after it get a core of their own more often.
class Usher {
 public:
  Usher() : maker_(gettid()) {
    CPU_ZERO(&allowed_);
    if (sched_getaffinity(0, sizeof(allowed_), &allowed_) != 0) return;
    try {
      thread_ = std::thread([this] { stand_by(); });
      begun_.acquire();
    } catch (const std::system_error&) {  // The team does with what the system gives it.
    }
    others_ = allowed_;
    CPU_CLR(static_cast<size_t>(sched_getcpu()), &others_);
    ready_.store(true, std::memory_order_release);
  }
  ~Usher() {
    done_.release();
    if (thread_.joinable()) thread_.join();
    allow_all();
  }
  Usher(const Usher&) = delete;
  Usher& operator=(const Usher&) = delete;

  // For a thread of the team: may run again where its maker might, which it was made after the move
  // without.
  void allow_all() const {
    if (!moves_.load(std::memory_order_acquire)) return;
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof(own), &own) == 0 && CPU_EQUAL(&own, &others_))
      sched_setaffinity(0, sizeof(allowed_), &allowed_);
  }

 private:
  static constexpr std::chrono::microseconds kPatience{100};  // A team is there after some 60.

  void stand_by() {
    begun_.release();
    if (done_.try_acquire_for(kPatience)) return;
    if (!ready_.load(std::memory_order_acquire) || CPU_COUNT(&others_) == 0) return;
    moves_.store(true, std::memory_order_release);
    sched_setaffinity(maker_, sizeof(others_), &others_);
  }

  const pid_t maker_;
  cpu_set_t allowed_;
  cpu_set_t others_{};  // Without the maker's core.
  std::atomic<bool> ready_{false};
  std::atomic<bool> moves_{false};
  std::binary_semaphore begun_{0};
  std::binary_semaphore done_{0};
  std::thread thread_;  // Last: uses the others.
};

// Goes to a core on which none of the team runs, if an earlier thread runs on this one's. May come
// back when it has gone.
void leave_shared_core(const Cores& cores, int number) {
  bool is_shared = false;
  for (int i = 0; i < number; ++i) is_shared |= cores[i] == cores[number];
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (!is_shared || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  for (const std::atomic<int>& core : cores) {
    if (core >= 0) CPU_CLR(static_cast<size_t>(core.load()), &others);
  }
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

// A region in which each thread first does so, and those that share a core move apart.
template <typename First>
void spread_team(int threads, const First& first) {
  Cores cores(static_cast<size_t>(threads));
  for (std::atomic<int>& core : cores) core = -1;
#pragma omp parallel num_threads(threads)
  {
    first();
    cores[static_cast<size_t>(omp_get_thread_num())] = sched_getcpu();
#pragma omp barrier
    leave_shared_core(cores, omp_get_thread_num());
  }
}

void start_team(int threads) {
  const Usher usher;
  spread_team(threads, [&] { usher.allow_all(); });
}

// Threads that have a team, as far as is known here.
std::atomic<int>& team_count() {
  static std::atomic<int> count{0};
  return count;
}

constexpr int64_t kTimeAlone = 250'000;  // Nanoseconds.
constexpr std::chrono::milliseconds kBetweenLooks{10};

// What the calling thread has of its team.
struct OwnTeam {
  int started = 1;  // Threads.
  int64_t alone = kTimeAlone;
  std::chrono::steady_clock::time_point looked{};  // At its threads' cores.
  bool entered = false;  // A region, which may have started threads as well.

  bool look_is_due() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked < kBetweenLooks) return false;
    looked = now;
    return true;
  }

  ~OwnTeam() { end(); }
  // Returns whether there was one.
  bool end() {
    if (entered) team_count().fetch_sub(1, std::memory_order_relaxed);
    return forget();
  }
  // The same, unless it is the last team: of threads that end theirs at once, one keeps it.
  bool end_unless_last() {
    int count = team_count().load(std::memory_order_relaxed);
    while (entered && count > 1) {
      if (team_count().compare_exchange_weak(count, count - 1, std::memory_order_relaxed))
        return forget();
    }
    return false;
  }

 private:
  bool forget() {
    started = 1;
    alone = kTimeAlone;
    return std::exchange(entered, false);
  }
};
OwnTeam& own_team() {
  thread_local OwnTeam team;
  return team;
}

// libgomp ends the team of the calling thread alone.
void end_threads_of_team(bool had_one) {
  if (had_one) omp_pause_resource_all(omp_pause_soft);
}
void end_own_team() { end_threads_of_team(own_team().end()); }

// Other threads' teams are not in the child.
void forget_other_teams() { team_count().store(0, std::memory_order_relaxed); }

}  // namespace

void note_own_team() {
  if (own_team().entered) return;
  own_team().entered = true;
  team_count().fetch_add(1, std::memory_order_relaxed);
  static const int registered = pthread_atfork(end_own_team, nullptr, forget_other_teams);
  static_cast<void>(registered);
}

BriefTeamScope::BriefTeamScope() : has_team_(own_team().entered) {}

BriefTeamScope::~BriefTeamScope() {
  if (!has_team_) end_own_team();
}

void end_team_beside_others() { end_threads_of_team(own_team().end_unless_last()); }

void start_workers() {
  const int threads = intra_op_threads();
  if (threads <= own_team().started) return;
  note_own_team();
  own_team().started = threads;
  own_team().alone = 0;
  note_team(threads);
  start_team(threads);
  note_awake_workers();
}

int64_t TimeAlone::left() { return own_team().alone; }
void TimeAlone::spend(int64_t spent) { own_team().alone -= spent; }

TeamCores::TeamCores(bool threads_sleep) : is_due_(threads_sleep && own_team().look_is_due()) {}

void TeamCores::note_own() {
  if (!is_due_) return;
  const uint64_t bit = uint64_t{1} << (static_cast<unsigned>(sched_getcpu()) % 64);
  seen_.fetch_or(bit, std::memory_order_relaxed);
}

bool TeamCores::move_apart(int threads) const {
  if (!is_due_) return false;
  const int seen = std::popcount(seen_.load(std::memory_order_relaxed));
  if (seen >= std::min({threads, omp_get_num_procs(), 64})) return false;
  spread_team(threads, [] {});
  return true;
}

TeamState prepare_team() {
  const int threads = allowed_threads();
  if (threads == 1) return TeamState::kNone;
  note_own_team();
  look_before_team();
  const bool is_started = own_team().started >= threads;
  limit_run(threads);
  if (run_limit() == 1) return TeamState::kLimited;
  if (is_started) return TeamState::kReady;
  if (!is_in_run() && cores_are_crowded() && others_wait_beside(threads)) return TeamState::kNone;
  start_workers();
  return TeamState::kReady;
}

}  // namespace tierup
