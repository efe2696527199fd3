// Pages of memory, of both kinds that the heaps know.
#pragma once

#include <cstddef>

namespace tierup {

inline constexpr size_t kSmallPageBytes = 4096;
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Has the system make the page: writes what is there. Whoever was given the byte meanwhile loses
// nothing, since it is one locked instruction.
inline void touch_page(char* byte) { __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED); }

}  // namespace tierup
