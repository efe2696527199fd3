// Keys by which narrow elements sort, and lanes of few such elements sorted many at a time, by a
// network whose comparisons do not depend on the keys (FloatFolds::sort_columns).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Narrow elements sort as one integer of 64 bits each: an order-preserving key above the index. The
// index makes keys unique, so that any sort is stable. Equal elements have equal keys: -0 and 0,
// NaNs.
template <typename T>
inline constexpr bool kPacks = sizeof(T) <= 4;

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

inline int64_t place_in(uint64_t key) { return static_cast<int64_t>(key & 0xffffffffU); }

// Elements in order take a thread some ten times as long as elements that are read.
inline int64_t sorting_grain(int64_t count) { return grain_of(8 * count); }

// Whether lanes are of few elements and lie one after another, many of them: kSortedColumns are
// then sorted at once.
inline constexpr int64_t kShortLane = 32;  // Networks of more rows take more than counting does.
inline bool are_short(const Tensor& self, int64_t d) {
  const int64_t count = self.sizes()[d];
  return d + 1 == self.dim() && self.is_contiguous() && count <= kShortLane &&
         self.numel() / count >= FloatFolds::kSortedColumns;
}

// Calls use(lane, key_at) for each, where key_at(i) is the i-th key in order.
template <typename T, typename Use>
void for_sorted_lanes(const Tensor& self, bool descending, const Use& use) {
  constexpr int64_t kColumns = FloatFolds::kSortedColumns;
  constexpr uint64_t kSign = uint64_t{1} << 63U;  // The network's keys have a sign.
  const int64_t count = self.sizes().back();
  parallel_for(0, self.numel() / count, sorting_grain(count), [&](int64_t begin, int64_t end) {
    std::array<int64_t, static_cast<size_t>(kShortLane * kColumns)> keys{};
    for (int64_t first = begin; first < end; first += kColumns) {
      const int64_t lanes = std::min(kColumns, end - first);
      const T* from = self.data<T>() + first * count;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        for (int64_t i = 0; i < count; ++i, ++from) {
          const uint64_t key = uint64_t{sort_key(*from, descending)} << 32U | uint64_t(i);
          keys[static_cast<size_t>(i * kColumns + lane)] = static_cast<int64_t>(key ^ kSign);
        }
      }
      float_folds().sort_columns(keys.data(), count);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        use(first + lane, [&](int64_t i) {
          return static_cast<uint64_t>(keys[static_cast<size_t>(i * kColumns + lane)]) ^ kSign;
        });
      }
    }
  });
}

}  // namespace tierup::kernels
