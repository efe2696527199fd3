// workers: the threads of a thread's parallel loops, started before they are needed.
//
// OpenMP starts the threads of a team in the team's first region, and waits for them awake. The
// system often puts a new thread on the core of the one that made it, above all where the other
// cores sleep: it then begins when its maker's time slice ends, 3 to 5 ms later, and the two may go
// on sharing that core for tens of milliseconds while a core beside it stands idle. So a team is
// started by a region of its own: a helper moves the maker away where the team does not come at
// once, and in the region threads that share a core move apart. The first parallel
// loops of a thread do so, once they have taken about as long as that (TimeAlone). `load` does not:
// OpenMP counts the threads of all teams, and lets all sleep at each barrier where they are more
// than the cores; a model that one thread loads and another runs would take several times as long
// for the idle team of the first.
#pragma once

#include <atomic>
#include <cstdint>

namespace tierup {

// Starts as many threads as the calling thread's loops may use and waits for them; nothing if they
// were started before. Takes some 0.2 ms.
//
// A thread that forks, and had a team for tierup's loops, ends it before: OpenMP's threads do not
// live on in the child, and a loop there would wait for them for ever. The next loop of either
// process starts it anew. Teams of other threads, and of threads that ran no loop of tierup's, are
// left alone.
void start_workers();

// To be called by a thread that may enter regions of OpenMP, tierup's own or oneDNN's: see above.
void note_own_team();

// Ends the team of the calling thread with the scope, unless the thread had one before. For work
// between calls, by a thread that may idle afterwards: as long as it lives, its team would let the
// callers' teams sleep at each barrier.
class BriefTeamScope {
 public:
  BriefTeamScope();
  ~BriefTeamScope();
  BriefTeamScope(const BriefTeamScope&) = delete;
  BriefTeamScope& operator=(const BriefTeamScope&) = delete;

 private:
  const bool has_team_;
};

// For a thread that has idled for a while: ends its team, unless it is the only one, which harms
// nobody and serves the next call at once.
void end_team_beside_others();

// How long a thread without a team still goes on alone before it starts one, in nanoseconds: about
// what starting takes, so that no more than that is lost whatever work is to come
// (the ski rental problem). The first calls of small models are answered before. A thread that has
// a team has no time left.
class TimeAlone {
 public:
  static int64_t left();
  static void spend(int64_t spent);
};

// The cores on which a region's threads are, looked at every 10 ms where threads sleep at barriers,
// by the thread whose team it is. Where two share one they are moved apart: the system does not see
// it, since only one is runnable at a time, woken on the core of the one that wakes it. It does
// where threads wait awake, and may know better then.
class TeamCores {
 public:
  // `threads_sleep`: whether they do so at barriers now (wait_policy.h).
  explicit TeamCores(bool threads_sleep);
  // By each thread of the region.
  void note_own();
  // After the region, by the thread that made this. Whether threads were to move.
  bool move_apart(int threads) const;

 private:
  const bool is_due_;
  std::atomic<uint64_t> seen_{0};  // A bit for each core; those 64 apart have the same.
};

enum class TeamState {
  kReady,
  kNone,     // The thread may have none, or others want the cores and it has no workers yet.
  kLimited,  // It is in a run to which others leave one core (wait_policy.h).
};

// Where a team is about to be entered, if this thread may have one: looks at the machine if nobody
// has, and starts the workers unless they would only crowd it. Where that is so the thread does
// short loops alone: two threads that share a core hand it over at each barrier, and wait for
// whoever has the other one.
TeamState prepare_team();

}  // namespace tierup
