#include "tierup/kernels/vision/grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <type_traits>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/scratch.h"
#include "tierup/kernels/vision/grid_places.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Sampler {
  int64_t rank = 2;
  int64_t channels = 1;
  std::array<int64_t, 3> in{1, 1, 1};
  int64_t in_points = 1;
  int64_t out_points = 1;
  int64_t padding = kZeros;
  bool align_corners = false;
};

template <typename T>
T unnormalize(T x, int64_t size, bool align_corners) {
  const T extent = static_cast<T>(size);
  return align_corners ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2;
}

// Folds a coordinate back at low / 2 and high / 2.
template <typename T>
T reflect(T x, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return 0;
  const T low = static_cast<T>(twice_low) / 2;
  const T span = static_cast<T>(twice_high - twice_low) / 2;
  const T distance = std::abs(x - low);
  if (distance < span) return distance + low;  // Most coordinates: folded once at most.
  const T extra = std::fmod(distance, span);
  const bool even = std::fmod(std::floor(distance / span), T{2}) == T{0};
  return even ? extra + low : span - extra + low;
}

template <typename T>
T clip(T x, int64_t size) {
  // Not a number goes to 0, too.
  const T limit = static_cast<T>(size - 1);
  return x > 0 ? std::min(x, limit) : T{0};
}

// The coordinate that padding makes of one; may stay outside with zeros.
template <typename T>
T padded(T x, int64_t size, const Sampler& s) {
  if (s.padding == kBorder) return clip(x, size);
  if (s.padding == kReflection) {
    const T folded = s.align_corners ? reflect(x, 0, 2 * (size - 1)) : reflect(x, -1, 2 * size - 1);
    return clip(folded, size);
  }
  return x;
}

// A coordinate as an index, or -1 outside; huge and undefined ones must not overflow.
template <typename T>
int64_t index_of(T x, int64_t size) {
  return x >= 0 && x < static_cast<T>(size) ? static_cast<int64_t>(x) : -1;
}

// The index next to x, of two the even one; -1 outside. Which one is no branch: processors could
// not foretell it.
template <typename T>
int64_t nearest_index(T x, int64_t size) {
  if (!(x > T{-1} && x < static_cast<T>(size))) return -1;
  const auto whole = static_cast<int64_t>(x);
  const T part = x - static_cast<T>(whole);
  const T half = static_cast<T>(0.5);
  const bool is_odd = (whole & 1) != 0;
  const auto above = static_cast<int64_t>((part > half) | ((part == half) & is_odd));
  const int64_t next = whole + above - static_cast<int64_t>(part < -half);
  return next < size ? next : -1;
}

// The points of the input that one of the result is made of, kMost at most.
template <typename T, int kMost>
struct Taps {
  int64_t count = 0;
  int64_t offset[kMost];
  T weight[kMost];
  void add(int64_t at, T w) {
    offset[count] = at;
    weight[count++] = w;
  }
};

// Position p[0] is x, p[1] y, p[2] z.
template <typename T>
Taps<T, 8> linear_taps(const Sampler& s, const T* p) {
  T low[3] = {};
  T part[3] = {};
  for (int64_t d = 0; d < s.rank; ++d) {
    const int64_t size = s.in[static_cast<size_t>(2 - d)];
    const T x = padded(unnormalize(p[d], size, s.align_corners), size, s);
    low[d] = std::floor(x);
    part[d] = x - low[d];
  }
  Taps<T, 8> taps;
  for (int corner = 0; corner < (1 << s.rank); ++corner) {
    T weight = 1;
    int64_t offset = 0;
    int64_t stride = 1;
    bool inside = true;
    for (int64_t d = 0; d < s.rank; ++d) {
      const bool upper = ((corner >> d) & 1) != 0;
      const int64_t size = s.in[static_cast<size_t>(2 - d)];
      const int64_t at = index_of(low[d] + (upper ? T{1} : T{0}), size);
      inside = inside && at >= 0;
      offset += at * stride;
      stride *= size;
      weight *= upper ? part[d] : 1 - part[d];
    }
    if (inside) taps.add(offset, weight);
  }
  return taps;
}

// The index at or below x; below zero and above the size, some that lies outside as well.
template <typename T>
int64_t index_below(T x, int64_t size) {
  if (!(x > T{-1} - T{1} && x < static_cast<T>(size))) return -2;
  const auto whole = static_cast<int64_t>(x);
  return static_cast<T>(whole) > x ? whole - 1 : whole;
}

// One dimension of the four points around a place.
template <typename T>
struct Neighbours {
  Neighbours(const Sampler& s, T position, size_t d) : size(s.in[d]) {
    const T x = padded(unnormalize(position, size, s.align_corners), size, s);
    low = index_below(x, size);
    part = x - static_cast<T>(low);
  }
  bool has_low() const { return low >= 0; }
  bool has_high() const { return low >= -1 && low + 1 < size; }
  int64_t size;
  int64_t low;
  T part;  // From the lower one.
};

// linear_taps of images, which most are.
template <typename T>
Taps<T, 4> bilinear_taps(const Sampler& s, const T* p) {
  const Neighbours<T> x(s, p[0], 2);
  const Neighbours<T> y(s, p[1], 1);
  const int64_t corner = y.low * x.size + x.low;
  Taps<T, 4> taps;
  if (x.has_low() && y.has_low()) taps.add(corner, (1 - x.part) * (1 - y.part));
  if (x.has_high() && y.has_low()) taps.add(corner + 1, x.part * (1 - y.part));
  if (x.has_low() && y.has_high()) taps.add(corner + x.size, (1 - x.part) * y.part);
  if (x.has_high() && y.has_high()) taps.add(corner + x.size + 1, x.part * y.part);
  return taps;
}

template <typename T>
Taps<T, 1> nearest_taps(const Sampler& s, const T* p) {
  Taps<T, 1> taps;
  int64_t offset = 0;
  int64_t stride = 1;
  for (int64_t d = 0; d < s.rank; ++d) {
    const int64_t size = s.in[static_cast<size_t>(2 - d)];
    const T x = padded(unnormalize(p[d], size, s.align_corners), size, s);
    const int64_t at = nearest_index(x, size);
    if (at < 0) return taps;
    offset += at * stride;
    stride *= size;
  }
  taps.add(offset, 1);
  return taps;
}

template <typename T>
std::array<T, 4> cubic_weights(T t) {
  const T a = static_cast<T>(-0.75);
  const auto near = [a](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// kMost: 16, in three dimensions 64.
template <typename T, int kMost>
Taps<T, kMost> cubic_taps(const Sampler& s, const T* p) {
  constexpr int64_t kReach = 4;
  std::array<std::array<T, kReach>, 3> weight{};
  std::array<std::array<int64_t, kReach>, 3> offset{};
  int64_t stride = 1;
  for (size_t d = 0; d < static_cast<size_t>(s.rank); ++d) {
    const int64_t size = s.in[2 - d];
    const T x = unnormalize(p[d], size, s.align_corners);
    const T low = std::floor(x);
    weight[d] = cubic_weights(x - low);
    for (size_t i = 0; i < kReach; ++i) {
      const int64_t at = index_of(padded(low - 1 + static_cast<T>(i), size, s), size);
      offset[d][i] = at < 0 ? -1 : at * stride;
    }
    stride *= size;
  }
  if (s.rank == 2) weight[2][0] = 1;
  Taps<T, kMost> taps;
  for (size_t k = 0; k < (s.rank == 2 ? 1 : kReach); ++k) {
    for (size_t i = 0; i < kReach; ++i) {
      for (size_t j = 0; j < kReach; ++j) {
        if (offset[2][k] < 0 || offset[1][i] < 0 || offset[0][j] < 0) continue;
        taps.add(offset[2][k] + offset[1][i] + offset[0][j],
                 weight[2][k] * weight[1][i] * weight[0][j]);
      }
    }
  }
  return taps;
}

// One point of a plane.
template <typename T, int kMost>
T sum_taps(const Taps<T, kMost>& taps, const T* plane) {
  T sum = 0;
  if (taps.count == kMost) {
    for (int k = 0; k < kMost; ++k) sum += plane[taps.offset[k]] * taps.weight[k];
  } else {
    for (int64_t k = 0; k < taps.count; ++k) sum += plane[taps.offset[k]] * taps.weight[k];
  }
  return sum;
}

// A block says which points of an image each of some places is made of: find(grid, count) is asked
// once, and sample(plane, count, out) for each channel. It lies in the thread's scratch memory.
template <typename T, typename TapsAt>
class TapsBlock {
 public:
  using PointTaps = std::invoke_result_t<TapsAt, const Sampler&, const T*>;
  static constexpr int64_t kPointBytes = sizeof(PointTaps);
  TapsBlock(const Sampler& s, int64_t most, TapsAt taps_at)
      : s_(s),
        taps_at_(taps_at),
        taps_(static_cast<PointTaps*>(thread_scratch(static_cast<size_t>(most * kPointBytes)))) {}

  void find(const T* grid, int64_t count) {
    for (int64_t i = 0; i < count; ++i) new (taps_ + i) PointTaps(taps_at_(s_, grid + i * s_.rank));
  }
  void sample(const T* plane, int64_t count, T* out) const {
    for (int64_t i = 0; i < count; ++i) out[i] = sum_taps(taps_[i], plane);
  }

 private:
  const Sampler& s_;
  TapsAt taps_at_;
  PointTaps* const taps_;
  static_assert(std::is_trivially_destructible_v<PointTaps>);
};

// The same of images of floats, by vectors.
class VectorBlock {
 public:
  VectorBlock(const Sampler& s, int64_t most, const GridLoops& loops)
      : image_{s.in[2], s.in[1], static_cast<GridPadding>(s.padding), s.align_corners},
        loops_(loops),
        groups_(thread_scratch(static_cast<size_t>((most + loops.group_points - 1) /
                                                   loops.group_points * loops.group_bytes))) {}

  void find(const float* grid, int64_t count) { loops_.find(image_, grid, count, groups_); }
  void sample(const float* plane, int64_t count, float* out) const {
    loops_.sample(image_, plane, groups_, count, out);
  }

 private:
  const GridImage image_;
  const GridLoops& loops_;
  void* const groups_;
};

// Block by block, each channel by channel: a plane stays in a cache.
template <typename Block, typename T, typename How>
void sample_by(const Sampler& s, int64_t batch, const T* input, const T* grid, T* out,
               int64_t point_bytes, const How& how) {
  // The taps of a block have half of the second level, planes the other.
  const int64_t most = std::max<int64_t>(1, cache_sizes().second_level / 2 / point_bytes);
  const int64_t grain = grain_of(4 * s.channels);
  parallel_for(0, batch * s.out_points, grain, [&](int64_t begin, int64_t end) {
    Block block(s, std::min(most, end - begin), how);
    while (begin < end) {
      const int64_t first = begin % s.out_points;
      const int64_t count = std::min({most, s.out_points - first, end - begin});
      block.find(grid + begin * s.rank, count);
      const int64_t image = begin / s.out_points * s.channels;
      for (int64_t c = image; c < image + s.channels; ++c)
        block.sample(input + c * s.in_points, count, out + c * s.out_points + first);
      begin += count;
    }
  });
}

template <typename T>
void sample(const Sampler& s, int64_t batch, int64_t mode, const T* input, const T* grid, T* out) {
  const auto by = [&](auto* taps_at) {
    using Block = TapsBlock<T, decltype(taps_at)>;
    sample_by<Block>(s, batch, input, grid, out, Block::kPointBytes, taps_at);
  };
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t kMostPoints = std::numeric_limits<int32_t>::max();
    if (s.rank == 2 && s.in_points <= kMostPoints) {
      const GridLoopsByMode all = grid_loops();
      const GridLoops& loops = mode == 0 ? all.linear : mode == 1 ? all.nearest : all.cubic;
      return sample_by<VectorBlock>(s, batch, input, grid, out,
                                    loops.group_bytes / loops.group_points, loops);
    }
  }
  if (mode == 1) return by(&nearest_taps<T>);
  if (mode == 2) return s.rank == 2 ? by(&cubic_taps<T, 16>) : by(&cubic_taps<T, 64>);
  return s.rank == 2 ? by(&bilinear_taps<T>) : by(&linear_taps<T>);
}

}  // namespace

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners) {
  if (!((input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim())) {
    fail(kBad,
         "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
         "got input with sizes {} "
         "and grid with sizes {}",
         shape_string(input.sizes()), shape_string(grid.sizes()));
  }
  Sampler s;
  s.rank = input.dim() - 2;
  require(input.dtype() == grid.dtype(), kBad,
          "grid_sampler(): expected input and grid to have same dtype, but input has {} and grid "
          "has {}",
          scalar_type_name(input.dtype()), scalar_type_name(grid.dtype()));
  if (input.size(0) != grid.size(0)) {
    fail(kBad,
         "grid_sampler(): expected grid and input to have same batch size, but got input with "
         "sizes {} and grid with sizes {}",
         shape_string(input.sizes()), shape_string(grid.sizes()));
  }
  if (grid.size(-1) != s.rank) {
    fail(kBad,
         "grid_sampler(): expected grid to have size {} in last dimension, but got grid with sizes "
         "{}",
         s.rank, shape_string(grid.sizes()));
  }
  require(interpolation_mode >= 0 && interpolation_mode <= 2, kBad,
          "grid_sampler(): unknown interpolation mode {}", interpolation_mode);
  require(padding_mode >= 0 && padding_mode <= 2, kBad, "grid_sampler(): unknown padding mode {}",
          padding_mode);
  s.channels = input.size(1);
  s.padding = padding_mode;
  s.align_corners = align_corners;
  IntVector sizes{input.size(0), s.channels};
  for (int64_t d = 0; d < s.rank; ++d) {
    const int64_t size = input.size(d + 2);
    if (!(size > 0)) {
      fail(kBad,
           "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
           "sizes {}",
           shape_string(input.sizes()));
    }
    s.in[static_cast<size_t>(3 - s.rank + d)] = size;
    s.in_points *= size;
    sizes.push_back(grid.size(d + 1));
    s.out_points *= grid.size(d + 1);
  }
  const ScalarType work = work_type(input.dtype());
  const Tensor image = as_work(input, work);
  const Tensor points = as_work(grid, work);
  const Tensor out = Tensor::empty(sizes, work);
  dispatch_work(work, "grid_sampler", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (out.numel() > 0)
      sample<T>(s, input.size(0), interpolation_mode, image.data<T>(), points.data<T>(),
                out.data<T>());
  });
  return contiguous(to_dtype(out, input.dtype()), input.suggest_memory_format());
}

}  // namespace tierup::kernels
