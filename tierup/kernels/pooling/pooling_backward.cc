#include "tierup/kernels/pooling/pooling_backward.h"

#include <algorithm>

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

int64_t planes_per_task(const PoolWindow& w) {
  return grain_of(2 * (w.in_points() + w.out_points()));
}

void check_gradient(const Tensor& grad, const Tensor& self, const PoolWindow& w, const char* what) {
  const IntVector wanted = pooled_sizes(self, w);
  if (std::equal(wanted.begin(), wanted.end(), grad.sizes().begin(), grad.sizes().end())) return;
  fail(kBad, "{}: expected a gradient of size {}, but got {}", what,
       shape_string({wanted.data(), wanted.size()}), shape_string(grad.sizes()));
}

// Calls body(plane of grad, plane of the zeroed result, tag) for each plane.
template <typename Body>
Tensor by_planes(const Tensor& grad, const Tensor& self, const PoolWindow& w, const char* what,
                 const Body& body) {
  const ScalarType work = work_type(self.dtype());
  const Tensor source = as_work(grad, work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  fill(out, 0);
  dispatch_work(work, what, [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    if (source.numel() == 0 || out.numel() == 0) return;
    const T* from = source.data<T>();
    T* to = out.data<T>();
    parallel_for(0, w.planes, planes_per_task(w), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        body(p, from + p * w.out_points(), to + p * w.in_points());
    });
  });
  return contiguous(to_dtype(out, self.dtype()), self.suggest_memory_format());
}

template <typename T>
void add_to_window(const PoolWindow& w, const std::array<Span, 3>& s, T value, T* plane) {
  for (int64_t z = s[0].first; z < s[0].last; ++z) {
    for (int64_t y = s[1].first; y < s[1].last; ++y) {
      T* line = plane + (z * w.in[1] + y) * w.in[2];
      for (int64_t x = s[2].first; x < s[2].last; ++x) line[x] += value;
    }
  }
}

template <typename SpanOf>
Tensor spread_means(const Tensor& grad, const Tensor& self, const PoolWindow& w,
                    std::optional<int64_t> divisor, const char* what, const SpanOf& span_of) {
  check_gradient(grad, self, w, what);
  return by_planes(grad, self, w, what, [&]<typename T>(int64_t, const T* from, T* to) {
    std::array<Span, 3> s;
    for (int64_t z = 0; z < w.out[0]; ++z) {
      s[0] = span_of(0, z);
      for (int64_t y = 0; y < w.out[1]; ++y) {
        s[1] = span_of(1, y);
        for (int64_t x = 0; x < w.out[2]; ++x) {
          s[2] = span_of(2, x);
          const int64_t counted = divisor.value_or(s[0].counted * s[1].counted * s[2].counted);
          add_to_window(w, s, static_cast<T>(*from++ / static_cast<T>(counted)), to);
        }
      }
    }
  });
}

}  // namespace

template <int kRank>
Tensor scatter_to_maxima(const Tensor& grad, const Tensor& self, const Tensor& indices) {
  require(self.dim() == kRank + 1 || self.dim() == kRank + 2, kBad,
          "max_pool{}d_backward: expected {} or {} dimensions of the input, but got {}", kRank,
          kRank + 1, kRank + 2, self.dim());
  const bool fits =
      indices.dtype() == ScalarType::kLong && grad.dim() == self.dim() &&
      std::equal(grad.sizes().begin(), grad.sizes().end(), indices.sizes().begin(),
                 indices.sizes().end()) &&
      std::equal(grad.sizes().begin(), grad.sizes().end() - kRank, self.sizes().begin());
  if (!fits) {
    fail(kBad, "max_pool{}d_backward: gradient {} and indices {} do not fit input {}", kRank,
         shape_string(grad.sizes()), shape_string(indices.sizes()), shape_string(self.sizes()));
  }
  PoolWindow w;
  w.rank = kRank;
  w.planes = numel_of(self.sizes().first(self.sizes().size() - kRank));
  for (size_t d = 0; d < kRank; ++d) {
    w.in[3 - kRank + d] = self.sizes()[self.sizes().size() - kRank + d];
    w.out[3 - kRank + d] = grad.sizes()[grad.sizes().size() - kRank + d];
  }
  const Tensor places = contiguous(indices);
  const int64_t* index = places.data<int64_t>();
  return by_planes(grad, self, w, "max_pool_backward",
                   [&]<typename T>(int64_t plane, const T* from, T* to) {
                     const int64_t* at = index + plane * w.out_points();
                     for (int64_t i = 0; i < w.out_points(); ++i) {
                       require(at[i] >= 0 && at[i] < w.in_points(), ErrorCode::kOutOfRange,
                               "Found an invalid max index: {} (input planes are of size {})",
                               at[i], w.in_points());
                       to[at[i]] += from[i];
                     }
                   });
}

template <int kRank>
Tensor avg_pool_backward(const Tensor& grad, const Tensor& self, const IntVector& kernel_size,
                         const IntVector& stride, const IntVector& padding, bool ceil_mode,
                         bool count_include_pad, std::optional<int64_t> divisor_override) {
  require(!divisor_override || *divisor_override != 0, kBad, "divisor must be not zero");
  const int64_t one = 1;
  const PoolWindow w = pool_window(self, kRank, kernel_size, stride, padding, {&one, 1}, ceil_mode);
  return spread_means(
      grad, self, w, divisor_override, "avg_pool_backward", [&](size_t d, int64_t i) {
        const int64_t first = i * w.stride[d] - w.padding[d];
        const int64_t last = std::min(first + w.kernel[d], w.in[d] + w.padding[d]);
        const Span clipped{std::max<int64_t>(first, 0), std::min(last, w.in[d]), 0};
        return Span{clipped.first, clipped.last,
                    count_include_pad ? last - first : clipped.last - clipped.first};
      });
}

template <int kRank>
Tensor adaptive_avg_pool_backward(const Tensor& grad, const Tensor& self) {
  require(grad.dim() == self.dim() && (self.dim() == kRank + 1 || self.dim() == kRank + 2), kBad,
          "adaptive_avg_pool{}d_backward: expected {} or {} dimensions of both, but got {} and {}",
          kRank, kRank + 1, kRank + 2, self.dim(), grad.dim());
  const PoolWindow w = resize_window(self, kRank, grad.sizes().last(kRank),
                                     kRank < 3 ? NonZero::kSpatial : NonZero::kAfterFirst);
  return spread_means(grad, self, w, std::nullopt, "adaptive_avg_pool_backward",
                      [&](size_t d, int64_t i) {
                        const int64_t first = i * w.in[d] / w.out[d];
                        const int64_t last = ((i + 1) * w.in[d] + w.out[d] - 1) / w.out[d];
                        return Span{first, last, last - first};
                      });
}

#define TIERUP_POOLING_BACKWARD(rank)                                                     \
  template Tensor scatter_to_maxima<rank>(const Tensor&, const Tensor&, const Tensor&);   \
  template Tensor avg_pool_backward<rank>(const Tensor&, const Tensor&, const IntVector&, \
                                          const IntVector&, const IntVector&, bool, bool, \
                                          std::optional<int64_t>);                        \
  template Tensor adaptive_avg_pool_backward<rank>(const Tensor&, const Tensor&)
TIERUP_POOLING_BACKWARD(2);
TIERUP_POOLING_BACKWARD(3);
#undef TIERUP_POOLING_BACKWARD

}  // namespace tierup::kernels
