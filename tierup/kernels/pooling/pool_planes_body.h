// Pooling of small planes, as many at once as a vector has lanes; included by pool_lines_body.h.
//
// Lines that fill no vector leave most lanes idle, and cost as much as long ones. So the numbers of
// several planes are turned to lie point by point, a lane for each plane: lines are folded, then
// columns, without padding, and the results are turned back.
#pragma once

#include <algorithm>

#include "tierup/kernels/pooling/pool_lines.h"
#include "tierup/kernels/simd/lane_planes_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// Positions that a window covers of one dimension, without the padding.
struct Reach {
  Reach(const PoolWindow& w, size_t d, int64_t index)
      : first(index * w.stride[d] - w.padding[d]), step(w.dilation[d]) {
    const int64_t last = std::min(first + (w.kernel[d] - 1) * step + 1, w.in[d]);
    if (first < 0) first += steps_of(-first) * step;
    count = last > first ? steps_of(last - first) : 0;
  }
  int64_t steps_of(int64_t distance) const {
    return step == 1 ? distance : (distance + step - 1) / step;
  }
  int64_t first;
  int64_t step;
  int64_t count = 0;
};

// Places within the scratch, in floats.
struct PlaneRoom {
  PlaneRoom(const PoolWindow& w, int64_t lanes)
      : in((w.in_points() + lanes - 1) / lanes * lanes * lanes),
        line(w.in[2] * lanes),
        out((w.out_points() + lanes - 1) / lanes * lanes * lanes) {}
  int64_t floats() const { return in + line + out; }

  int64_t in;
  int64_t line;
  int64_t out;
};

template <typename Fold>
class PlanePool {
 public:
  explicit PlanePool(const PoolLines& lines)
      : p_(lines),
        w_(lines.w),
        in_(lines.scratch),
        line_(in_ + PlaneRoom(w_, kVectorFloats).in),
        out_(line_ + PlaneRoom(w_, kVectorFloats).line) {}

  void run(int64_t begin, int64_t end) const {
    for (int64_t first = begin; first < end; first += kVectorFloats) {
      const int64_t planes = std::min<int64_t>(kVectorFloats, end - first);
      turn_in(p_.in + first * w_.in_points(), planes);
      int64_t line = 0;
      for (int64_t z = 0; z < w_.out[0]; ++z) {
        for (int64_t y = 0; y < w_.out[1]; ++y, ++line) {
          fold_lines(Reach(w_, 0, z), Reach(w_, 1, y));
          fold_taps(line);
        }
      }
      planes_of_lanes(out_, w_.out_points(), planes, p_.out + first * w_.out_points());
    }
  }

 private:
  void turn_in(const float* planes, int64_t count) const {
    const int64_t points = w_.in_points();
    FloatVector square[kVectorFloats] = {};
    for (int64_t at = 0; at < points; at += kVectorFloats) {
      for (int64_t i = 0; i < count; ++i)
        square[i] = load_columns(planes + i * points + at, points - at);
      transpose(square);
      for (int i = 0; i < kVectorFloats; ++i)
        store_vector(in_ + (at + i) * kVectorFloats, square[i]);
    }
  }

  void fold_lines(const Reach& depths, const Reach& heights) const {
    for (int64_t x = 0; x < w_.in[2]; ++x) {
      FloatVector folded = Fold::identity() - FloatVector{};
      for (int64_t z = 0; z < depths.count; ++z) {
        const int64_t depth = (depths.first + z * depths.step) * w_.in[1] + heights.first;
        const float* from = in_ + (depth * w_.in[2] + x) * kVectorFloats;
        for (int64_t y = 0; y < heights.count; ++y)
          folded =
              Fold::apply(load_vector(from + y * heights.step * w_.in[2] * kVectorFloats), folded);
      }
      store_vector(line_ + x * kVectorFloats, folded);
    }
  }

  void fold_taps(int64_t line) const {
    for (int64_t x = 0; x < w_.out[2]; ++x) {
      const Reach widths(w_, 2, x);
      FloatVector folded = Fold::identity() - FloatVector{};
      for (int64_t k = 0; k < widths.count; ++k)
        folded = Fold::apply(load_vector(line_ + (widths.first + k * widths.step) * kVectorFloats),
                             folded);
      store_vector(out_ + (line * w_.out[2] + x) * kVectorFloats,
                   Fold::finish_planes(folded, Fold::divisors(p_, line), x));
    }
  }

  const PoolLines& p_;
  const PoolWindow& w_;
  float* const in_;
  float* const line_;
  float* const out_;
};

template <typename Fold>
void run_planes(const PoolLines& lines, int64_t begin, int64_t end) {
  PlanePool<Fold>(lines).run(begin, end);
}

}  // namespace
}  // namespace tierup::kernels
