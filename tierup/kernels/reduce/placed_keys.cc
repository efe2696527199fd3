#include "tierup/kernels/reduce/placed_keys.h"

#include <algorithm>

#include "tierup/kernels/reduce/digit_sort.h"

namespace tierup::kernels {

// Tables of digits take as long as comparisons of some hundred keys.
void sort_placed_keys(std::vector<PlacedKey>& keys, std::vector<PlacedKey>& room) {
  constexpr size_t kFew = 160;
  if (keys.size() > kFew)
    return sort_by_digits<8>(keys, room, [](const PlacedKey& k) { return k.key; });
  std::stable_sort(keys.begin(), keys.end(),
                   [](const PlacedKey& a, const PlacedKey& b) { return a.key < b.key; });
}

}  // namespace tierup::kernels
