#include "tierup/base/float_watch.h"

#include <xmmintrin.h>

#include <utility>

namespace tierup {
namespace {

constexpr uint32_t kInvalid = _MM_EXCEPT_INVALID;
constexpr uint32_t kAll = _MM_EXCEPT_MASK;

thread_local uint64_t regions_entered = 0;   // A library's,
thread_local uint64_t regions_at_begin = 0;  // when the innermost watch began.
thread_local uint32_t workers_flags = 0;     // Handed over since.

// Of the workers, not of this thread.
uint32_t read_workers_flags(int threads) {
  uint32_t flags = 0;
#pragma omp parallel num_threads(threads) reduction(| : flags)
  {
    const uint32_t own = FloatWatch::take_flags();
    flags |= own;
  }
  return flags;
}

}  // namespace

uint32_t FloatWatch::take_flags() {
  const uint32_t state = _mm_getcsr();
  if ((state & kAll) != 0) _mm_setcsr(state & ~kAll);
  return state & kAll;
}

void FloatWatch::add_workers_flags(uint32_t before, uint32_t raised) {
  workers_flags |= raised;
  if (regions_entered != regions_at_begin) workers_flags |= before;
}
void FloatWatch::note_region() { ++regions_entered; }

FloatWatch::FloatWatch(Scope scope, int threads)
    : scope_(scope),
      threads_(threads),
      saved_(take_flags()),
      saved_workers_(std::exchange(workers_flags, 0)),
      saved_regions_(std::exchange(regions_at_begin, regions_entered)) {
  if (scope_ == Scope::kWorkers) read_workers_flags(threads_);
}

FloatWatch::~FloatWatch() {
  _mm_setcsr(_mm_getcsr() | saved_);
  workers_flags |= saved_workers_;
  regions_at_begin = saved_regions_;
}

bool FloatWatch::met_nan() {
  uint32_t flags = _mm_getcsr() | workers_flags;
  entered_regions_ = regions_entered != regions_at_begin;
  if (entered_regions_ && scope_ != Scope::kThread) {
    const uint32_t own = take_flags();
    flags |= own | read_workers_flags(threads_);
    _mm_setcsr(_mm_getcsr() | own);
  }
  return (flags & kInvalid) != 0;
}

}  // namespace tierup
