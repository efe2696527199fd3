#include "tierup/kernels/memory/leave_cache.h"

#include <cstdint>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tierup::kernels {

#if defined(__x86_64__)
void leave_cache(const char* data, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t i = 0; i < bytes; i += kLine) _mm_clflush(data + i);
  if (bytes > 0) _mm_clflush(data + bytes - 1);
  _mm_mfence();
}
#else
void leave_cache(const char* data, size_t bytes) {
  uint64_t type;
  asm("mrs %0, ctr_el0" : "=r"(type));
  const size_t line = size_t{4} << (type >> 16U & 15U);  // The shortest of a data cache.
  for (size_t i = 0; i < bytes; i += line)
    asm volatile("dc civac, %0" : : "r"(data + i) : "memory");
  if (bytes > 0) asm volatile("dc civac, %0" : : "r"(data + bytes - 1) : "memory");
  asm volatile("dsb sy" : : : "memory");
}
#endif

}  // namespace tierup::kernels
