#include "tierup/kernels/vision/resample_taps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tierup/base/interrupt.h"

namespace tierup::kernels {
namespace {

// Output positions between two questions whether to stop.
constexpr int64_t kUnasked = 1 << 16;

template <typename T>
T plain_scale(const ResampleDimension& d) {
  if (d.scale && *d.scale > 0) return static_cast<T>(1.0 / *d.scale);
  return static_cast<T>(d.in) / static_cast<T>(d.out);
}

template <typename T>
T pixel_scale(const ResampleDimension& d, bool align_corners) {
  if (!align_corners) return plain_scale<T>(d);
  return d.out > 1 ? static_cast<T>(d.in - 1) / static_cast<T>(d.out - 1) : T{0};
}

// At most the input's end, which a caller's scale factor may be far beyond.
template <typename T>
T source_position(const ResampleDimension& d, T scale, int64_t i, bool align_corners,
                  bool may_be_negative) {
  if (align_corners) return scale * static_cast<T>(i);
  const T position = std::min(scale * (static_cast<T>(i) + T{0.5}) - T{0.5}, static_cast<T>(d.in));
  return position < T{0} && !may_be_negative ? T{0} : position;
}

ResampleTaps nearest_taps(const ResampleDimension& d, bool exact) {
  ResampleTaps taps;
  const auto scale = plain_scale<float>(d);
  for (int64_t i = 0; i < d.out; ++i) {
    if (i % kUnasked == 0) poll_interrupt();
    int64_t at = 0;
    if (!exact && d.out == d.in) {
      at = i;
    } else if (!exact && d.out == 2 * d.in) {
      at = i / 2;
    } else {
      const float position =
          exact ? (static_cast<float>(i) + 0.5F) * scale : static_cast<float>(i) * scale;
      at = static_cast<int64_t>(std::floor(position));
    }
    taps.index.push_back(std::clamp<int64_t>(at, 0, d.in - 1));
    taps.weight.push_back(1);
  }
  return taps;
}

template <typename T>
ResampleTaps linear_taps(const ResampleDimension& d, bool align_corners) {
  ResampleTaps taps;
  taps.count = 2;
  const T scale = pixel_scale<T>(d, align_corners);
  for (int64_t i = 0; i < d.out; ++i) {
    if (i % kUnasked == 0) poll_interrupt();
    if (d.in == d.out) {
      taps.index.insert(taps.index.end(), {i, i});
      taps.weight.insert(taps.weight.end(), {1.0, 0.0});
      continue;
    }
    const T position = source_position(d, scale, i, align_corners, false);
    const int64_t first = std::min(static_cast<int64_t>(position), d.in - 1);
    const int64_t second = first + (first < d.in - 1 ? 1 : 0);
    const T part = std::clamp(position - static_cast<T>(first), T{0}, T{1});
    taps.index.insert(taps.index.end(), {first, second});
    taps.weight.insert(taps.weight.end(),
                       {static_cast<double>(T{1} - part), static_cast<double>(part)});
  }
  return taps;
}

// Keys' cubic convolution with parameter a, inside and outside of distance 1.
template <typename T>
T cubic_near(T x, T a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <typename T>
T cubic_far(T x, T a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <typename T>
ResampleTaps cubic_taps(const ResampleDimension& d, bool align_corners) {
  ResampleTaps taps;
  taps.count = 4;
  const T scale = pixel_scale<T>(d, align_corners);
  const T a = static_cast<T>(-0.75);
  for (int64_t i = 0; i < d.out; ++i) {
    if (i % kUnasked == 0) poll_interrupt();
    const T position = source_position(d, scale, i, align_corners, true);
    const int64_t base = std::min(static_cast<int64_t>(std::floor(position)), d.in - 1);
    const T part = std::clamp(position - static_cast<T>(base), T{0}, T{1});
    const T weights[4] = {cubic_far(part + 1, a), cubic_near(part, a), cubic_near(1 - part, a),
                          cubic_far(2 - part, a)};
    for (int64_t k = 0; k < 4; ++k) {
      taps.index.push_back(std::clamp<int64_t>(base - 1 + k, 0, d.in - 1));
      taps.weight.push_back(static_cast<double>(weights[k]));
    }
  }
  return taps;
}

template <typename T>
T sinc(T x) {
  if (x == 0) return 1;
  const T y = static_cast<T>(M_PI) * x;
  return std::sin(y) / y;
}

template <typename T>
T filter_value(FilterKind filter, T x) {
  x = std::abs(x);
  switch (filter) {
    case FilterKind::kTriangle: return x < 1 ? 1 - x : T{0};
    case FilterKind::kCubic:
      if (x < 1) return cubic_near(x, static_cast<T>(-0.5));
      return x < 2 ? cubic_far(x, static_cast<T>(-0.5)) : T{0};
    case FilterKind::kLanczos3: return x < 3 ? sinc(x) * sinc(x / 3) : T{0};
  }
  return 0;
}

template <typename T>
ResampleTaps filter_taps(const ResampleDimension& d, FilterKind filter, bool align_corners) {
  const T scale = pixel_scale<T>(d, align_corners);
  const int64_t size = filter == FilterKind::kTriangle ? 2 : filter == FilterKind::kCubic ? 4 : 6;
  const T support = static_cast<T>(size) * T{0.5} * (scale >= 1 ? scale : T{1});
  const T inverse = scale >= 1 ? 1 / scale : T{1};
  ResampleTaps taps;
  taps.count = std::min(static_cast<int64_t>(std::ceil(support)) * 2 + 1, d.in);
  taps.index.assign(static_cast<size_t>(d.out * taps.count), 0);
  taps.weight.assign(static_cast<size_t>(d.out * taps.count), 0.0);
  for (int64_t i = 0; i < d.out; ++i) {
    if (i % kUnasked == 0) poll_interrupt();
    const T center = scale * (static_cast<T>(i) + T{0.5});
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + T{0.5}), 0);
    const int64_t last = std::min(static_cast<int64_t>(center + support + T{0.5}), d.in);
    const int64_t count = std::clamp<int64_t>(last - first, 0, taps.count);
    T total = 0;  // In T, weights too: which way a tie is rounded later hangs on it.
    for (int64_t k = 0; k < count; ++k) {
      const auto at = static_cast<size_t>(i * taps.count + k);
      taps.index[at] = first + k;
      const T weight =
          filter_value(filter, (static_cast<T>(first + k) - center + T{0.5}) * inverse);
      taps.weight[at] = static_cast<double>(weight);
      total += weight;
    }
    for (int64_t k = 0; k < count && total != 0; ++k) {
      double& weight = taps.weight[static_cast<size_t>(i * taps.count + k)];
      weight = static_cast<double>(static_cast<T>(weight) / total);
    }
  }
  return taps;
}

}  // namespace

ResampleTaps resample_taps(const ResampleDimension& d, ResampleMode mode, bool align_corners,
                           bool in_double) {
  switch (mode) {
    case ResampleMode::kNearest: return nearest_taps(d, false);
    case ResampleMode::kNearestExact: return nearest_taps(d, true);
    case ResampleMode::kLinear:
      return in_double ? linear_taps<double>(d, align_corners)
                       : linear_taps<float>(d, align_corners);
    case ResampleMode::kCubic:
      return in_double ? cubic_taps<double>(d, align_corners) : cubic_taps<float>(d, align_corners);
  }
  return {};
}

ResampleTaps antialias_taps(const ResampleDimension& d, FilterKind filter, bool align_corners,
                            bool in_double) {
  return in_double ? filter_taps<double>(d, filter, align_corners)
                   : filter_taps<float>(d, filter, align_corners);
}

FixedTaps fixed_taps(const ResampleTaps& taps) {
  FixedTaps fixed{taps.count, taps.index, {}, 0};
  std::vector<double> weight = taps.weight;
  for (size_t first = 0; first < weight.size(); first += static_cast<size_t>(taps.count)) {
    for (size_t k = first; k < first + static_cast<size_t>(taps.count); ++k) {
      const auto begin = taps.index.begin() + static_cast<std::ptrdiff_t>(first);
      const auto same = static_cast<size_t>(std::find(begin, taps.index.end(), taps.index[k]) -
                                            taps.index.begin());
      if (same != k) weight[same] += std::exchange(weight[k], 0.0);
    }
  }
  const double largest = weight.empty() ? 0 : *std::max_element(weight.begin(), weight.end());
  while (fixed.shift < 22 && std::floor(0.5 + std::ldexp(largest, fixed.shift + 1)) < 32768)
    ++fixed.shift;
  for (const double w : weight) {
    const double scaled = std::ldexp(w, fixed.shift);
    fixed.weight.push_back(static_cast<int32_t>(w < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  return fixed;
}

}  // namespace tierup::kernels
