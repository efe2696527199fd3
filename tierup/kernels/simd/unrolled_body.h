// Loops that are written out where kernels keep arrays of vectors in registers. Everything is local
// to the including file.
//
// Indices are constants of the source, not of an unrolled loop: only so does the compiler keep
// arrays in registers from the first load to the last store. The address sanitizer's build has
// loops and calls: with its checks at each index a file took ten minutes to compile.
#pragma once

#include <utility>

#include "tierup/base/sanitizers.h"

#ifdef TIERUP_ADDRESS_SANITIZER
#define TIERUP_INLINED
#else
#define TIERUP_INLINED __attribute__((always_inline))
#endif
#define TIERUP_INLINE inline TIERUP_INLINED

namespace tierup::kernels {
namespace {

template <typename Use, int... kIndices>
TIERUP_INLINE void each_index(std::integer_sequence<int, kIndices...> /*indices*/, const Use& use) {
  (use(std::integral_constant<int, kIndices>()), ...);
}
// use(index) for each one below kCount.
template <int kCount, typename Use>
TIERUP_INLINE void for_each(const Use& use) {
#ifdef TIERUP_ADDRESS_SANITIZER
  for (int i = 0; i < kCount; ++i) use(i);
#else
  each_index(std::make_integer_sequence<int, kCount>(), use);
#endif
}

}  // namespace
}  // namespace tierup::kernels
