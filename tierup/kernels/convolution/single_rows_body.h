// Convolution of one channel by one window (depthwise) without dilation and with stride 1 or 2,
// straight from the plane; for plane_convolution_*.cc.
//
// Sums of a few rows of results stand in registers while the rows that they read go by: each vector
// of those is read once for all the rows of results that it counts for. What lies outside of the
// plane is masked, so nothing is copied.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int kResultRows = 4;  // Whose sums stand in registers.
constexpr int64_t kMostDirectColumns = 8;

// Some vectors of columns of kResultRows rows of results.
struct ResultRows {
  const float* input;  // The first row that windows may cover, at the first column of a window.
  int64_t width;
  int64_t first, last;  // Of the rows from `input` on, those within the plane.
  int64_t columns;      // Of a window.
  const float* weight;  // By columns.
  const float* bias;
  float* output;
  int64_t out_width;
  int64_t count;  // Results of a row.
  // Lanes within the plane of what stands so many columns behind the windows' first: for stride 2
  // of two vectors in a row.
  uint32_t (*lanes)[kMostDirectColumns];
};

template <bool kIsMasked>
TIERUP_INLINE FloatVector load_within(const float* from, const uint32_t* lanes) {
  if constexpr (kIsMasked) return load_masked(from, *lanes);
  return load_vector(from);
}

template <int kHeight, int kStride, int kWide, bool kIsMasked>
[[gnu::noinline]] void sum_rows(const ResultRows& r) {
  FloatVector sums[kResultRows][kWide] = {};
  // What `count` columns of a window's row read, for each row of results that it counts for.
  const auto add = [&](auto row, const float* weight, const FloatVector(&numbers)[kWide])
                       TIERUP_INLINED {
                         for_each<kResultRows>([&](auto i) TIERUP_INLINED {
                           const int of = row - i * kStride;
                           if (of < 0 || of >= kHeight) return;
                           const FloatVector factor = weight[of] - FloatVector{};
                           for_each<kWide>([&](auto v) TIERUP_INLINED {
                             sums[i][v] = multiply_add(factor, numbers[v], sums[i][v]);
                           });
                         });
                       };
  for_each<(kResultRows - 1) * kStride + kHeight>([&](auto row) TIERUP_INLINED {
    if (row < r.first || row >= r.last) return;
    const float* from = r.input + row * r.width;
    const float* weight = r.weight;
    for (int64_t x = 0; x < r.columns; x += kStride, from += kStride, weight += kStride * kHeight) {
      FloatVector numbers[kWide];
      if constexpr (kStride == 1) {
        for_each<kWide>([&](auto v) TIERUP_INLINED {
          numbers[v] = load_within<kIsMasked>(from + v * kVectorFloats, &r.lanes[v][x]);
        });
        add(row, weight, numbers);
      } else {
        FloatVector odd[kWide];
        for_each<kWide>([&](auto v) TIERUP_INLINED {
          const float* pair = from + 2 * v * kVectorFloats;
          part_pairs(load_within<kIsMasked>(pair, &r.lanes[2 * v][x]),
                     load_within<kIsMasked>(pair + kVectorFloats, &r.lanes[2 * v + 1][x]),
                     numbers[v], odd[v]);
        });
        add(row, weight, numbers);
        if (x + 1 < r.columns) add(row, weight + kHeight, odd);
      }
    }
  });
  for_each<kResultRows>([&](auto i) TIERUP_INLINED {
    for_each<kWide>([&](auto v) TIERUP_INLINED {
      float* to = r.output + i * r.out_width + v * kVectorFloats;
      const FloatVector sum = r.bias != nullptr ? sums[i][v] + *r.bias : sums[i][v];
      if constexpr (kIsMasked) {
        if (v * kVectorFloats < r.count) store_columns(to, r.count - v * kVectorFloats, sum);
      } else {
        store_vector(to, sum);
      }
    });
  });
}

class SingleRowsRunner {
 public:
  static bool fits(const PlanePart& p) {
    const bool is_near = p.in_channels == 1 && p.dilation_y == 1 && p.dilation_x == 1 &&
                         p.stride_y == p.stride_x && p.stride_x <= 2;
    return kVectorFloats > 4 && is_near && p.kernel_width <= kMostDirectColumns &&
           (p.kernel_height == 3 || p.kernel_height == 5 || p.kernel_height == 7) &&
           p.last_point - p.first_point >= kResultRows * p.out_width;
  }

  // The part's points are whole rows of results, kResultRows at least.
  explicit SingleRowsRunner(const PlanePart& part) : p_(part) {
    for (int64_t x = 0; x < p_.kernel_width; ++x) {
      for (int64_t y = 0; y < p_.kernel_height; ++y)
        weight_[x * p_.kernel_height + y] = p_.weight[y * p_.kernel_width + x];
    }
  }

  // The last block of columns, and the last rows, begin where they end with the results, if there
  // are so many: some are done once more.
  void run() {
    constexpr int64_t kWide = 2 * kVectorFloats;
    for (int64_t x = 0; x < p_.out_width;) {
      const int64_t left = p_.out_width - x;
      const int64_t wide = left > kVectorFloats ? kWide : kVectorFloats;
      run_columns(std::max<int64_t>(0, std::min(x, p_.out_width - wide)), wide);
      x += wide;
    }
  }

 private:
  using SumFn = void (*)(const ResultRows&);

  void run_columns(int64_t x, int64_t wide) {
    const int64_t column = x * p_.stride_x - p_.pad_left;
    const int64_t behind = (p_.kernel_width - 1) / p_.stride_x * p_.stride_x + wide * p_.stride_x;
    const int64_t count = std::min(wide, p_.out_width - x);
    // So it is, too, where there are fewer results.
    const bool is_masked = column < 0 || column + behind > p_.width;
    if (is_masked) find_lanes(column, wide / kVectorFloats * p_.stride_x);
    const SumFn sum = sum_for(wide > kVectorFloats, is_masked);
    const int64_t end = p_.last_point / p_.out_width;
    for (int64_t y = p_.first_point / p_.out_width; y < end; y += kResultRows) {
      const int64_t row = std::min(y, end - kResultRows);
      const int64_t top = row * p_.stride_y - p_.pad_top;
      sum({p_.input + top * p_.width + column, p_.width, std::max<int64_t>(0, -top),
           p_.height - top, p_.kernel_width, weight_, p_.bias, p_.output + row * p_.out_width + x,
           p_.out_width, count, lanes_});
    }
  }

  void find_lanes(int64_t column, int64_t vectors) {
    constexpr uint32_t kAll = (uint32_t{1} << kVectorFloats) - 1;
    for (int64_t v = 0; v < vectors; ++v, column += kVectorFloats) {
      for (int64_t x = 0; x < p_.kernel_width; ++x) {
        const int64_t before = std::clamp<int64_t>(-(column + x), 0, kVectorFloats);
        const int64_t inside = std::clamp<int64_t>(p_.width - (column + x), 0, kVectorFloats);
        lanes_[v][x] = (kAll >> (kVectorFloats - inside)) & (kAll << before);
      }
    }
  }

  template <int kHeight, int kStride>
  static SumFn sum_of(bool is_wide, bool is_masked) {
    if (is_masked) {
      return is_wide ? sum_rows<kHeight, kStride, 2, true> : sum_rows<kHeight, kStride, 1, true>;
    }
    return is_wide ? sum_rows<kHeight, kStride, 2, false> : sum_rows<kHeight, kStride, 1, false>;
  }
  template <int kHeight>
  SumFn sum_of_height(bool is_wide, bool is_masked) const {
    return p_.stride_x == 1 ? sum_of<kHeight, 1>(is_wide, is_masked)
                            : sum_of<kHeight, 2>(is_wide, is_masked);
  }
  SumFn sum_for(bool is_wide, bool is_masked) const {
    switch (p_.kernel_height) {
      case 3: return sum_of_height<3>(is_wide, is_masked);
      case 5: return sum_of_height<5>(is_wide, is_masked);
      default: return sum_of_height<7>(is_wide, is_masked);
    }
  }

  const PlanePart& p_;
  float weight_[7 * kMostDirectColumns];  // By columns.
  uint32_t lanes_[4][kMostDirectColumns];
};

}  // namespace
}  // namespace tierup::kernels
