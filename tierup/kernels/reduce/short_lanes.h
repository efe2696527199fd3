// Lanes of few narrow elements sorted many at a time, by a
// network whose comparisons do not depend on the keys (FloatFolds::sort_columns).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tierup/base/parallel.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/packed_keys.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

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
          const uint64_t key = packed_key(*from, i, descending);
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
