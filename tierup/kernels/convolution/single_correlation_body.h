// The gradient of one window over one channel (depthwise), for plane_convolution_*.cc: products of
// the result's gradient with what each number of the window was multiplied by. The plane stands as
// a strip, so that vectors of a row of gradients meet vectors of the plane; sums of some of the
// window's numbers stand in registers while a few rows pass by.
#pragma once

#include <algorithm>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/convolution/plane_strip_body.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

class SingleCorrelation {
 public:
  explicit SingleCorrelation(const PlanePart& part)
      : p_(part), columns_((part.out_width + kVectorFloats - 1) / kVectorFloats * kVectorFloats) {}

  void run() {
    // Rows of both planes that stay in a first-level cache.
    constexpr int64_t kFloats = 6144;
    const int64_t row = columns_ + p_.stride_y * strip(0, 1).pitch;
    const int64_t rows = std::clamp<int64_t>(kFloats / row, 1, p_.out_height);
    const int64_t floats = strip(0, rows).plane() + kVectorFloats;
    const int64_t all = floats + rows * columns_ + kVectorFloats;
    numbers_ = static_cast<float*>(thread_scratch(static_cast<size_t>(all) * sizeof(float)));
    gradients_ = numbers_ + floats;
    for (int64_t top = 0; top < p_.out_height; top += rows)
      add_rows(top, std::min(rows, p_.out_height - top));
  }

 private:
  static constexpr int kMost = 12;  // Numbers of the window at a time.

  Strip strip(int64_t top, int64_t rows) const { return strip_of(p_, top, rows, 0, columns_); }

  void add_rows(int64_t top, int64_t rows) {
    const Strip s = strip(top, rows);
    fill_strip(p_, s, p_.input, 1, numbers_);
    s.offsets(p_, offsets_);
    row_step_ = p_.stride_y * s.pitch;
    const float* from = p_.weight + top * p_.out_width;
    float* to = gradients_;
    for (int64_t y = 0; y < rows; ++y, from += p_.out_width, to += columns_)
      copy_row(from, p_.out_width, to);
    const int64_t points = p_.kernel_points();
    const int64_t passes = (points + kMost - 1) / kMost;
    for (int64_t pass = 0; pass < passes; ++pass) {
      const int64_t first = pass * points / passes;
      add_some<kMost>(first, (pass + 1) * points / passes - first, rows);
    }
  }

  template <int kCount>
  void add_some(int64_t first, int64_t count, int64_t rows) const {
    if constexpr (kCount > 1) {
      if (count < kCount) return add_some<kCount - 1>(first, count, rows);
    }
    FloatVector sums[kCount] = {};
    const int32_t* offsets = offsets_ + first;
    const float* gradient = gradients_;
    const float* from = numbers_;
    for (int64_t y = 0; y < rows; ++y, from += row_step_) {
      for (int64_t x = 0; x < columns_; x += kVectorFloats, gradient += kVectorFloats) {
        const FloatVector g = load_vector(gradient);
#pragma GCC unroll 12
        for (int i = 0; i < kCount; ++i)
          sums[i] = multiply_add(g, load_vector(from + offsets[i] + x), sums[i]);
      }
    }
    for (int i = 0; i < kCount; ++i) {
      float sum = 0;
      for (int lane = 0; lane < kVectorFloats; ++lane) sum += sums[i][lane];
      p_.output[first + i] += sum;
    }
  }

  const PlanePart& p_;
  const int64_t columns_;  // Of a row of gradients, whole vectors.
  int64_t row_step_ = 0;
  float* numbers_ = nullptr;
  float* gradients_ = nullptr;
  int32_t offsets_[kMostKernelPoints];
};

}  // namespace
}  // namespace tierup::kernels
