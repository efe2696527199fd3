#include "tierup/kernels/pooling/avg_pool.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/pooling/pool_lines.h"
#include "tierup/kernels/pooling/pooling_window.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Positions [first, last) of one dimension, and how many the divisor counts.
struct Span {
  int64_t first;
  int64_t last;
  int64_t counted;
};

template <typename T>
T sum_of_window(const PoolWindow& w, const std::array<Span, 3>& s, const T* plane) {
  T sum = 0;
  for (int64_t z = s[0].first; z < s[0].last; ++z) {
    for (int64_t y = s[1].first; y < s[1].last; ++y) {
      const T* line = plane + (z * w.in[1] + y) * w.in[2];
      for (int64_t x = s[2].first; x < s[2].last; ++x) sum += line[x];
    }
  }
  return sum;
}

// The sum over whole planes in eight fixed lanes: global average pooling.
template <typename T>
T sum_of_plane(const T* plane, int64_t count) {
  T lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int j = 0; j < 8; ++j) lanes[j] += plane[i + j];
  }
  for (int j = 0; i < count; ++i, ++j) lanes[j] += plane[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

template <typename T, typename SpanOf>
void pool(const PoolWindow& w, const T* in, T* out, std::optional<int64_t> divisor,
          const SpanOf& span_of) {
  const int64_t grain = grain_of(2 * std::max(w.out_points(), w.in_points()));
  parallel_for(0, w.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T* plane = in + p * w.in_points();
      T* target = out + p * w.out_points();
      std::array<Span, 3> s;
      for (int64_t z = 0; z < w.out[0]; ++z) {
        s[0] = span_of(0, z);
        for (int64_t y = 0; y < w.out[1]; ++y) {
          s[1] = span_of(1, y);
          for (int64_t x = 0; x < w.out[2]; ++x) {
            s[2] = span_of(2, x);
            const int64_t counted = divisor.value_or(s[0].counted * s[1].counted * s[2].counted);
            const bool whole = w.out_points() == 1 && s[0].last - s[0].first == w.in[0] &&
                               s[1].last - s[1].first == w.in[1] &&
                               s[2].last - s[2].first == w.in[2];
            const T sum = whole ? sum_of_plane(plane, w.in_points()) : sum_of_window(w, s, plane);
            // A window that lies in the padding alone has no elements, and is zero.
            const bool empty =
                s[0].first >= s[0].last || s[1].first >= s[1].last || s[2].first >= s[2].last;
            *target++ = empty ? T{0} : static_cast<T>(sum / static_cast<T>(counted));
          }
        }
      }
    }
  });
}

// Large planes one by one; of small ones, many at once.
void average_planes(const PoolWindow& w, const float* in, float* out) {
  constexpr int64_t kLarge = 1024;
  constexpr int64_t kPlanesTogether = 16;
  const int64_t points = w.in_points();
  const auto count = static_cast<float>(points);
  if (points >= kLarge) {
    return parallel_for(0, w.planes, grain_of(points), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        out[p] = row_kernels<float>().sum(in + p * points, points) / count;
    });
  }
  const int64_t groups = (w.planes + kPlanesTogether - 1) / kPlanesTogether;
  const int64_t grain = grain_of(points * kPlanesTogether);
  parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kPlanesTogether;
    const int64_t last = std::min(end * kPlanesTogether, w.planes);
    pool_kernels().average_planes(in + first * points, last - first, points, count, out + first);
  });
}

template <typename SpanOf>
void pool_by_lines(const PoolWindow& w, const float* in, float* out, std::optional<int64_t> divisor,
                   const SpanOf& span_of) {
  const bool is_whole = w.out_points() == 1 && w.kernel == w.in && !divisor;
  if (is_whole && w.padding == PoolWindow::Triple{0, 0, 0}) return average_planes(w, in, out);
  std::vector<float> columns;
  for (int64_t x = 0; x < w.out[2]; ++x)
    columns.push_back(static_cast<float>(divisor.value_or(span_of(2, x).counted)));
  std::vector<float> lines;
  for (int64_t z = 0; z < w.out[0]; ++z) {
    for (int64_t y = 0; y < w.out[1]; ++y)
      lines.push_back(divisor ? 1.0F
                              : static_cast<float>(span_of(0, z).counted * span_of(1, y).counted));
  }
  pool_lines(w, pool_kernels().average, in, out, columns.data(), lines.data());
}

// `are_windows`: w says where they stand.
template <typename SpanOf>
Tensor run(const Tensor& self, const PoolWindow& w, bool are_windows,
           std::optional<int64_t> divisor, const char* what, const SpanOf& span_of) {
  require(!is_integral(self.dtype(), true) || self.dtype() == ScalarType::kLong, kBad,
          "\"{}\" not implemented for '{}'", what, scalar_type_name(self.dtype()));
  const ScalarType work = work_type(self.dtype());
  const Tensor input = as_work(self, work);
  const Tensor out = Tensor::empty(pooled_sizes(self, w), work);
  if (out.numel() > 0) {
    if (work == ScalarType::kLong) {
      pool(w, input.data<int64_t>(), out.data<int64_t>(), divisor, span_of);
    } else {
      dispatch_work(work, what, [&]<typename Tag>(Tag) {
        using T = typename Tag::type;
        if constexpr (std::is_same_v<T, float>) {
          if (are_windows)
            return pool_by_lines(w, input.data<T>(), out.data<T>(), divisor, span_of);
        }
        pool(w, input.data<T>(), out.data<T>(), divisor, span_of);
      });
    }
  }
  return contiguous(to_dtype(out, self.dtype()), self.suggest_memory_format());
}

}  // namespace

template <int kRank>
Tensor avg_pool(const Tensor& self, const IntVector& kernel_size, const IntVector& stride,
                const IntVector& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override) {
  require(!divisor_override || *divisor_override != 0, kBad, "divisor must be not zero");
  const int64_t one = 1;
  const PoolWindow w = pool_window(self, kRank, kernel_size, stride, padding, {&one, 1}, ceil_mode);
  return run(self, w, is_lined(w), divisor_override, "avg_pool2d", [&](size_t d, int64_t i) {
    const int64_t first = i * w.stride[d] - w.padding[d];
    const int64_t last = std::min(first + w.kernel[d], w.in[d] + w.padding[d]);
    const Span clipped{std::max<int64_t>(first, 0), std::min(last, w.in[d]), 0};
    return Span{clipped.first, clipped.last,
                count_include_pad ? last - first : clipped.last - clipped.first};
  });
}

Tensor avg_pool1d(const Tensor& self, const IntVector& kernel_size, const IntVector& stride,
                  const IntVector& padding, bool ceil_mode, bool count_include_pad) {
  return avg_pool<1>(self, kernel_size, stride, padding, ceil_mode, count_include_pad,
                     std::nullopt);
}

template <int kRank>
Tensor adaptive_avg_pool(const Tensor& self, const IntVector& output_size) {
  PoolWindow w =
      resize_window(self, kRank, output_size, kRank < 3 ? NonZero::kSpatial : NonZero::kAfterFirst);
  bool are_windows = is_lined(w);
  for (size_t d = 0; d < 3; ++d) {
    are_windows &= w.out[d] > 0 && w.in[d] % w.out[d] == 0 && w.in[d] > 0;
    if (are_windows) w.kernel[d] = w.stride[d] = w.in[d] / w.out[d];
  }
  return run(self, w, are_windows, std::nullopt, "adaptive_avg_pool2d", [&](size_t d, int64_t i) {
    const int64_t first = i * w.in[d] / w.out[d];
    const int64_t last = ((i + 1) * w.in[d] + w.out[d] - 1) / w.out[d];
    return Span{first, last, last - first};
  });
}

template <int kRank>
Tensor adaptive_avg_pool_or_mean(const Tensor& self, const IntVector& output_size) {
  const bool is_one_place = output_size == IntVector(kRank, 1);
  const bool is_pooled = self.dim() == kRank + 1 || self.dim() == kRank + 2;
  if (!is_one_place || !is_pooled || self.numel() > 0 || !is_floating(self.dtype()))
    return adaptive_avg_pool<kRank>(self, output_size);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  std::fill(sizes.end() - kRank, sizes.end(), 1);
  const Tensor means = Tensor::empty(sizes, self.dtype());
  fill(means, std::numeric_limits<double>::quiet_NaN());
  return means;
}

#define TIERUP_AVG_POOL(rank)                                                           \
  template Tensor avg_pool<rank>(const Tensor&, const IntVector&, const IntVector&,     \
                                 const IntVector&, bool, bool, std::optional<int64_t>); \
  template Tensor adaptive_avg_pool<rank>(const Tensor&, const IntVector&);             \
  template Tensor adaptive_avg_pool_or_mean<rank>(const Tensor&, const IntVector&)
TIERUP_AVG_POOL(1);
TIERUP_AVG_POOL(2);
TIERUP_AVG_POOL(3);
#undef TIERUP_AVG_POOL

}  // namespace tierup::kernels
