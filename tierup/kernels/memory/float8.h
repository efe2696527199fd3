// Floats of eight bits: a few values apart from float32, which all arithmetic is done in.
#pragma once

#include <array>
#include <cstdint>

namespace tierup::kernels {

// How the bits lie: a sign, then an exponent, then a mantissa.
struct Float8Format {
  int mantissa_bits;
  int bias;
  uint8_t largest;  // The bits of the largest finite number.
  uint8_t beyond;   // What becomes of larger ones: an infinity, NaN, or the largest (as of
                    // PyTorch 2.15).
  uint8_t nan;
  bool has_negative_zero;  // Without one, its bits are NaN, which has no sign.
  bool has_sign;           // Without one there is nothing but an exponent, and no zero.
};

inline constexpr Float8Format kE4M3FN{3, 7, 0x7e, 0x7e, 0x7f, true, true};
inline constexpr Float8Format kE5M2{2, 15, 0x7b, 0x7c, 0x7f, true, true};
inline constexpr Float8Format kE4M3FNUZ{3, 8, 0x7f, 0x80, 0x80, false, true};
inline constexpr Float8Format kE5M2FNUZ{2, 16, 0x7f, 0x80, 0x80, false, true};
inline constexpr Float8Format kE8M0FNU{0, 127, 0xfe, 0xff, 0xff, false, false};

// The nearest number of the format, of two the even one.
uint8_t to_float8(const Float8Format& format, float value);
// The values of all bits.
std::array<float, 256> float8_values(const Float8Format& format);

}  // namespace tierup::kernels
