// parallel_for: intra-op parallelism over the one OpenMP runtime, shared with oneDNN.
//
// The number of threads is a property of the calling thread (OpenMP keeps it so); a run
// sets it with ThreadCountScope. Work below the grain stays in the calling thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

namespace tierup {

// Threads that parallel_for uses now when called from this thread; at least 1. Fewer than allowed
// in a run that others leave fewer cores to (wait_policy.h), unless they leave one: its loops are
// cut for all threads, and begun alone.
int intra_op_threads();
// The same without others: what is made for later calls is made for so many.
int allowed_threads();
// Cores the process may really use: affinity mask and cgroup quota.
int usable_cores();

// Sets the calling thread's intra-op thread count for its lifetime. `threads` <= 0: usable_cores().
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int threads);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int previous_;
};

// Numbers of cheap work (a few operations on each, in a cache) that are worth a second thread. A
// team begins and ends in 1 to 2 us, in which a core works through about half of them.
inline constexpr int64_t kNumbersForThread = 16384;
// The same in bytes that are moved: copies that one thread made of what two threads work on before
// and after take several times as long where the two cores share no cache.
inline constexpr int64_t kBytesForThread = 4 * kNumbersForThread;

// The grain of parallel_for where an iteration works on `numbers` numbers; at least 1.
constexpr int64_t grain_of(int64_t numbers) {
  return std::max<int64_t>(1, kNumbersForThread / std::max<int64_t>(1, numbers));
}

namespace detail {
using RangeBody = void (*)(void* context, int64_t begin, int64_t end);
template <typename Body>
constexpr RangeBody kRangeBody = [](void* context, int64_t begin, int64_t end) {
  (*static_cast<std::remove_reference_t<Body>*>(context))(begin, end);
};
void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context);
void run_on_team(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context);
}  // namespace detail

// The time slice for which a loop of pieces goes on alone in a run to which others leave one core.
class SliceAlone {
 public:
  SliceAlone();
  bool is_alone() const { return is_alone_; }
  // Whether there is time left.
  bool goes_on() const;

 private:
  const bool is_alone_;
  std::chrono::steady_clock::time_point end_;
};

// Calls body(begin_i, end_i) over disjoint ranges that cover [begin, end), each of at least
// `grain` iterations but the last. Ranges are cut statically, so a given thread count always
// gives the same ranges; bodies must not depend on the cut (reductions have one fixed order).
// An exception of a body is rethrown in the caller after all ranges ended.
template <typename Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, Body&& body) {
  if (begin >= end) return;
  if (end - begin <= grain) {
    body(begin, end);
    return;
  }
  detail::run_parallel(begin, end, std::max<int64_t>(grain, 1), detail::kRangeBody<Body>,
                       const_cast<void*>(static_cast<const void*>(&body)));
}

// The same over [0, end) with a grain of 1, at once by the team, however crowded it is.
template <typename Body>
void run_on_team(int64_t end, Body& body) {
  detail::run_on_team(0, end, 1, detail::kRangeBody<Body>, &body);
}

}  // namespace tierup
