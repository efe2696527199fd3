#include "tierup/base/float_watch.h"

#include <xmmintrin.h>

namespace tierup {
namespace {

thread_local uint64_t regions_entered = 0;

constexpr uint32_t kInvalid = _MM_EXCEPT_INVALID;
constexpr uint32_t kAll = _MM_EXCEPT_MASK;

// The flags raised on this thread, which are then cleared.
uint32_t take_flags() {
  const uint32_t state = _mm_getcsr();
  if ((state & kAll) != 0) _mm_setcsr(state & ~kAll);
  return state & kAll;
}

// Of the workers, not of this thread.
uint32_t take_workers_flags(int threads) {
  uint32_t flags = 0;
#pragma omp parallel num_threads(threads) reduction(| : flags)
  {
    const uint32_t own = take_flags();
    flags |= own;
  }
  return flags;
}

}  // namespace

FloatWatch::FloatWatch(Scope scope, int threads)
    : scope_(scope), threads_(threads), saved_(take_flags()), regions_before_(regions_entered) {
  if (scope_ == Scope::kWorkers) take_workers_flags(threads_);
}

FloatWatch::~FloatWatch() { _mm_setcsr(_mm_getcsr() | saved_); }

void FloatWatch::note_region() { ++regions_entered; }

bool FloatWatch::met_nan() {
  uint32_t flags = _mm_getcsr();
  entered_regions_ = regions_entered != regions_before_;
  if (entered_regions_ && scope_ != Scope::kThread) {
    const uint32_t own = take_flags();
    flags = own | take_workers_flags(threads_);
    _mm_setcsr(_mm_getcsr() | own);
  }
  return (flags & kInvalid) != 0;
}

}  // namespace tierup
