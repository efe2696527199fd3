// Half (IEEE binary16) and BFloat16: storage types; arithmetic is done in float.
#pragma once

#include <bit>
#include <cstdint>

namespace tierup {

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) : bits(round(value)) {}  // NOLINT(google-explicit-constructor)
  operator float() const {                       // NOLINT(google-explicit-constructor)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

 private:
  // Rounds to nearest even; every NaN becomes 0x7fc0.
  static uint16_t round(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    if ((raw & 0x7fffffffU) > 0x7f800000U) return 0x7fc0;
    return static_cast<uint16_t>((raw + 0x7fffU + ((raw >> 16) & 1U)) >> 16);
  }
};

struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(from_float(value)) {}     // NOLINT(google-explicit-constructor)
  operator float() const { return to_float(bits); }  // NOLINT(google-explicit-constructor)

 private:
  static uint16_t from_float(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (raw >> 16) & 0x8000U;
    const uint32_t magnitude = raw & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
    if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // Rounds to inf.
    if (magnitude < 0x38800000U) {  // Subnormal half: let float addition do the rounding.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
    }
    const uint32_t odd = (magnitude >> 13) & 1U;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13));
  }
  static float to_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
    const uint32_t magnitude = half & 0x7fffU;
    if (magnitude >= 0x7c00U) {
      return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
    }
    if (magnitude >= 0x0400U) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
    const float value = static_cast<float>(magnitude) * 5.9604644775390625e-08F;  // 2^-24
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
};

}  // namespace tierup
