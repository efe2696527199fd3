// Before calling libraries that end the process where memory is short (oneDNN, LLVM): whether there
// is some, in which case they are not likely to miss it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tierup {

// Throws std::bad_alloc unless so many bytes could be had now. Touches none of them.
inline void require_headroom(size_t bytes) {
  void* memory = std::malloc(bytes);
  asm volatile("" : "+r"(memory));  // Or the compiler drops the pair.
  std::free(memory);
  if (memory == nullptr) throw std::bad_alloc();
}

}  // namespace tierup
