// Elements of 64 bits for sorting: a key without a sign that keeps their order, and their place.
// Equal elements have equal keys, as in packed_keys.h.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tierup::kernels {

struct PlacedKey {
  uint64_t key;
  int64_t place;
};

template <typename T>
uint64_t ordered_word(T value, bool descending) {
  constexpr uint64_t kSign = uint64_t{1} << 63U;
  uint64_t key = 0;
  if constexpr (std::is_integral_v<T>) {
    key = static_cast<uint64_t>(static_cast<int64_t>(value)) ^ kSign;
  } else {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value) + 0.0);
    key = value != value ? ~uint64_t{0} : (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
  return descending ? ~key : key;
}

// Sorts keys, equal ones as they were; `room` is scratch memory.
void sort_placed_keys(std::vector<PlacedKey>& keys, std::vector<PlacedKey>& room);

}  // namespace tierup::kernels
