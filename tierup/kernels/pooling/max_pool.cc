#include "tierup/kernels/pooling/max_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/pooling/ordered_work.h"
#include "tierup/kernels/pooling/pool_lines.h"
#include "tierup/kernels/pooling/pooling_window.h"
#include "tierup/kernels/pooling/window_maxima.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

template <typename T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}
template <typename T>
inline bool beats(T value, T best) {
  if constexpr (std::is_floating_point_v<T>) return value > best || value != value;
  return value > best;
}

// Positions of one dimension that a window covers: first, step and count, clipped to the input.
struct Reach {
  int64_t first;
  int64_t step;
  int64_t last;  // One past.
};
using Reaches = std::array<Reach, 3>;

Reach reach_of(const PoolWindow& w, size_t d, int64_t index) {
  int64_t first = index * w.stride[d] - w.padding[d];
  const int64_t last = std::min(first + (w.kernel[d] - 1) * w.dilation[d] + 1, w.in[d]);
  if (first < 0) first += (-first + w.dilation[d] - 1) / w.dilation[d] * w.dilation[d];
  return {first, w.dilation[d], last};
}

Reach adaptive_reach(const PoolWindow& w, size_t d, int64_t index) {
  const int64_t first = index * w.in[d] / w.out[d];
  return {first, 1, ((index + 1) * w.in[d] + w.out[d] - 1) / w.out[d]};
}

template <typename T>
void max_of_window(const PoolWindow& w, const Reaches& r, const T* plane, T* value,
                   int64_t* index) {
  T best = lowest<T>();
  int64_t found = (r[0].first * w.in[1] + r[1].first) * w.in[2] + r[2].first;
  for (int64_t z = r[0].first; z < r[0].last; z += r[0].step) {
    for (int64_t y = r[1].first; y < r[1].last; y += r[1].step) {
      const int64_t line = (z * w.in[1] + y) * w.in[2];
      for (int64_t x = r[2].first; x < r[2].last; x += r[2].step) {
        if (!beats(plane[line + x], best)) continue;
        best = plane[line + x];
        found = line + x;
      }
    }
  }
  *value = best;
  *index = found;
}

// reach(plane, dimension, output index) says which positions a window covers.
template <typename T, typename ReachOf>
void pool_with_indices(const PoolWindow& w, const T* in, T* out, int64_t* indices,
                       const ReachOf& reach) {
  const int64_t grain = grain_of(4 * w.out_points());
  parallel_for(0, w.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t at = p * w.out_points();
      Reaches r;
      for (int64_t z = 0; z < w.out[0]; ++z) {
        r[0] = reach(p, 0, z);
        for (int64_t y = 0; y < w.out[1]; ++y) {
          r[1] = reach(p, 1, y);
          for (int64_t x = 0; x < w.out[2]; ++x, ++at) {
            r[2] = reach(p, 2, x);
            max_of_window(w, r, in + p * w.in_points(), out + at, indices + at);
          }
        }
      }
    }
  });
}

// Output points of a plane, apart by whether a window lies wholly inside of the input: the taps of
// those stand at the same distances from their corners, so that many are looked at together.
class PlaneWindows {
 public:
  explicit PlaneWindows(const PoolWindow& w) : w_(w) {
    int64_t at = 0;
    for (int64_t z = 0; z < w.out[0]; ++z) {
      for (int64_t y = 0; y < w.out[1]; ++y) {
        for (int64_t x = 0; x < w.out[2]; ++x, ++at) add(at, {z, y, x});
      }
    }
    if (inner_.empty()) return;
    add_taps();
    while (corners_.size() % kWindowLanes != 0) corners_.push_back(corners_.back());
  }

  // `readable`: see WindowMaxima.
  void find(const float* plane, int64_t readable, float* out, int64_t* indices) const {
    std::array<float, kBlock> best;
    std::array<int64_t, kBlock> places;
    size_t begin = 0;
    if (border_.empty()) {  // Windows are output points.
      begin = inner_.size() / kWindowLanes * kWindowLanes;
      kernel_(plane, readable, corners_.data(), static_cast<int64_t>(begin), taps_, out, indices);
    }
    for (; begin < corners_.size(); begin += kBlock) {
      const size_t count = std::min<size_t>(kBlock, corners_.size() - begin);
      kernel_(plane, readable, corners_.data() + begin, static_cast<int64_t>(count), taps_,
              best.data(), places.data());
      for (size_t i = 0; i < std::min(count, inner_.size() - begin); ++i) {
        out[inner_[begin + i]] = best[i];
        indices[inner_[begin + i]] = places[i];
      }
    }
    for (const auto& [at, reaches] : border_) {
      max_of_window(w_, reaches, plane, out + at, indices + at);
    }
  }

 private:
  static constexpr size_t kBlock = 4 * kWindowLanes;

  void add(int64_t at, const PoolWindow::Triple& point) {
    bool is_inner = true;
    PoolWindow::Triple first;
    for (size_t d = 0; d < 3; ++d) {
      first[d] = point[d] * w_.stride[d] - w_.padding[d];
      is_inner &= first[d] >= 0 && first[d] + (w_.kernel[d] - 1) * w_.dilation[d] < w_.in[d];
    }
    if (is_inner) {
      inner_.push_back(static_cast<int32_t>(at));
      corners_.push_back(place_of(first[0], first[1], first[2]));
    } else {
      border_.emplace_back(at, Reaches{reach_of(w_, 0, point[0]), reach_of(w_, 1, point[1]),
                                       reach_of(w_, 2, point[2])});
    }
  }

  void add_taps() {
    for (int64_t z = 0; z < w_.kernel[0]; ++z) {
      for (int64_t y = 0; y < w_.kernel[1]; ++y) {
        for (int64_t x = 0; x < w_.kernel[2]; ++x) {
          taps_.push_back(place_of(z * w_.dilation[0], y * w_.dilation[1], x * w_.dilation[2]));
        }
      }
    }
  }

  int32_t place_of(int64_t z, int64_t y, int64_t x) const {
    return static_cast<int32_t>((z * w_.in[1] + y) * w_.in[2] + x);
  }

  const PoolWindow& w_;
  const WindowMaxima kernel_ = window_maxima();
  std::vector<int32_t> inner_;    // Output points.
  std::vector<int32_t> corners_;  // By inner point, and copies of the last to fill lanes.
  std::vector<int32_t> taps_;
  std::vector<std::pair<int64_t, Reaches>> border_;
};

// Whether a place of either plane fits the lanes of PlaneWindows.
bool has_short_planes(const PoolWindow& w) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return w.in_points() <= kMost && w.out_points() <= kMost;
}

void pool_planes(const PoolWindow& w, const float* in, float* out, int64_t* indices) {
  const PlaneWindows windows(w);
  const int64_t grain = grain_of(4 * w.out_points());
  parallel_for(0, w.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      windows.find(in + p * w.in_points(), (w.planes - p) * w.in_points(), out + p * w.out_points(),
                   indices + p * w.out_points());
    }
  });
}

template <typename T>
void max_into(const T* x, int64_t n, T* y) {
  if constexpr (std::is_floating_point_v<T>) {
    row_kernels<T>().max_into(x, n, y);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = std::max(x[i], y[i]);
  }
}

// The largest of each column of the lines that windows reach over.
template <typename T>
void max_of_lines(const PoolWindow& w, const T* plane, const Reach& rz, const Reach& ry, T* best) {
  bool is_first = true;
  for (int64_t z = rz.first; z < rz.last; z += rz.step) {
    for (int64_t y = ry.first; y < ry.last; y += ry.step, is_first = false) {
      const T* line = plane + (z * w.in[1] + y) * w.in[2];
      if (is_first) {
        std::copy_n(line, w.in[2], best);
      } else {
        max_into(line, w.in[2], best);
      }
    }
  }
  if (is_first) std::fill_n(best, w.in[2], lowest<T>());
}

// Two lines of the width that all windows reach over: the maximum down each column, and that of
// neighbours along the line, so that whole lines are worked on at once.
template <typename T>
struct LineBuffers {
  explicit LineBuffers(const PoolWindow& w)
      : reach(w.dilation[2] * (w.kernel[2] - 1)),
        starts(std::max((w.out[2] - 1) * w.stride[2] + 1, w.in[2] + 2 * w.padding[2] - reach)),
        columns(static_cast<size_t>(starts + reach), lowest<T>()),
        windows(static_cast<size_t>(starts)) {}
  int64_t reach;   // From the first to the last position of a window.
  int64_t starts;  // Positions at which a window may start.
  std::vector<T> columns;
  std::vector<T> windows;
};

template <typename T>
void pool_plane(const PoolWindow& w, const T* plane, T* out, LineBuffers<T>& lines) {
  for (int64_t z = 0; z < w.out[0]; ++z) {
    const Reach rz = reach_of(w, 0, z);
    for (int64_t y = 0; y < w.out[1]; ++y, out += w.out[2]) {
      const Reach ry = reach_of(w, 1, y);
      max_of_lines(w, plane, rz, ry, lines.columns.data() + w.padding[2]);
      std::copy_n(lines.columns.begin(), lines.starts, lines.windows.begin());
      for (int64_t k = 1; k < w.kernel[2]; ++k) {
        max_into(lines.columns.data() + k * w.dilation[2], lines.starts, lines.windows.data());
      }
      const T* best = lines.windows.data();
      for (int64_t x = 0; x < w.out[2]; ++x) out[x] = best[x * w.stride[2]];
    }
  }
}

// Planes worth a thread.
int64_t plane_grain(const PoolWindow& w) {
  const int64_t points = std::max({w.in_points(), w.out_points(), int64_t{1}});
  return grain_of(2 * points);
}

template <typename T>
void pool_values(const PoolWindow& w, const T* in, T* out) {
  if constexpr (std::is_same_v<T, float>) return pool_lines(w, pool_kernels().max, in, out);
  parallel_for(0, w.planes, plane_grain(w), [&](int64_t begin, int64_t end) {
    LineBuffers<T> lines(w);
    for (int64_t p = begin; p < end; ++p) {
      pool_plane(w, in + p * w.in_points(), out + p * w.out_points(), lines);
    }
  });
}

// The same of windows that reach over no other line: the last NaN, or the first of the largest.
template <typename T>
void pool_adaptive_single(const PoolWindow& w, const T* plane, int64_t start, T* out,
                          int64_t* indices) {
  const T* line = plane + start;
  for (int64_t x = 0; x < w.out[2]; ++x) {
    const Reach reach = adaptive_reach(w, 2, x);
    T best = line[reach.first];
    int64_t place = reach.first;
    for (int64_t i = reach.first + 1; i < reach.last; ++i) {
      const bool wins = beats(line[i], best);
      best = wins ? line[i] : best;
      place = wins ? i : place;
    }
    out[x] = best;
    indices[x] = start + place;
  }
}

// Windows of one line that reach over whole runs of it: the largest down each column first, then
// the largest of each window's columns, and where that stands.
template <typename T>
void pool_adaptive_line(const PoolWindow& w, const T* plane, const Reach& rz, const Reach& ry,
                        T* columns, T* out, int64_t* indices) {
  if (rz.last - rz.first == 1 && ry.last - ry.first == 1) {
    return pool_adaptive_single(w, plane, (rz.first * w.in[1] + ry.first) * w.in[2], out, indices);
  }
  max_of_lines(w, plane, rz, ry, columns);
  for (int64_t x = 0; x < w.out[2]; ++x) {
    const Reach rx = adaptive_reach(w, 2, x);
    T best = lowest<T>();
    for (int64_t i = rx.first; i < rx.last; ++i) best = beats(columns[i], best) ? columns[i] : best;
    if (best != best) {  // The last NaN counts; it is equal to nothing.
      max_of_window(w, {rz, ry, rx}, plane, out + x, indices + x);
      continue;
    }
    int64_t found = w.in_points();
    for (int64_t i = rx.first; i < rx.last; ++i) {
      if (columns[i] != best) continue;
      for (int64_t z = rz.first; z < rz.last && z * w.in[1] * w.in[2] < found; ++z) {
        int64_t place = (z * w.in[1] + ry.first) * w.in[2] + i;
        const int64_t end = std::min(found, (z * w.in[1] + ry.last) * w.in[2]);
        while (place < end && plane[place] != best) place += w.in[2];
        if (place < end) found = place;
      }
    }
    out[x] = plane[found];  // Of zeros, the first one's sign.
    indices[x] = found;
  }
}

template <typename T>
void pool_adaptive(const PoolWindow& w, const T* in, T* out, int64_t* indices) {
  parallel_for(0, w.planes, plane_grain(w), [&](int64_t begin, int64_t end) {
    std::vector<T> columns(static_cast<size_t>(w.in[2]));
    for (int64_t p = begin; p < end; ++p) {
      int64_t at = p * w.out_points();
      for (int64_t z = 0; z < w.out[0]; ++z) {
        for (int64_t y = 0; y < w.out[1]; ++y, at += w.out[2]) {
          pool_adaptive_line(w, in + p * w.in_points(), adaptive_reach(w, 0, z),
                             adaptive_reach(w, 1, y), columns.data(), out + at, indices + at);
        }
      }
    }
  });
}

// Runs body(input pointer, output pointer, index pointer) over widened contiguous data and gives
// both results in the layout of `self`.
template <typename Body>
std::tuple<Tensor, Tensor> with_indices(const Tensor& self, const PoolWindow& w, const char* what,
                                        const Body& body) {
  const ScalarType work = work_type(self.dtype());
  const Tensor input = as_work(self, work);
  const IntVector sizes = pooled_sizes(self, w);
  const Tensor out = Tensor::empty(sizes, work);
  const Tensor indices = Tensor::empty(sizes, ScalarType::kLong);
  dispatch_ordered(work, what, [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (out.numel() > 0) body(input.data<T>(), out.data<T>(), indices.data<int64_t>());
  });
  const MemoryFormat format = self.suggest_memory_format();
  return {contiguous(to_dtype(out, self.dtype()), format), contiguous(indices, format)};
}

template <typename T>
std::vector<int64_t> fractional_starts(T sample, int64_t in, int64_t out, int64_t kernel) {
  std::vector<int64_t> starts(static_cast<size_t>(out));
  if (out > 1) {
    // Each step rounds to the tensor's own type, as the reference does.
    const T alpha = static_cast<T>(static_cast<T>(in - kernel) / static_cast<T>(out - 1));
    const auto base = static_cast<int64_t>(static_cast<T>(sample * alpha));
    for (int64_t i = 0; i < out - 1; ++i) {
      const T position = static_cast<T>(static_cast<T>(static_cast<T>(i) + sample) * alpha);
      starts[static_cast<size_t>(i)] = static_cast<int64_t>(position) - base;
    }
  }
  if (out > 0) starts[static_cast<size_t>(out - 1)] = in - kernel;
  return starts;
}

}  // namespace

template <int kRank>
Tensor max_pool(const Tensor& self, const IntVector& kernel_size, const IntVector& stride,
                const IntVector& padding, const IntVector& dilation, bool ceil_mode) {
  const PoolWindow w = pool_window(self, kRank, kernel_size, stride, padding, dilation, ceil_mode);
  if (!is_lined(w)) {
    return std::get<0>(
        max_pool_with_indices<kRank>(self, kernel_size, stride, padding, dilation, ceil_mode));
  }
  const ScalarType work = work_type(self.dtype());
  const Tensor input = as_work(self, work);
  const Tensor out = Tensor::empty(pooled_sizes(self, w), work);
  dispatch_ordered(work, "max_pool2d", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    pool_values(w, input.data<T>(), out.data<T>());
  });
  return contiguous(to_dtype(out, self.dtype()), self.suggest_memory_format());
}

template <int kRank>
std::tuple<Tensor, Tensor> max_pool_with_indices(const Tensor& self, const IntVector& kernel_size,
                                                 const IntVector& stride, const IntVector& padding,
                                                 const IntVector& dilation, bool ceil_mode) {
  const PoolWindow w = pool_window(self, kRank, kernel_size, stride, padding, dilation, ceil_mode);
  return with_indices(
      self, w, "max_pool2d", [&]<typename T>(const T* in, T* out, int64_t* indices) {
        if constexpr (std::is_same_v<T, float>) {
          if (has_short_planes(w)) return pool_planes(w, in, out, indices);
        }
        pool_with_indices(w, in, out, indices,
                          [&](int64_t, size_t d, int64_t i) { return reach_of(w, d, i); });
      });
}

template <int kRank>
std::tuple<Tensor, Tensor> adaptive_max_pool(const Tensor& self, const IntVector& output_size) {
  const PoolWindow w = resize_window(self, kRank, output_size);
  return with_indices(self, w, "adaptive_max_pool2d",
                      [&]<typename T>(const T* in, T* out, int64_t* indices) {
                        pool_adaptive(w, in, out, indices);
                      });
}

namespace {

// Random samples are [batch or more, channels, rank]: modules keep theirs for the largest batch.
void check_samples(const Tensor& self, const Tensor& samples, int rank) {
  const int64_t batch = self.dim() == rank + 2 ? self.size(0) : 1;
  const bool fits = samples.dim() == 3 && samples.size(0) >= batch &&
                    samples.size(1) == self.size(-rank - 1) && samples.size(2) == rank;
  if (!fits || samples.dtype() != self.dtype()) {
    fail(kBad,
         "fractional_max_pool{}d: expect _random_samples to have the same dtype as input and the "
         "shape [{} or more, {}, {}], but got {}",
         rank, batch, self.size(-rank - 1), rank, shape_string(samples.sizes()));
  }
}

}  // namespace

template <int kRank>
std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& self, const IntVector& kernel_size,
                                               const IntVector& output_size,
                                               const Tensor& random_samples) {
  PoolWindow w = resize_window(self, kRank, output_size);
  require(kernel_size.size() == 1 || kernel_size.size() == kRank, kBad,
          "fractional_max_pool{}d: kernel_size must either be a single int or {} ints", kRank,
          kRank);
  for (size_t d = 3 - kRank; d < 3; ++d) {
    w.kernel[d] = kernel_size.size() == 1 ? kernel_size[0] : kernel_size[d - (3 - kRank)];
    require(w.kernel[d] > 0 && w.out[d] > 0 && w.out[d] + w.kernel[d] - 1 <= w.in[d], kBad,
            "fractional_max_pool{}d: pool size {} too large relative to input size {}", kRank,
            w.kernel[d], w.in[d]);
  }
  check_samples(self, random_samples, kRank);
  // starts[plane][dimension]; in two dimensions the first sample is that of the width.
  std::vector<std::array<std::vector<int64_t>, 3>> starts(static_cast<size_t>(w.planes));
  const Tensor samples = contiguous(random_samples);
  dispatch_floating(self.dtype(), "fractional_max_pool", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t p = 0; p < w.planes; ++p) {
      auto& of_plane = starts[static_cast<size_t>(p)];
      of_plane[0] = {0};
      for (int i = 0; i < kRank; ++i) {
        const auto d = static_cast<size_t>(kRank == 2 ? 2 - i : i);
        of_plane[d] =
            fractional_starts<T>(samples.data<T>()[p * kRank + i], w.in[d], w.out[d], w.kernel[d]);
      }
    }
  });
  return with_indices(
      self, w, "fractional_max_pool", [&]<typename T>(const T* in, T* out, int64_t* indices) {
        pool_with_indices(w, in, out, indices, [&](int64_t p, size_t d, int64_t i) {
          const int64_t first = std::clamp<int64_t>(
              starts[static_cast<size_t>(p)][d][static_cast<size_t>(i)], 0, w.in[d] - w.kernel[d]);
          return Reach{first, 1, first + w.kernel[d]};
        });
      });
}

#define TIERUP_MAX_POOL(rank)                                                                \
  template Tensor max_pool<rank>(const Tensor&, const IntVector&, const IntVector&,          \
                                 const IntVector&, const IntVector&, bool);                  \
  template std::tuple<Tensor, Tensor> max_pool_with_indices<rank>(                           \
      const Tensor&, const IntVector&, const IntVector&, const IntVector&, const IntVector&, \
      bool);                                                                                 \
  template std::tuple<Tensor, Tensor> adaptive_max_pool<rank>(const Tensor&, const IntVector&)
TIERUP_MAX_POOL(1);
TIERUP_MAX_POOL(2);
TIERUP_MAX_POOL(3);
#undef TIERUP_MAX_POOL
template std::tuple<Tensor, Tensor> fractional_max_pool<2>(const Tensor&, const IntVector&,
                                                           const IntVector&, const Tensor&);
template std::tuple<Tensor, Tensor> fractional_max_pool<3>(const Tensor&, const IntVector&,
                                                           const IntVector&, const Tensor&);

}  // namespace tierup::kernels
