#include "tierup/kernels/pooling/avg_pool.h"

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
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
  const int64_t grain =
      std::max<int64_t>(1, 8192 / std::max<int64_t>(1, std::max(w.out_points(), w.in_points())));
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

// A line of windows at once, offset by offset: the order in which a window is gone through.
template <typename T>
void add_line(const PoolWindow& w, const T* line, T* sums) {
  for (int64_t k = 0; k < w.kernel[2]; ++k) {
    const int64_t offset = k - w.padding[2];
    const int64_t step = w.stride[2];
    const int64_t begin = offset >= 0 ? 0 : (-offset + step - 1) / step;
    const int64_t last = w.in[2] - 1 - offset;
    const int64_t end = last < 0 ? 0 : std::min(w.out[2], last / step + 1);
    const T* x = line + offset;
    if (step == 1) {
      for (int64_t i = begin; i < end; ++i) sums[i] += x[i];
    } else {
      for (int64_t i = begin; i < end; ++i) sums[i] += x[i * step];
    }
  }
}

template <typename T, typename SpanOf>
void pool_by_lines(const PoolWindow& w, const T* in, T* out, std::optional<int64_t> divisor,
                   const SpanOf& span_of) {
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max(w.out_points(), w.in_points()));
  std::vector<Span> spans;
  for (int64_t x = 0; x < w.out[2]; ++x) spans.push_back(span_of(2, x));
  parallel_for(0, w.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin * w.out[0] * w.out[1]; index < end * w.out[0] * w.out[1]; ++index) {
      const T* plane = in + index / (w.out[0] * w.out[1]) * w.in_points();
      T* sums = out + index * w.out[2];
      const Span depths = span_of(0, index / w.out[1] % w.out[0]);
      const Span lines = span_of(1, index % w.out[1]);
      std::fill_n(sums, w.out[2], T{0});
      for (int64_t z = depths.first; z < depths.last; ++z) {
        for (int64_t y = lines.first; y < lines.last; ++y)
          add_line(w, plane + (z * w.in[1] + y) * w.in[2], sums);
      }
      const bool is_empty = depths.first >= depths.last || lines.first >= lines.last;
      for (int64_t x = 0; x < w.out[2]; ++x) {
        const Span& s = spans[static_cast<size_t>(x)];
        const int64_t counted = divisor.value_or(depths.counted * lines.counted * s.counted);
        // A window that lies in the padding alone has no elements, and is zero.
        sums[x] = is_empty || s.first >= s.last ? T{0}
                                                : static_cast<T>(sums[x] / static_cast<T>(counted));
      }
    }
  });
}

// Windows overlap in lines that are long enough for a loop of their own.
bool pays_by_lines(const PoolWindow& w) {
  constexpr int64_t kShortLine = 8;
  return w.out[2] >= kShortLine;
}

template <bool kByLines = false, typename SpanOf>
Tensor run(const Tensor& self, const PoolWindow& w, std::optional<int64_t> divisor,
           const char* what, const SpanOf& span_of) {
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
        if (kByLines && pays_by_lines(w)) {
          pool_by_lines(w, input.data<T>(), out.data<T>(), divisor, span_of);
        } else {
          pool(w, input.data<T>(), out.data<T>(), divisor, span_of);
        }
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
  return run<true>(self, w, divisor_override, "avg_pool2d", [&](size_t d, int64_t i) {
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
  const PoolWindow w =
      resize_window(self, kRank, output_size, kRank < 3 ? NonZero::kSpatial : NonZero::kAfterFirst);
  return run(self, w, std::nullopt, "adaptive_avg_pool2d", [&](size_t d, int64_t i) {
    const int64_t first = i * w.in[d] / w.out[d];
    const int64_t last = ((i + 1) * w.in[d] + w.out[d] - 1) / w.out[d];
    return Span{first, last, last - first};
  });
}

#define TIERUP_AVG_POOL(rank)                                                           \
  template Tensor avg_pool<rank>(const Tensor&, const IntVector&, const IntVector&,     \
                                 const IntVector&, bool, bool, std::optional<int64_t>); \
  template Tensor adaptive_avg_pool<rank>(const Tensor&, const IntVector&)
TIERUP_AVG_POOL(1);
TIERUP_AVG_POOL(2);
TIERUP_AVG_POOL(3);
#undef TIERUP_AVG_POOL

}  // namespace tierup::kernels
