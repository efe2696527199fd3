#include "tierup/base/float_watch.h"

#include <utility>

#include "tierup/base/float_flags.h"

namespace tierup {
namespace {

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

uint32_t FloatWatch::take_flags() { return clear_float_flags(); }

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
  raise_float_flags(saved_);
  workers_flags |= saved_workers_;
  regions_at_begin = saved_regions_;
}

bool FloatWatch::met_nan() {
  uint32_t flags = float_flags() | workers_flags;
  entered_regions_ = regions_entered != regions_at_begin;
  if (entered_regions_ && scope_ != Scope::kThread) {
    const uint32_t own = take_flags();
    flags |= own | read_workers_flags(threads_);
    raise_float_flags(own);
  }
  return (flags & kInvalidFlag) != 0;
}

}  // namespace tierup
