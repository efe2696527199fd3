#include "tierup/kernels/reduce/order_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/memory/nan_order.h"
#include "tierup/kernels/reduce/interruptible_sort.h"
#include "tierup/kernels/reduce/key_selection.h"
#include "tierup/kernels/reduce/packed_keys.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

const KeySelection& key_selection() {
  static const KeySelection selection = TIERUP_VARIANT(instruction_set(), key_selection_base,
                                                       key_selection_avx2, key_selection_avx512)();
  return selection;
}

namespace {

// Elements of 64 bits for sorting: a key that keeps their order, and their place. Equal elements
// have equal keys: -0 and 0, NaNs.
using WideKey = std::pair<uint64_t, uint64_t>;

uint64_t wide_sort_key(int64_t value) {
  return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63U);
}
uint64_t wide_sort_key(double value) {
  const double number = value + 0.0;
  const auto bits = std::bit_cast<uint64_t>(number);
  if (number != number) return ~uint64_t{0};
  return (bits >> 63U) != 0 ? ~bits : bits | (uint64_t{1} << 63U);
}

int64_t place_in(const WideKey& key) { return static_cast<int64_t>(key.second); }

void sort_keys(std::vector<WideKey>& keys) {
  sort_asking(static_cast<int64_t>(keys.size()), std::less<WideKey>(),
              [&](const auto& less) { std::sort(keys.begin(), keys.end(), less); });
}
int64_t nth_place(std::vector<WideKey>& keys, int64_t n) {
  sort_asking(static_cast<int64_t>(keys.size()), std::less<WideKey>(), [&](const auto& less) {
    std::nth_element(keys.begin(), keys.begin() + n, keys.end(), less);
  });
  return place_in(keys[n]);
}

// A lane's elements.
template <typename T>
struct Lane {
  const char* first;
  int64_t count;
  int64_t step;
  T operator[](int64_t i) const { return *reinterpret_cast<const T*>(first + i * step); }
};

// The keys of one lane; the memory serves one lane after another.
class LaneKeys {
 public:
  // Sorts the lane, of which equal elements keep their order; the two below tell of the result.
  template <typename T>
  void sort(const Lane<T>& lane) {
    is_packed_ = pack(lane);
    if (is_packed_) return kernels::sort_keys(packed_, room_);
    widen(lane, [](int64_t) { return true; });
    sort_keys(wide_);
  }
  int64_t place(int64_t i) const {
    return is_packed_ ? kernels::place_in(packed_[i]) : place_in(wide_[i]);
  }
  bool are_equal(int64_t i, int64_t j) const {
    return is_packed_ ? packed_[i] >> 32U == packed_[j] >> 32U : wide_[i].first == wide_[j].first;
  }

  // The place of the n-th in order, of which equal elements come as in the lane. By narrow keys; of
  // those that are then equal, by wide ones where narrow keys do not tell all.
  template <typename T>
  int64_t nth(const Lane<T>& lane, int64_t n) {
    constexpr int64_t kUnasked = int64_t{1} << 20;  // Longer lanes ask for an interrupt.
    if (lane.count > kUnasked) {
      widen(lane, [](int64_t) { return true; });
      return nth_place(wide_, n);
    }
    narrow_.resize(static_cast<size_t>(lane.count + KeySelection::kRoom));
    const bool tells_all = narrow(lane);
    const KeySelection::Found found = key_selection().select(narrow_.data(), lane.count, n);
    const auto is_found = [&](int64_t i) { return narrow_[i] == found.key; };
    if (tells_all || found.equal == 1) {
      int64_t i = -1;
      for (int64_t left = n - found.less; left >= 0; --left) {
        do ++i;
        while (!is_found(i));
      }
      return i;
    }
    widen(lane, is_found);
    return nth_place(wide_, n - found.less);
  }

 private:
  // False for elements or lanes that do not pack. Whole numbers of 64 bits do where they are small.
  template <typename T>
  bool pack(const Lane<T>& lane) {
    constexpr bool kIsLong = std::is_same_v<T, int64_t>;
    if ((!kPacks<T> && !kIsLong) || lane.count > int64_t{std::numeric_limits<uint32_t>::max()})
      return false;
    packed_.resize(static_cast<size_t>(lane.count));
    using Narrow = std::conditional_t<kIsLong, int32_t, T>;
    bool fits = true;
    for (int64_t i = 0; i < lane.count; ++i) {
      const T value = lane[i];
      if constexpr (kIsLong) fits &= value == static_cast<Narrow>(value);
      packed_[i] = packed_key(static_cast<Narrow>(value), i, false);
    }
    return fits;
  }

  // Keys of 32 bits; whether elements that have the same are equal.
  template <typename T>
  bool narrow(const Lane<T>& lane) {
    if constexpr (std::is_same_v<T, float>) {
      if (lane.step == sizeof(T)) {
        key_selection().keys_of(reinterpret_cast<const float*>(lane.first), lane.count,
                                narrow_.data());
        return true;
      }
    }
    const auto fill = [&](const auto& key_of) {
      for (int64_t i = 0; i < lane.count; ++i)
        narrow_[i] = static_cast<int32_t>(key_of(lane[i]) ^ 0x80000000U);
    };
    if constexpr (kPacks<T>) {
      fill([](T value) { return sort_key(value, false); });
      return true;
    }
    const auto upper = [](T value) {
      return static_cast<uint32_t>(wide_sort_key(static_cast<Widest<T>>(value)) >> 32U);
    };
    if constexpr (std::is_same_v<T, int64_t>) {
      bool fits = true;
      for (int64_t i = 0; i < lane.count; ++i) {
        narrow_[i] = static_cast<int32_t>(lane[i]);
        fits &= narrow_[i] == lane[i];
      }
      if (fits) return true;
    }
    fill(upper);
    return false;
  }

  // Wide keys of the elements whose place is taken.
  template <typename T>
  void widen(const Lane<T>& lane, const auto& takes) {
    wide_.clear();
    for (int64_t i = 0; i < lane.count; ++i) {
      if (takes(i))
        wide_.emplace_back(wide_sort_key(static_cast<Widest<T>>(lane[i])),
                           static_cast<uint64_t>(i));
    }
  }

  bool is_packed_ = false;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> room_;
  std::vector<int32_t> narrow_;
  std::vector<WideKey> wide_;
};

// Runs pick(lane, keys) -> place for each lane along `dim` and gathers (values, indices).
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
    loop.run_ranges(grain_of(count), [&](const auto& each) {
      LaneKeys keys;
      each([&](const LaneLoop::Pointers& pointers) {
        const Lane<T> lane{pointers[0], count, loop.step(0)};
        const int64_t at = pick(lane, keys);
        *reinterpret_cast<T*>(pointers[1]) = lane[at];
        *reinterpret_cast<int64_t*>(pointers[2]) = at;
      });
    });
  });
  if (tensor.dim() == 0 || !keepdim) {
    values = squeeze_dim(values, d);
    indices = squeeze_dim(indices, d);
  }
  return {values, indices};
}

struct MedianPick {
  bool ignore_nan;
  template <typename T>
  int64_t operator()(const Lane<T>& lane, LaneKeys& keys) const {
    int64_t count = lane.count;
    for (int64_t i = 0; i < lane.count; ++i) {
      if (!value_is_nan(lane[i])) continue;
      if (!ignore_nan) return i;
      --count;
    }
    return keys.nth(lane, std::max<int64_t>(count - 1, 0) / 2);
  }
};

// The last of the most frequent elements; of as many, of the least ones. NaNs equal nothing.
struct ModePick {
  template <typename T>
  int64_t operator()(const Lane<T>& lane, LaneKeys& keys) const {
    keys.sort(lane);
    int64_t best = keys.place(0);
    int64_t best_count = 0;
    int64_t run = 0;
    for (int64_t i = 0; i < lane.count; ++i) {
      ++run;
      if (i + 1 < lane.count && keys.are_equal(i, i + 1) && !value_is_nan(lane[keys.place(i)]))
        continue;
      if (run > best_count) {
        best = keys.place(i);
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
                    [k](const auto& lane, LaneKeys& keys) { return keys.nth(lane, k - 1); });
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
