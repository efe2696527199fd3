#include "tierup/kernels/reduce/packed_keys.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tierup/base/interrupt.h"
#include "tierup/kernels/reduce/float_folds.h"

namespace tierup::kernels {
namespace {

// Sorts by the upper half of each key, digit by digit from the lowest one on: each pass keeps the
// order of those before, and so that of the indices.
void sort_by_digits(std::vector<uint64_t>& keys, std::vector<uint64_t>& room) {
  constexpr int kDigits = 4;
  constexpr uint32_t kBits = 8;
  constexpr size_t kValues = size_t{1} << kBits;
  constexpr size_t kUnasked = size_t{1} << 20;  // Keys between two questions for an interrupt.
  const auto digit_of = [](uint64_t key, uint32_t digit) {
    return static_cast<size_t>(key >> (32 + digit * kBits)) % kValues;
  };
  std::array<std::array<size_t, kValues>, kDigits> places{};
  for (const uint64_t key : keys) {
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

constexpr size_t kMostByRanks = 256;

// Keys whose lower halves rise, as those of a lane do.
void sort_by_ranks(std::vector<uint64_t>& keys, std::vector<uint64_t>& room) {
  std::array<int32_t, kMostByRanks> upper;
  std::array<int32_t, kMostByRanks> places;
  for (size_t i = 0; i < keys.size(); ++i)
    upper[i] = static_cast<int32_t>(static_cast<uint32_t>(keys[i] >> 32U) ^ 0x80000000U);
  float_folds().rank(upper.data(), static_cast<int64_t>(keys.size()), places.data());
  room.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) room[static_cast<size_t>(places[i])] = keys[i];
  keys.swap(room);
}

}  // namespace

void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& room) {
  if (keys.size() > kMostByRanks) return sort_by_digits(keys, room);
  if (keys.size() > kFewKeys) return sort_by_ranks(keys, room);
  for (size_t i = 1; i < keys.size(); ++i) insert_key(keys.data(), i, keys[i]);
}

}  // namespace tierup::kernels
