#include "tierup/kernels/reduce/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/memory/nan_order.h"
#include "tierup/kernels/reduce/interruptible_sort.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

template <typename T>
std::vector<Widest<T>> read_lane(const char* lane, int64_t count, int64_t step) {
  std::vector<Widest<T>> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<Widest<T>>(*reinterpret_cast<const T*>(lane + i * step));
  }
  return values;
}

// Runs pick(values) -> index for each lane along `dim` and gathers (values, indices).
template <typename Pick>
std::tuple<Tensor, Tensor> pick_along(const Tensor& tensor, int64_t dim, bool keepdim,
                                      const char* what, const Pick& pick) {
  const int64_t d = wrap_dim(dim, tensor.dim());
  const Tensor self = atleast_1d(tensor);
  require(self.sizes()[d] > 0, ErrorCode::kOutOfRange,
          "{}(): Expected reduction dim {} to have non-zero size.", what, d);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[d] = 1;
  Tensor values = Tensor::empty(sizes, self.dtype());
  Tensor indices = Tensor::empty(sizes, ScalarType::kLong);
  const int64_t count = self.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  dispatch_real(self.dtype(), what, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (values.numel() == 0) return;
    loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
      const int64_t at = pick(read_lane<T>(lane[0], count, loop.step(0)));
      *reinterpret_cast<T*>(lane[1]) = *reinterpret_cast<const T*>(lane[0] + at * loop.step(0));
      *reinterpret_cast<int64_t*>(lane[2]) = at;
    });
  });
  if (tensor.dim() == 0 || !keepdim) {
    values = squeeze_dim(values, d);
    indices = squeeze_dim(indices, d);
  }
  return {values, indices};
}

template <typename T>
int64_t nth_index(const std::vector<T>& values, int64_t n) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  sort_asking(
      static_cast<int64_t>(values.size()),
      [&](int64_t a, int64_t b) { return nan_less(values[a], values[b]); },
      [&](const auto& less) {
        std::nth_element(order.begin(), order.begin() + n, order.end(), less);
      });
  return order[n];
}

struct MedianPick {
  bool ignore_nan;
  template <typename T>
  int64_t operator()(const std::vector<T>& values) const {
    const auto nans =
        std::count_if(values.begin(), values.end(), [](T v) { return value_is_nan(v); });
    if (nans > 0 && !ignore_nan) {
      return std::find_if(values.begin(), values.end(), [](T v) { return value_is_nan(v); }) -
             values.begin();
    }
    const auto count = static_cast<int64_t>(values.size()) - nans;
    return nth_index(values, std::max<int64_t>(count - 1, 0) / 2);
  }
};

struct ModePick {
  template <typename T>
  int64_t operator()(const std::vector<T>& values) const {
    std::vector<int64_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    sort_asking(
        static_cast<int64_t>(values.size()),
        [&](int64_t a, int64_t b) { return nan_less(values[a], values[b]); },
        [&](const auto& less) { std::stable_sort(order.begin(), order.end(), less); });
    int64_t best = order[0];
    size_t best_count = 0;
    size_t run = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      ++run;
      if (i + 1 < order.size() && values[order[i]] == values[order[i + 1]]) continue;
      if (run > best_count) {
        best = order[i];
        best_count = run;
      }
      run = 0;
    }
    return best;
  }
};

Tensor median_of_all(const Tensor& self, bool ignore_nan) {
  if (self.numel() == 0) {
    return is_floating(self.dtype()) ? Tensor::scalar(Scalar(std::nan("")), self.dtype())
                                     : Tensor::scalar(Scalar(int64_t{0}), self.dtype());
  }
  return std::get<0>(pick_along(reshape(self, {-1}), 0, false, "median", MedianPick{ignore_nan}));
}

enum class Interpolation : uint8_t { kLinear, kLower, kHigher, kMidpoint, kNearest };

Interpolation parse_interpolation(std::string_view name) {
  if (name == "linear") return Interpolation::kLinear;
  if (name == "lower") return Interpolation::kLower;
  if (name == "higher") return Interpolation::kHigher;
  if (name == "midpoint") return Interpolation::kMidpoint;
  if (name == "nearest") return Interpolation::kNearest;
  fail(
      ErrorCode::kInvalidArgument,
      "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
      "{}",
      name);
}

// Elements some bytes apart, the least first and NaNs last.
template <typename T>
struct SortedLane {
  const char* first;
  int64_t step;
  T operator[](int64_t i) const { return *reinterpret_cast<const T*>(first + i * step); }
};

template <typename T>
T quantile_of_sorted(const SortedLane<T>& sorted, int64_t count, T q, Interpolation mode) {
  const T rank = q * static_cast<T>(count - 1);
  T position = rank;
  switch (mode) {
    case Interpolation::kLower: position = std::floor(rank); break;
    case Interpolation::kHigher: position = std::ceil(rank); break;
    case Interpolation::kNearest: position = std::nearbyint(rank); break;
    default: break;
  }
  const auto low = static_cast<int64_t>(std::floor(position));
  const auto high = std::min(static_cast<int64_t>(std::ceil(position)), count - 1);
  if (low == high) return sorted[low];
  const T weight = mode == Interpolation::kMidpoint ? T(0.5) : position - std::floor(position);
  const T a = sorted[low];
  const T b = sorted[high];
  return weight < T(0.5) ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
}

template <typename T>
void quantile_lanes(const Tensor& lanes, int64_t d, const Tensor& q, Interpolation mode,
                    bool ignore_nan, const Tensor& out) {
  const int64_t count = lanes.sizes()[d];
  const T* wanted = q.data<T>();
  const int64_t wanted_count = q.numel();
  const int64_t step = out.numel() / std::max<int64_t>(wanted_count, 1);
  int64_t lane_index = 0;
  const Tensor in_order = std::get<0>(sort(lanes, d, false));
  const LaneLoop loop(lanes.sizes(), d, {&in_order});
  loop.run(loop.lanes(), [&](const LaneLoop::Pointers& lane) {
    const SortedLane<T> sorted{lane[0], loop.step(0)};
    int64_t valid = count;
    while (valid > 0 && std::isnan(sorted[valid - 1])) --valid;
    const bool unusable = valid == 0 || (valid < count && !ignore_nan);
    for (int64_t i = 0; i < wanted_count; ++i) {
      out.data<T>()[i * step + lane_index] =
          unusable ? static_cast<T>(std::nan(""))
                   : quantile_of_sorted(sorted, valid, wanted[i], mode);
    }
    ++lane_index;
  });
}

Tensor quantile_impl(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                     std::string_view interpolation, bool ignore_nan) {
  require(self.numel() > 0, ErrorCode::kInvalidArgument,
          "quantile() input tensor must be non-empty");
  require(q.dim() <= 1, ErrorCode::kInvalidArgument, "quantile() q must be a scalar or 1D tensor");
  require(self.dtype() == ScalarType::kFloat || self.dtype() == ScalarType::kDouble,
          ErrorCode::kInvalidArgument,
          "quantile() input tensor must be either float or double dtype");
  require(q.dtype() == self.dtype(), ErrorCode::kInvalidArgument,
          "quantile() q tensor must be same dtype as the input tensor");
  const Interpolation mode = parse_interpolation(interpolation);
  const Tensor lanes = dim ? atleast_1d(self) : reshape(self, {-1});
  const int64_t d = wrap_dim(dim.value_or(0), lanes.dim());
  IntVector shape;
  if (q.dim() == 1) shape.push_back(q.numel());
  if (!dim) {
    if (keepdim) shape.insert(shape.end(), static_cast<size_t>(self.dim()), 1);
  } else {
    for (int64_t i = 0; i < self.dim(); ++i) {
      if (i != d)
        shape.push_back(self.sizes()[i]);
      else if (keepdim)
        shape.push_back(1);
    }
  }
  const Tensor wanted = contiguous(reshape(q, {-1}));
  Tensor out = Tensor::empty(shape, self.dtype());
  dispatch_floating(self.dtype(), "quantile", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      for (int64_t i = 0; i < wanted.numel(); ++i) {
        const T p = wanted.data<T>()[i];
        require(p >= 0 && p <= 1, ErrorCode::kInvalidArgument,
                "quantile() q values must be in the range [0, 1]");
      }
      if (out.numel() > 0) quantile_lanes<T>(lanes, d, wanted, mode, ignore_nan, out);
    }
  });
  return out;
}

}  // namespace

Tensor median(const Tensor& self) { return median_of_all(self, false); }
Tensor nanmedian(const Tensor& self) { return median_of_all(self, true); }

std::tuple<Tensor, Tensor> median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return pick_along(self, dim, keepdim, "median", MedianPick{false});
}
std::tuple<Tensor, Tensor> nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return pick_along(self, dim, keepdim, "nanmedian", MedianPick{true});
}

std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  require(k >= 1 && k <= size, ErrorCode::kInvalidArgument,
          "kthvalue(): selected number k out of range for dimension {}", dim);
  return pick_along(self, dim, keepdim, "kthvalue",
                    [k](const auto& values) { return nth_index(values, k - 1); });
}

std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim) {
  return pick_along(self, dim, keepdim, "mode", ModePick{});
}

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantile_impl(self, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantile_impl(self, q, dim, keepdim, interpolation, true);
}
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       std::string_view interpolation) {
  return quantile(self, Tensor::scalar(Scalar(q), self.dtype()), dim, keepdim, interpolation);
}
Tensor nanquantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation) {
  return nanquantile(self, Tensor::scalar(Scalar(q), self.dtype()), dim, keepdim, interpolation);
}

}  // namespace tierup::kernels
