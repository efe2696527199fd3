// The floating-point exception flags of the calling thread, wherever the processor keeps them: what
// stays raised until someone clears it.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#error "float_flags.h knows x86-64 and AArch64"
#endif

namespace tierup {

#if defined(__x86_64__)
// Of MXCSR.
inline constexpr uint32_t kInvalidFlag = _MM_EXCEPT_INVALID;
inline constexpr uint32_t kOverflowFlag = _MM_EXCEPT_OVERFLOW;
inline constexpr uint32_t kUnderflowFlag = _MM_EXCEPT_UNDERFLOW;
inline constexpr uint32_t kFloatFlags = _MM_EXCEPT_MASK;
inline uint32_t float_status() { return _mm_getcsr(); }
inline void set_float_status(uint32_t status) { _mm_setcsr(status); }
#else
// Of FPSR: invalid, division by zero, overflow, underflow, inexact, subnormal input.
inline constexpr uint32_t kInvalidFlag = 1U << 0U;
inline constexpr uint32_t kOverflowFlag = 1U << 2U;
inline constexpr uint32_t kUnderflowFlag = 1U << 3U;
inline constexpr uint32_t kFloatFlags = 0x9fU;
inline uint32_t float_status() {
  uint64_t status;
  asm volatile("mrs %0, fpsr" : "=r"(status) : : "memory");
  return static_cast<uint32_t>(status);
}
inline void set_float_status(uint32_t status) {
  asm volatile("msr fpsr, %0" : : "r"(static_cast<uint64_t>(status)) : "memory");
}
#endif

inline uint32_t float_flags() { return float_status() & kFloatFlags; }
inline void raise_float_flags(uint32_t flags) { set_float_status(float_status() | flags); }
// The flags as they were.
inline uint32_t clear_float_flags() {
  const uint32_t status = float_status();
  if ((status & kFloatFlags) != 0) set_float_status(status & ~kFloatFlags);
  return status & kFloatFlags;
}

}  // namespace tierup
