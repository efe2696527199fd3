// Sorting that can be stopped: a sort of a hundred million numbers takes many seconds.
//
// The standard's algorithms, with comparisons that ask the thread's interrupt now and then where
// there are many elements. Results are the same either way.
#pragma once

#include <algorithm>

#include "tierup/base/interrupt.h"

namespace tierup::kernels {

// Calls sort(less), where less may ask.
template <typename Less, typename Sort>
void sort_asking(int64_t count, const Less& less, const Sort& sort) {
  constexpr int64_t kMany = int64_t{1} << 18;
  constexpr uint64_t kUnasked = uint64_t{1} << 20;  // Comparisons between two questions.
  if (count < kMany || current_interrupt() == nullptr) return sort(less);
  uint64_t compared = 0;
  sort([&](const auto& a, const auto& b) {
    if (++compared % kUnasked == 0) poll_interrupt();
    return less(a, b);
  });
}

}  // namespace tierup::kernels
