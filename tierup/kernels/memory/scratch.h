// Scratch memory that a thread keeps between kernels, so that inner blocks allocate nothing.
#pragma once

#include <cstddef>

namespace tierup::kernels {

// At least `bytes` of memory of the calling thread, 64-byte aligned and uninitialised. The next
// call from the same thread may move and reuse it. Throws kOutOfMemory.
void* thread_scratch(size_t bytes);

}  // namespace tierup::kernels
