// Elements of up to 32 bits, packed for sorting into one integer of 64 bits each: a key that keeps
// their order above their place. Places make the integers unique, so that any sort is stable. Equal
// elements have equal keys: -0 and 0, NaNs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tierup::kernels {

template <typename T>
inline constexpr bool kPacks = sizeof(T) <= 4;

// The greatest key is that of NaN, or of the greatest whole number.
template <typename T>
uint32_t sort_key(T value, bool descending) {
  uint32_t key = 0;
  if constexpr (std::is_integral_v<T>) {
    key = static_cast<uint32_t>(static_cast<int32_t>(value)) ^ 0x80000000U;
  } else {
    const float number = static_cast<float>(value) + 0.0F;
    const auto bits = std::bit_cast<uint32_t>(number);
    const bool negative = (bits >> 31U) != 0;
    key = number != number ? 0xffffffffU : negative ? ~bits : bits | 0x80000000U;
  }
  return descending ? ~key : key;
}

template <typename T>
uint64_t packed_key(T value, int64_t place, bool descending) {
  return uint64_t{sort_key(value, descending)} << 32U | static_cast<uint64_t>(place);
}
inline int64_t place_in(uint64_t key) { return static_cast<int64_t>(key & 0xffffffffU); }

// Of few keys, insertion takes the least time; of up to some hundreds comparing all with all by
// vectors, without a branch; of more, counting digits.
inline constexpr size_t kFewKeys = 24;

// Puts a key among the `count` keys before it, which are in order.
inline void insert_key(uint64_t* keys, size_t count, uint64_t key) {
  size_t at = count;
  for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
  keys[at] = key;
}

// Sorts packed keys whose places rise, as those of a lane do; `room` is scratch memory.
void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& room);

}  // namespace tierup::kernels
