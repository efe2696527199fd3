// FloatWatch: whether floating-point work on this thread, and on the workers of its parallel loops,
// met a NaN or made one.
//
// Vector code drops NaNs on the way: the larger of NaN and 0 is 0 on x86. But the processor notes
// in a flag that stays: every such comparison, and every operation that makes a NaN out of numbers
// (inf - inf). Reading the flag takes a few nanoseconds. parallel_for's workers hand theirs over at
// the end of the loop; those of a library's parallel regions are read in a region of their own.
#pragma once

#include <cstdint>

namespace tierup {

class FloatWatch {
 public:
  enum class Scope : uint8_t {
    kThread,        // This thread alone does the work.
    kWorkersAfter,  // After regions of a library the workers' flags are read, and cleared for next
                    // time: may be old.
    kWorkers,       // They are cleared before, too.
  };

  FloatWatch(Scope scope, int threads);
  // The thread's own flags are as before, with what was raised since.
  ~FloatWatch();
  FloatWatch(const FloatWatch&) = delete;
  FloatWatch& operator=(const FloatWatch&) = delete;

  // To be called once. Whether a NaN was met or made since.
  bool met_nan();
  // After met_nan(): whether this thread entered a library's parallel region since.
  bool entered_regions() const { return entered_regions_; }

  // This thread is about to enter a library's parallel region.
  static void note_region();
  // The flags raised on this thread, which are then cleared.
  static uint32_t take_flags();
  // Of the workers of a parallel region of this thread's that has ended: what they raised in it,
  // and what stood before, which counts if a library's region may have raised it.
  static void add_workers_flags(uint32_t before, uint32_t raised);

 private:
  const Scope scope_;
  const int threads_;
  const uint32_t saved_;
  const uint32_t saved_workers_;
  const uint64_t saved_regions_;
  bool entered_regions_ = false;
};

}  // namespace tierup
