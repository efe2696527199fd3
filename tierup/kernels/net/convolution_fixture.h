// Numbers and memory for the tests of our own convolutions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tierup/kernels/net/weight_store.h"

namespace tierup::kernels::net {

// From -1 to 1, the same for the same seed.
inline std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> result(static_cast<size_t>(count));
  for (float& x : result) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<float>(seed >> 8) / 8388608.0F - 1.0F;
  }
  return result;
}

// Blocks on a cache line's boundary, as nets have them.
inline std::shared_ptr<char[]> block_of(const std::vector<float>& values) {
  auto block = aligned_block(values.size() * sizeof(float));
  std::copy(values.begin(), values.end(), reinterpret_cast<float*>(block.get()));
  return block;
}
inline float* floats(const std::shared_ptr<char[]>& block) {
  return reinterpret_cast<float*>(block.get());
}

}  // namespace tierup::kernels::net
