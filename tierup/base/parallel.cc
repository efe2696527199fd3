#include "tierup/base/parallel.h"

#include <omp.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tierup/base/float_watch.h"
#include "tierup/base/interrupt.h"
#include "tierup/base/loops_alone.h"
#include "tierup/base/machine.h"
#include "tierup/base/sanitizers.h"
#include "tierup/base/wait_policy.h"
#include "tierup/base/workers.h"

#ifdef TIERUP_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace tierup {
namespace {

// The OpenMP runtime is not instrumented: the thread sanitizer is told here that what was done
// before release() happened before what is done after acquire().
#ifdef TIERUP_THREAD_SANITIZER
void release(char& edge) { __tsan_release(&edge); }
void acquire(char& edge) { __tsan_acquire(&edge); }
#else
void release(char&) {}
void acquire(char&) {}
#endif

thread_local bool loops_are_alone = false;

int count_usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // A mask of more cores than it has room for is not told.
  const bool known = sched_getaffinity(0, sizeof(mask), &mask) == 0;
  const int allowed =
      known ? CPU_COUNT(&mask) : static_cast<int>(std::thread::hardware_concurrency());
  return cores_worth_using(allowed, cpu_quota(""));
}

}  // namespace

int usable_cores() {
  static const int cores = count_usable_cores();
  return cores;
}

int allowed_threads() { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }

LoopsAloneScope::LoopsAloneScope() : outer_(std::exchange(loops_are_alone, true)) {}
LoopsAloneScope::~LoopsAloneScope() { loops_are_alone = outer_; }

int intra_op_threads() {
  if (loops_are_alone) return 1;
  const int allowed = allowed_threads();
  const int limit = allowed == 1 ? 1 : run_limit();
  return limit == 1 ? allowed : std::min(allowed, limit);
}

ThreadCountScope::ThreadCountScope(int threads) : previous_(omp_get_max_threads()) {
  const int wanted = threads > 0 ? threads : usable_cores();
  if (wanted != previous_) omp_set_num_threads(wanted);
  if (wanted > 1) note_own_team();
}

ThreadCountScope::~ThreadCountScope() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

namespace detail {
namespace {

using Clock = std::chrono::steady_clock;

// About how long a thread works between two questions whether to stop.
constexpr std::chrono::milliseconds kUnasked{20};

// A thread's part of the work: at once if nothing can stop it, otherwise in pieces that grow or
// shrink with the time they take, since nobody knows how long a grain is.
void run_pieces(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context,
                const Interrupt* interrupt) {
  int64_t piece = interrupt == nullptr ? end - begin : grain;
  for (int64_t at = begin; at < end;) {
    const int64_t stop = end - at <= piece ? end : at + piece;
    if (stop == end && at == begin) return body(context, begin, end);
    interrupt->poll();
    const Clock::time_point start = Clock::now();
    body(context, at, stop);
    const Clock::duration took = Clock::now() - start;
    if (took < kUnasked / 4 && piece <= (end - at) / 4) piece *= 4;
    if (took > kUnasked) piece = std::max(grain, piece / 4);
    at = stop;
  }
}

// For how long a thread without workers, outside of runs, goes on alone in each loop, in
// nanoseconds of its own on a core, where others want its team's cores: what is waited for gets a
// core when another one's time slice ends, milliseconds later.
constexpr int64_t kAloneInCrowd = 1'000'000;

int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

struct AlonePart {
  int64_t end;    // Where the rest begins.
  int64_t spent;  // Nanoseconds.
};

// Works for about so long by this clock, in pieces that grow.
AlonePart run_alone(clockid_t clock, int64_t nanoseconds, int64_t begin, int64_t end, int64_t grain,
                    RangeBody body, void* context) {
  const Interrupt* interrupt = current_interrupt();
  int64_t spent = 0;
  for (int64_t piece = grain; begin < end && spent < nanoseconds; piece *= 2) {
    if (interrupt != nullptr) interrupt->poll();
    const int64_t stop = end - begin <= piece ? end : begin + piece;
    const int64_t start = nanoseconds_of(clock);
    body(context, begin, stop);
    spent += nanoseconds_of(clock) - start;
    begin = stop;
  }
  return {begin, spent};
}

// As much as is done alone before the team comes; returns where the rest begins.
int64_t run_first_alone(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context) {
  if (loops_are_alone || allowed_threads() == 1) return begin;
  if (TimeAlone::left() > 0) {
    const AlonePart part =
        run_alone(CLOCK_MONOTONIC, TimeAlone::left(), begin, end, grain, body, context);
    TimeAlone::spend(part.spent);
    begin = part.end;
  }
  if (begin == end) return begin;
  switch (prepare_team()) {
    case TeamState::kReady: return begin;
    case TeamState::kLimited: {
      const int64_t slice = time_slice().count();
      begin = run_alone(CLOCK_MONOTONIC, slice, begin, end, grain, body, context).end;
      if (begin < end) start_workers();
      return begin;
    }
    case TeamState::kNone: {
      const clockid_t own = CLOCK_THREAD_CPUTIME_ID;
      return run_alone(own, kAloneInCrowd, begin, end, grain, body, context).end;
    }
  }
  return begin;
}

}  // namespace

void run_on_team(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context) {
  const int64_t total = end - begin;
  const int threads =
      static_cast<int>(std::min<int64_t>(intra_op_threads(), (total - 1) / grain + 1));
  const Interrupt* interrupt = current_interrupt();
  if (threads == 1) return run_pieces(begin, end, grain, body, context, interrupt);
  std::exception_ptr failure;
  std::mutex failure_mutex;
  char begins = 0;
  char ends = 0;
  release(begins);
  uint32_t flags_before = 0;
  uint32_t flags_raised = 0;
  TeamCores cores(cores_are_crowded());
#pragma omp parallel num_threads(threads) reduction(| : flags_before, flags_raised)
  {
    acquire(begins);
    cores.note_own();
    const bool is_worker = omp_get_thread_num() > 0;
    if (is_worker) flags_before = FloatWatch::take_flags();
    const int64_t count = omp_get_num_threads();
    const int64_t chunk = (total - 1) / count + 1;
    const int64_t first = begin + std::min(total, omp_get_thread_num() * chunk);
    const int64_t last = end - first <= chunk ? end : first + chunk;
    try {
      const InterruptScope scope(interrupt);
      if (first < last) run_pieces(first, last, grain, body, context, interrupt);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
    if (is_worker) flags_raised = FloatWatch::take_flags();
    release(ends);
  }
  acquire(ends);
  FloatWatch::add_workers_flags(flags_before, flags_raised);
  cores.move_apart(threads);
  if (failure) std::rethrow_exception(failure);
}

void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context) {
  begin = run_first_alone(begin, end, grain, body, context);
  if (begin < end) run_on_team(begin, end, grain, body, context);
}

}  // namespace detail

SliceAlone::SliceAlone() : is_alone_(prepare_team() == TeamState::kLimited) {
  if (is_alone_) end_ = detail::Clock::now() + time_slice();
}

bool SliceAlone::goes_on() const { return is_alone_ && detail::Clock::now() < end_; }

}  // namespace tierup
