// Places of extrema: max.dim, min.dim, argmax and argmin, lane by lane.
#include <algorithm>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return static_cast<float>(value) != static_cast<float>(value);
}
template <>
bool is_nan<double>(double value) {
  return value != value;
}

// Whether `value` takes the place of `best`, which came earlier.
template <bool kMax, typename T>
bool takes_place(T value, T best) {
  if (is_nan(best)) return false;
  return (kMax ? value > best : value < best) || is_nan(value);
}

template <bool kMax, typename T>
void find_in_lane(const char* lane, int64_t count, int64_t step, T& best, int64_t& place) {
  constexpr int64_t kUnasked = 1 << 24;  // Elements between two questions whether to stop.
  best = *reinterpret_cast<const T*>(lane);
  place = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (i % kUnasked == 0) [[unlikely]]
      poll_interrupt();
    const T value = *reinterpret_cast<const T*>(lane + i * step);
    if (!takes_place<kMax>(value, best)) continue;
    best = value;
    place = i;
    if (is_nan(value)) return;
  }
}

// Lanes that lie side by side: rows of `width` neighbouring elements are compared at once.
template <bool kMax, typename T>
void find_in_rows(const T* rows, int64_t count, int64_t stride, int64_t width, T* best,
                  int64_t* place) {
  std::copy_n(rows, width, best);
  std::fill_n(place, width, 0);
  for (int64_t i = 1; i < count; ++i) {
    const T* row = rows + i * stride;
    for (int64_t j = 0; j < width; ++j) {
      const bool takes = takes_place<kMax>(row[j], best[j]);
      best[j] = takes ? row[j] : best[j];
      place[j] = takes ? i : place[j];
    }
  }
}

template <bool kMax, typename T>
void find_extrema(const Tensor& self, int64_t d, const Tensor& values, const Tensor& indices) {
  const int64_t count = self.sizes()[d];
  int64_t inner = 1;
  for (int64_t i = d + 1; i < self.dim(); ++i) inner *= self.sizes()[i];
  if (self.is_contiguous() && inner >= 4) {
    const int64_t outer = values.numel() / inner;
    parallel_for(
        0, outer, std::max<int64_t>(1, 32768 / (count * inner)), [&](int64_t begin, int64_t end) {
          for (int64_t o = begin; o < end; ++o) {
            find_in_rows<kMax>(self.data<T>() + o * count * inner, count, inner, inner,
                               values.data<T>() + o * inner, indices.data<int64_t>() + o * inner);
          }
        });
    return;
  }
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  loop.run(LaneLoop::grain_for(count), [&](const LaneLoop::Pointers& lane) {
    find_in_lane<kMax>(lane[0], count, loop.step(0), *reinterpret_cast<T*>(lane[1]),
                       *reinterpret_cast<int64_t*>(lane[2]));
  });
}

template <bool kMax>
std::tuple<Tensor, Tensor> extremum_dim(const Tensor& tensor, int64_t dim, bool keepdim,
                                        const char* what) {
  const int64_t d = wrap_dim(dim, tensor.dim());
  const Tensor self = atleast_1d(tensor);
  require(self.sizes()[d] > 0, ErrorCode::kOutOfRange,
          "{}(): Expected reduction dim {} to have non-zero size.", what, d);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[d] = 1;
  Tensor values = Tensor::empty(sizes, self.dtype());
  Tensor indices = Tensor::empty(sizes, ScalarType::kLong);
  if (values.numel() > 0) {
    dispatch_real(self.dtype(), what, [&](auto tag) {
      find_extrema<kMax, typename decltype(tag)::type>(self, d, values, indices);
    });
  }
  if (tensor.dim() == 0 || !keepdim) {
    values = squeeze_dim(values, d);
    indices = squeeze_dim(indices, d);
  }
  return {values, indices};
}

template <bool kMax>
Tensor place(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const char* what) {
  if (dim) return std::get<1>(extremum_dim<kMax>(self, *dim, keepdim, what));
  require(self.numel() > 0, ErrorCode::kInvalidArgument,
          "{}(): Expected reduction dim to be specified for input.numel() == 0.", what);
  const Tensor index = std::get<1>(extremum_dim<kMax>(reshape(self, {-1}), 0, false, what));
  return keepdim ? view(index, IntVector(static_cast<size_t>(self.dim()), 1)) : index;
}

}  // namespace

std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum_dim<true>(self, dim, keepdim, "max");
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum_dim<false>(self, dim, keepdim, "min");
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place<true>(self, dim, keepdim, "argmax");
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place<false>(self, dim, keepdim, "argmin");
}

}  // namespace tierup::kernels
