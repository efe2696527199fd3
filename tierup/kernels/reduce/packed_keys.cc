#include "tierup/kernels/reduce/packed_keys.h"

#include <array>

#include "tierup/kernels/reduce/digit_sort.h"
#include "tierup/kernels/reduce/float_folds.h"

namespace tierup::kernels {
namespace {

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
  if (keys.size() > kMostByRanks)
    return sort_by_digits<4>(keys, room, [](uint64_t key) { return key >> 32U; });
  if (keys.size() > kFewKeys) return sort_by_ranks(keys, room);
  for (size_t i = 1; i < keys.size(); ++i) insert_key(keys.data(), i, keys[i]);
}

}  // namespace tierup::kernels
