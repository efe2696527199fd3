#include "tierup/kernels/memory/float8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tierup::kernels {
namespace {

// Powers of two alone: what lies between two of them goes to the upper one from the middle on.
uint8_t to_exponent(const Float8Format& format, float magnitude) {
  if (!std::isfinite(magnitude)) return format.nan;
  const int least = 1 - format.bias;
  if (magnitude < std::ldexp(1.0F, least)) {
    return magnitude > std::ldexp(0.75F, least) - std::ldexp(0.25F, least) ? 1 : 0;
  }
  const int exponent = std::ilogb(magnitude);
  const bool is_upper = magnitude >= std::ldexp(1.5F, exponent);
  return static_cast<uint8_t>(exponent + format.bias + (is_upper ? 1 : 0));
}

float value_of(const Float8Format& format, int bits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (!format.has_sign)
    return bits == format.nan ? kNan : static_cast<float>(std::ldexp(1.0, bits - format.bias));
  const int magnitude = bits & 0x7f;
  if (!format.has_negative_zero && bits == format.nan) return kNan;
  const bool is_negative = bits >= 0x80;
  if (magnitude > format.largest) {
    const bool is_infinite = magnitude == format.beyond && format.beyond != format.nan;
    const float infinity = std::numeric_limits<float>::infinity();
    if (!is_infinite) return kNan;
    return is_negative ? -infinity : infinity;
  }
  const int unit = 1 << format.mantissa_bits;
  const int exponent = std::max(magnitude / unit, 1);
  const int mantissa = magnitude < unit ? magnitude : magnitude % unit + unit;
  const double value = std::ldexp(mantissa, exponent - format.bias - format.mantissa_bits);
  return static_cast<float>(is_negative ? -value : value);
}

}  // namespace

uint8_t to_float8(const Float8Format& format, float value) {
  const float magnitude = std::fabs(value);
  if (!format.has_sign) return to_exponent(format, magnitude);
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  uint8_t bits = format.nan;
  if (std::isinf(value)) {
    bits = format.beyond;
  } else if (!std::isnan(value)) {
    const int exponent = magnitude == 0 ? -format.bias : std::ilogb(magnitude);
    const int scale = std::max(exponent, 1 - format.bias);
    const double units = std::ldexp(static_cast<double>(magnitude), format.mantissa_bits - scale);
    // The bit that stands before a normal number's mantissa adds one to the exponent's place.
    const int64_t place = (static_cast<int64_t>(scale + format.bias - 1) << format.mantissa_bits) +
                          std::llrint(units);
    bits = place > format.largest ? format.beyond : static_cast<uint8_t>(place);
  }
  const bool takes_sign = format.has_negative_zero || (bits != 0 && bits != format.nan);
  return takes_sign ? bits | sign : bits;
}

std::array<float, 256> float8_values(const Float8Format& format) {
  std::array<float, 256> values{};
  for (int bits = 0; bits < 256; ++bits) {
    values[static_cast<size_t>(bits)] = value_of(format, bits);
  }
  return values;
}

}  // namespace tierup::kernels
