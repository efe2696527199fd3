// Sorting by counting digits of eight bits, from the lowest one on: each pass keeps the order of
// those before, so that equal keys stay as they were. Digits that all keys share take no pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tierup/base/interrupt.h"

namespace tierup::kernels {

// At least one key, by the lowest kDigits digits of word_of(key); `room` is scratch memory.
template <int kDigits, typename Key, typename WordOf>
void sort_by_digits(std::vector<Key>& keys, std::vector<Key>& room, const WordOf& word_of) {
  constexpr uint32_t kBits = 8;
  constexpr size_t kValues = size_t{1} << kBits;
  constexpr size_t kUnasked = size_t{1} << 20;  // Keys between two questions for an interrupt.
  const auto digit_of = [&](const Key& key, uint32_t digit) {
    return static_cast<size_t>(word_of(key) >> (digit * kBits)) % kValues;
  };
  std::array<std::array<size_t, kValues>, kDigits> places{};
  for (const Key& key : keys) {
    for (uint32_t digit = 0; digit < kDigits; ++digit) ++places[digit][digit_of(key, digit)];
  }
  room.resize(keys.size());
  for (uint32_t digit = 0; digit < kDigits; ++digit) {
    auto& place = places[digit];
    if (place[digit_of(keys.front(), digit)] == keys.size()) continue;
    size_t before = 0;
    for (size_t& count : place) before += std::exchange(count, before);
    for (size_t i = 0; i < keys.size();) {
      poll_interrupt();
      for (const size_t end = std::min(keys.size(), i + kUnasked); i < end; ++i)
        room[place[digit_of(keys[i], digit)]++] = keys[i];
    }
    keys.swap(room);
  }
}

}  // namespace tierup::kernels
