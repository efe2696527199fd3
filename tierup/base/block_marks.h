// Tells the address sanitizer which bytes of memory that tierup hands out again and again are in
// use now, so that it sees a use after a release and a use beyond the end. Nothing in other builds.
#pragma once

#include <cstddef>

#include "tierup/base/sanitizers.h"

#ifdef TIERUP_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace tierup {

#ifdef TIERUP_ADDRESS_SANITIZER
inline constexpr bool kBlocksAreMarked = true;
inline void mark_usable(void* block, size_t bytes) { __asan_unpoison_memory_region(block, bytes); }
inline void mark_unusable(void* block, size_t bytes) { __asan_poison_memory_region(block, bytes); }
#else
inline constexpr bool kBlocksAreMarked = false;
inline void mark_usable(void*, size_t) {}
inline void mark_unusable(void*, size_t) {}
#endif

}  // namespace tierup
