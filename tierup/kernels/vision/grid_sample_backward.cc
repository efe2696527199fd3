// Along each dimension a sample is a sum over taps: input positions with a weight and the weight's
// derivative by the grid's number. The tensor product of these gives the input's gradient, the one
// with one factor exchanged for its derivative the grid's.
#include "tierup/kernels/vision/grid_sample_backward.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };
enum Mode : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };

struct Sampler {
  size_t rank = 2;
  int64_t channels = 1;
  std::array<int64_t, 3> size{1, 1, 1};  // x, y, z.
  int64_t in_points = 1;
  int64_t out_points = 1;
  int64_t mode = kLinear;
  int64_t padding = kZeros;
  bool align_corners = false;
};

// A coordinate and its derivative by what it was made of.
template <typename T>
struct Coordinate {
  T at;
  T slope;
};

template <typename T>
Coordinate<T> unnormalized(T x, int64_t size, bool align_corners) {
  const T extent = static_cast<T>(size);
  if (align_corners) return {(x + 1) / 2 * (extent - 1), (extent - 1) / 2};
  return {((x + 1) * extent - 1) / 2, extent / 2};
}

// The ends themselves count as outside.
template <typename T>
Coordinate<T> clipped(Coordinate<T> c, int64_t size) {
  const T limit = static_cast<T>(size - 1);
  if (!(c.at > 0)) return {T{0}, T{0}};
  if (c.at >= limit) return {limit, T{0}};
  return c;
}

template <typename T>
Coordinate<T> reflected(Coordinate<T> c, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return {T{0}, T{0}};
  const T low = static_cast<T>(twice_low) / 2;
  const T span = static_cast<T>(twice_high - twice_low) / 2;
  T distance = c.at - low;
  T sign = 1;
  if (distance < 0) {
    distance = -distance;
    sign = -1;
  }
  const T extra = std::fmod(distance, span);
  const bool even = std::fmod(std::floor(distance / span), T{2}) == T{0};
  if (even) return {extra + low, sign * c.slope};
  return {span - extra + low, -sign * c.slope};
}

template <typename T>
Coordinate<T> padded(const Sampler& s, Coordinate<T> c, int64_t size) {
  if (s.padding == kZeros) return c;
  if (s.padding == kBorder) return clipped(c, size);
  return clipped(s.align_corners ? reflected(c, 0, 2 * (size - 1)) : reflected(c, -1, 2 * size - 1),
                 size);
}

template <typename T>
int64_t index_of(T x, int64_t size) {
  return x >= 0 && x < static_cast<T>(size) ? static_cast<int64_t>(x) : -1;
}

constexpr size_t kMaxTaps = 4;

template <typename T>
struct Taps {
  size_t count = 0;
  std::array<int64_t, kMaxTaps> index{};  // -1 outside.
  std::array<T, kMaxTaps> weight{};
  std::array<T, kMaxTaps> slope{};
  void add(int64_t at, T w, T by) {
    index[count] = at;
    weight[count] = w;
    slope[count++] = by;
  }
};

// Keys' cubic convolution with parameter -0.75, within distance 1 and up to 2.
template <typename T>
struct Cubic {
  static constexpr T kA = static_cast<T>(-0.75);
  static T near(T x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; }
  static T far(T x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; }
  static T near_slope(T x) { return (3 * (kA + 2) * x - 2 * (kA + 3)) * x; }
  static T far_slope(T x) { return (3 * kA * x - 10 * kA) * x + 8 * kA; }
};

template <typename T>
Taps<T> taps_along(const Sampler& s, size_t d, T position) {
  const int64_t size = s.size[d];
  const Coordinate<T> raw = unnormalized(position, size, s.align_corners);
  Taps<T> taps;
  if (s.mode == kCubic) {
    const T low = std::floor(raw.at);
    const T t = raw.at - low;
    const T weights[4] = {Cubic<T>::far(t + 1), Cubic<T>::near(t), Cubic<T>::near(1 - t),
                          Cubic<T>::far(2 - t)};
    const T slopes[4] = {Cubic<T>::far_slope(t + 1), Cubic<T>::near_slope(t),
                         -Cubic<T>::near_slope(1 - t), -Cubic<T>::far_slope(2 - t)};
    for (int k = 0; k < 4; ++k) {
      const Coordinate<T> at = padded(s, Coordinate<T>{low - 1 + static_cast<T>(k), T{1}}, size);
      taps.add(index_of(at.at, size), weights[k], slopes[k] * raw.slope);
    }
    return taps;
  }
  const Coordinate<T> c = padded(s, raw, size);
  if (s.mode == kNearest) {
    taps.add(index_of(std::nearbyint(c.at), size), T{1}, T{0});
    return taps;
  }
  const T low = std::floor(c.at);
  taps.add(index_of(low, size), 1 - (c.at - low), -c.slope);
  taps.add(index_of(low + 1, size), c.at - low, c.slope);
  return taps;
}

// One sample: its taps in all dimensions, dimensions that are not there having one of weight 1.
template <typename T>
struct Sample {
  std::array<Taps<T>, 3> taps;
  Sample(const Sampler& s, const T* position) {
    for (size_t d = 0; d < 3; ++d) {
      if (d < s.rank)
        taps[d] = taps_along(s, d, position[d]);
      else
        taps[d].add(0, T{1}, T{0});
    }
  }
  // Calls body(offset in the plane, index of the tap in each dimension) for taps inside.
  template <typename Body>
  void for_each(const Sampler& s, const Body& body) const {
    for (size_t k = 0; k < taps[2].count; ++k) {
      for (size_t j = 0; j < taps[1].count; ++j) {
        for (size_t i = 0; i < taps[0].count; ++i) {
          if (taps[2].index[k] < 0 || taps[1].index[j] < 0 || taps[0].index[i] < 0) continue;
          const int64_t at =
              (taps[2].index[k] * s.size[1] + taps[1].index[j]) * s.size[0] + taps[0].index[i];
          body(at, std::array<size_t, 3>{i, j, k});
        }
      }
    }
  }
};

// One image of the batch; images are independent of each other.
template <typename T>
void sample_backward(const Sampler& s, const T* grad, const T* input, const T* grid, T* to_input,
                     T* to_grid) {
  for (int64_t p = 0; p < s.out_points; ++p) {
    const Sample<T> sample(s, grid + p * static_cast<int64_t>(s.rank));
    std::array<T, 3> slope{};
    sample.for_each(s, [&](int64_t at, const std::array<size_t, 3>& tap) {
      const auto& [x, y, z] = sample.taps;
      const T weight = x.weight[tap[0]] * y.weight[tap[1]] * z.weight[tap[2]];
      T along = 0;  // Sum over channels of gradient times input here.
      for (int64_t c = 0; c < s.channels; ++c) {
        const T g = grad[c * s.out_points + p];
        if (to_input != nullptr) to_input[c * s.in_points + at] += g * weight;
        along += g * input[c * s.in_points + at];
      }
      slope[0] += along * x.slope[tap[0]] * y.weight[tap[1]] * z.weight[tap[2]];
      slope[1] += along * x.weight[tap[0]] * y.slope[tap[1]] * z.weight[tap[2]];
      slope[2] += along * x.weight[tap[0]] * y.weight[tap[1]] * z.slope[tap[2]];
    });
    if (to_grid == nullptr) continue;
    for (size_t d = 0; d < s.rank; ++d) to_grid[p * static_cast<int64_t>(s.rank) + d] = slope[d];
  }
}

Sampler sampler_of(const Tensor& grad, const Tensor& input, const Tensor& grid) {
  const bool ranks = (input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim() &&
                     grad.dim() == input.dim();
  bool fits = ranks && grid.size(-1) == input.dim() - 2 && grid.size(0) == input.size(0) &&
              grad.size(0) == input.size(0) && grad.size(1) == input.size(1);
  Sampler s;
  for (int64_t d = 0; fits && d < input.dim() - 2; ++d) {
    fits = grad.size(d + 2) == grid.size(d + 1) && input.size(d + 2) > 0;
    s.size[static_cast<size_t>(input.dim() - 3 - d)] = input.size(d + 2);
    s.in_points *= input.size(d + 2);
    s.out_points *= grid.size(d + 1);
  }
  if (!fits) {
    fail(kBad, "grid_sampler_backward(): gradient {}, input {} and grid {} do not fit each other",
         shape_string(grad.sizes()), shape_string(input.sizes()), shape_string(grid.sizes()));
  }
  s.rank = static_cast<size_t>(input.dim() - 2);
  s.channels = input.size(1);
  return s;
}

}  // namespace

std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& grad, const Tensor& input,
                                                 const Tensor& grid, int64_t interpolation_mode,
                                                 int64_t padding_mode, bool align_corners,
                                                 const std::vector<bool>& output_mask) {
  Sampler s = sampler_of(grad, input, grid);
  require(interpolation_mode >= 0 && interpolation_mode <= 2, kBad,
          "grid_sampler(): unknown interpolation mode {}", interpolation_mode);
  require(padding_mode >= 0 && padding_mode <= 2, kBad, "grid_sampler(): unknown padding mode {}",
          padding_mode);
  require(output_mask.size() == 2, kBad, "output_mask must have 2 entries, but has {}",
          output_mask.size());
  s.mode = interpolation_mode;
  s.padding = padding_mode;
  s.align_corners = align_corners;
  const ScalarType work = work_type(input.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor x = as_work(input, work);
  const Tensor points = as_work(grid, work);
  Tensor to_input = output_mask[0] ? Tensor::empty(input.sizes(), work) : Tensor();
  Tensor to_grid = output_mask[1] ? Tensor::empty(grid.sizes(), work) : Tensor();
  if (to_input.defined()) fill(to_input, 0);
  dispatch_work(work, "grid_sampler_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    parallel_for(0, input.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t image = n * s.channels * s.in_points;
        const int64_t place = n * s.out_points * static_cast<int64_t>(s.rank);
        sample_backward<T>(s, g.data<T>() + n * s.channels * s.out_points, x.data<T>() + image,
                           points.data<T>() + place,
                           to_input.defined() ? to_input.data<T>() + image : nullptr,
                           to_grid.defined() ? to_grid.data<T>() + place : nullptr);
      }
    });
  });
  if (to_input.defined()) to_input = to_dtype(to_input, input.dtype());
  if (to_grid.defined()) to_grid = to_dtype(to_grid, grid.dtype());
  return {to_input, to_grid};
}

}  // namespace tierup::kernels
