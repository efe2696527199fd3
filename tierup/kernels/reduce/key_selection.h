// The k-th least of whole numbers, by counting: no branch depends on single numbers, and none
// moves.
#pragma once

#include <cstdint>

namespace tierup::kernels {

struct KeySelection {
  // Keys end with room for so many more, which is written to.
  static constexpr int64_t kRoom = 16;
  // Whole numbers in the order of x: zeros of both signs are equal, and NaNs, behind all others.
  void (*keys_of)(const float* x, int64_t n, int32_t* keys);
  // What the k-th least of n keys is, counted from 0, and how many are less or equal.
  struct Found {
    int32_t key;
    int64_t less;
    int64_t equal;
  };
  Found (*select)(int32_t* keys, int64_t n, int64_t k);
};

KeySelection key_selection_base();
KeySelection key_selection_avx2();
KeySelection key_selection_avx512();

// The variant for this processor.
const KeySelection& key_selection();

}  // namespace tierup::kernels
