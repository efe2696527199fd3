// Convolution of one channel by one window (depthwise), for plane_convolution_*.cc: sums of a few
// rows and vectors of points stand in registers while the window's numbers are gone through, one
// plane after the other where the channel is a volume.
#pragma once

#include <algorithm>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/convolution/plane_strip_body.h"
#include "tierup/kernels/convolution/plane_tile_body.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

class SinglePlaneRunner {
 public:
  // The part's points are whole rows of results.
  explicit SinglePlaneRunner(const PlanePart& part)
      : p_(part),
        rows_((part.last_point - part.first_point) / part.out_width),
        strip_(strip_of(part, part.first_point / part.out_width,
                        (rows_ + kMostRows - 1) / kMostRows * kMostRows, 0, part.out_width)),
        row_step_(part.stride_y * strip_.pitch) {}

  void run() {
    constexpr int kWide = 2;
    constexpr int kRows = 4;
    const int64_t floats = p_.in_channels * strip_.plane() + kWide * kVectorFloats;
    numbers_ = static_cast<float*>(thread_scratch(static_cast<size_t>(floats) * sizeof(float)));
    fill_strip(p_, strip_, p_.input, p_.in_channels, numbers_);
    strip_.offsets(p_, offsets_);
    int64_t column = 0;
    for (; p_.out_width - column > kVectorFloats; column += kWide * kVectorFloats) {
      for (int64_t row = 0; row < rows_; row += kRows) sum<kRows, kWide>(row, column);
    }
    if (column < p_.out_width) {
      for (int64_t row = 0; row < rows_; row += kMostRows) sum<kMostRows, 1>(row, column);
    }
  }

 private:
  static constexpr int kMostRows = 8;

  template <int kRows, int kWide>
  void sum(int64_t row, int64_t column) const {
    const float* from = numbers_ + row * row_step_ + column;
    FloatVector sums[kRows][kWide] = {};
    const int64_t points = p_.kernel_points();
    const float* number = p_.weight;
    for (int64_t c = 0; c < p_.in_channels; ++c, from += strip_.plane()) {
      for (int64_t k = 0; k < points; ++k) {
        const FloatVector weight = *number++ - FloatVector{};
        const float* source = from + offsets_[k];
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
          for (int v = 0; v < kWide; ++v) {
            sums[i][v] = multiply_add(
                weight, load_vector(source + i * row_step_ + v * kVectorFloats), sums[i][v]);
          }
        }
      }
    }
    const float bias = p_.bias != nullptr ? *p_.bias : 0.0F;
    float* to = p_.output + p_.first_point + row * p_.out_width + column;
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kWide; ++v) {
        if (row + i < rows_) {
          const FloatVector total = p_.bias != nullptr ? sums[i][v] + bias : sums[i][v];
          store_columns(to + i * p_.out_width + v * kVectorFloats,
                        p_.out_width - column - v * kVectorFloats, total);
        }
      }
    }
  }

  const PlanePart& p_;
  const int64_t rows_;
  const Strip strip_;  // Of as many rows as whole tiles read.
  const int64_t row_step_;
  float* numbers_ = nullptr;
  int32_t offsets_[kMostKernelPoints];
};

}  // namespace
}  // namespace tierup::kernels
