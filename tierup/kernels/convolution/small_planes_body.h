// Convolution of small planes by one window each (depthwise), as many at once as a vector has
// lanes; for plane_convolution_*.cc.
//
// Rows that fill no vector leave most lanes idle, and are read at places where nothing was stored
// as a whole. So the numbers of several planes, and those of their windows, are turned to lie point
// by point, a lane for each plane, with zeros left and right; sums of a few points of a row stand
// in registers while the windows' numbers are gone through, and the results are turned back.
#pragma once

#include <algorithm>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/simd/lane_planes_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// How a window lies in the turned planes; steps in floats.
struct LaneWindow {
  int64_t rows;
  int64_t columns;
  int64_t row_step;
  int64_t column_step;
  int64_t point_step;
};

// The sums of kPoints points of a row of results, kStride points apart in the input, or
// w.point_step floats if that is 0. `weights` are the window's numbers in order.
template <int kPoints, int kStride>
[[gnu::noinline]] void sum_lanes(const LaneWindow& w, const float* from, const float* weights,
                                 FloatVector bias, float* to) {
  const int64_t step = kStride == 0 ? w.point_step : kStride * kVectorFloats;
  FloatVector sums[kPoints] = {};
  for (int64_t y = 0; y < w.rows; ++y, from += w.row_step) {
    const float* source = from;
    for (int64_t x = 0; x < w.columns; ++x, source += w.column_step, weights += kVectorFloats) {
      const FloatVector weight = load_vector(weights);
#pragma GCC unroll 8
      for (int i = 0; i < kPoints; ++i)
        sums[i] = multiply_add(weight, load_vector(source + i * step), sums[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kPoints; ++i) store_vector(to + i * kVectorFloats, sums[i] + bias);
}

class SmallPlanesRunner {
 public:
  SmallPlanesRunner(const PlanePart& whole, int64_t channels)
      : p_(whole), channels_(channels), room_(whole, kVectorFloats) {
    const auto bytes = static_cast<size_t>(room_.floats()) * sizeof(float);
    in_ = static_cast<float*>(thread_scratch(bytes));
    windows_ = in_ + room_.in;
    out_ = windows_ + room_.windows;
    blocks_ = (p_.out_width + kMostPoints - 1) / kMostPoints;
    points_ = (p_.out_width + blocks_ - 1) / blocks_;
  }

  void run(int64_t begin, int64_t end) const {
    for (int64_t i = 0; i < room_.in; i += kVectorFloats) store_vector(in_ + i, FloatVector{});
    const auto sum = sum_of(points_);
    for (int64_t first = begin; first < end; first += kVectorFloats) {
      const int64_t count = std::min<int64_t>(kVectorFloats, end - first);
      turn_planes(first, count);
      const FloatVector bias = turn_windows(first, count);
      for (int64_t y = 0; y < p_.out_height; ++y) sum_row(sum, y, bias);
      planes_of_lanes(out_, p_.out_points(), count, p_.output + first * p_.out_points());
    }
  }

 private:
  static constexpr int64_t kMostPoints = 8;
  using SumFn = void (*)(const LaneWindow&, const float*, const float*, FloatVector, float*);

  template <int kPoints>
  SumFn sum_of_stride() const {
    if (p_.stride_x == 1) return sum_lanes<kPoints, 1>;
    return p_.stride_x == 2 ? sum_lanes<kPoints, 2> : sum_lanes<kPoints, 0>;
  }
  SumFn sum_of(int64_t points) const {
    switch (points) {
      case 1: return sum_of_stride<1>();
      case 2: return sum_of_stride<2>();
      case 3: return sum_of_stride<3>();
      case 4: return sum_of_stride<4>();
      case 5: return sum_of_stride<5>();
      case 6: return sum_of_stride<6>();
      case 7: return sum_of_stride<7>();
      default: return sum_of_stride<8>();
    }
  }

  void turn_planes(int64_t first, int64_t count) const {
    const int64_t points = p_.height * p_.width;
    const float* planes = p_.input + first * points;
    FloatVector square[kVectorFloats] = {};
    float* to = in_ + p_.pad_left * kVectorFloats;
    int64_t column = 0;
    for (int64_t at = 0; at < points; at += kVectorFloats) {
      for (int64_t i = 0; i < count; ++i)
        square[i] = load_columns(planes + i * points + at, points - at);
      transpose(square);
      for (int64_t i = 0; i < std::min<int64_t>(kVectorFloats, points - at); ++i) {
        store_vector(to, square[i]);
        const bool ends = ++column == p_.width;
        to += (ends ? room_.pitch - p_.width + 1 : 1) * kVectorFloats;
        column = ends ? 0 : column;
      }
    }
  }

  // Returns the lanes' biases.
  FloatVector turn_windows(int64_t first, int64_t count) const {
    const int64_t numbers = p_.kernel_points();
    FloatVector bias = -0.0F - FloatVector{};  // Which changes no sum.
    if (p_.bias != nullptr) {
      for (int64_t i = 0; i < count; ++i) bias[i] = p_.bias[(first + i) % channels_];
    }
    FloatVector square[kVectorFloats] = {};
    for (int64_t at = 0; at < numbers; at += kVectorFloats) {
      for (int64_t i = 0; i < count; ++i) {
        const float* window = p_.weight + (first + i) % channels_ * numbers;
        square[i] = load_columns(window + at, numbers - at);
      }
      transpose(square);
      for (int i = 0; i < kVectorFloats; ++i)
        store_vector(windows_ + (at + i) * kVectorFloats, square[i]);
    }
    return bias;
  }

  void sum_row(SumFn sum, int64_t y, FloatVector bias) const {
    const int64_t top = y * p_.stride_y - p_.pad_top;
    const int64_t first =
        top < 0 ? std::min((-top + p_.dilation_y - 1) / p_.dilation_y, p_.kernel_height) : 0;
    const int64_t inside = (p_.height - top + p_.dilation_y - 1) / p_.dilation_y;
    const LaneWindow window{std::clamp(inside, first, p_.kernel_height) - first, p_.kernel_width,
                            p_.dilation_y * room_.pitch * kVectorFloats,
                            p_.dilation_x * kVectorFloats, p_.stride_x * kVectorFloats};
    const float* row = in_ + (top + first * p_.dilation_y) * room_.pitch * kVectorFloats;
    const float* weights = windows_ + first * p_.kernel_width * kVectorFloats;
    float* to = out_ + y * p_.out_width * kVectorFloats;
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t x = std::min(block * points_, p_.out_width - points_);
      sum(window, row + x * window.point_step, weights, bias, to + x * kVectorFloats);
    }
  }

  const PlanePart& p_;
  const int64_t channels_;
  const SmallPlanesRoom room_;
  float* in_;
  float* windows_;
  float* out_;
  int64_t blocks_;  // Of points_ points each, which cover a row of results.
  int64_t points_;
};

}  // namespace
}  // namespace tierup::kernels
