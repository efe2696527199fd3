// Single draws from a generator, the ground of all random kernels. The caller holds the lock.
#pragma once

#include <cmath>
#include <type_traits>

#include "tierup/kernels/random/generator.h"

namespace tierup::kernels {

// Uniform in [0, 1) with 53 random bits for double and 24 for all narrower types.
template <typename T>
inline auto draw_uniform(Generator& generator) {
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(generator.next64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
  } else {
    return static_cast<float>(generator.next32() & ((1U << 24) - 1)) * 0x1p-24F;
  }
}

// Standard normal (Box-Muller); the second of each pair is kept for the next draw.
inline double draw_normal(Generator& generator) {
  if (generator.cached_normal) {
    const double kept = *generator.cached_normal;
    generator.cached_normal.reset();
    return kept;
  }
  const double angle = 2 * M_PI * draw_uniform<double>(generator);
  const double radius = std::sqrt(-2 * std::log1p(-draw_uniform<double>(generator)));
  generator.cached_normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

// Poisson: products of uniforms for small rates, Hormann's transformed rejection (PTRS) else.
int64_t draw_poisson(double rate, Generator& generator);

}  // namespace tierup::kernels
