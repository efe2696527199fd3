#include "tierup/kernels/memory/leave_cache.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tierup::kernels {

#if defined(__x86_64__)
namespace {

constexpr size_t kLine = 64;

bool has_clflushopt() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kClflushopt = 1U << 23U;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kClflushopt) != 0;
}

// Lines in any order: none waits for the one before.
[[gnu::target("clflushopt")]] void flush_unordered(const char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kLine) _mm_clflushopt(const_cast<char*>(data + i));
}

}  // namespace

void leave_cache(const char* data, size_t bytes) {
  static const bool is_unordered = has_clflushopt();
  if (is_unordered) {
    flush_unordered(data, bytes);
  } else {
    for (size_t i = 0; i < bytes; i += kLine) _mm_clflush(data + i);
  }
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
