#include "tierup/kernels/reduce/reduce_extremum.h"

#include <cmath>
#include <limits>

#include "tierup/kernels/reduce/dense_folds.h"
#include "tierup/kernels/reduce/reduce.h"

namespace tierup::kernels {
namespace {

// Narrow floats are compared as float.
template <typename T>
using Compared =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <typename T>
constexpr T lowest_of() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::lowest();
  else
    return -std::numeric_limits<T>::infinity();
}
template <typename T>
constexpr T highest_of() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::max();
  else
    return std::numeric_limits<T>::infinity();
}

template <typename T, bool kMax>
struct ExtremumReducer {
  using In = T;
  using Acc = Compared<T>;
  using Out = T;
  static constexpr bool kTiles = true;

  Acc identity() const { return kMax ? lowest_of<Acc>() : highest_of<Acc>(); }
  Acc merge(Acc a, Acc b) const {
    const bool keep = kMax ? a > b : a < b;
    if constexpr (std::is_integral_v<Acc>)
      return keep ? a : b;
    else
      return static_cast<int>(keep) | static_cast<int>(a != a) ? a : b;
  }
  void fold(Acc& into, In value) const { into = merge(into, static_cast<Acc>(value)); }
  Acc block(const In* p, int64_t count, int64_t stride) const {
    if constexpr (kFoldsDense<T>) {
      if (stride == 1 && count >= 64)
        return fold_dense(kMax ? dense_folds<T>().max : dense_folds<T>().min, p, count);
    }
    return fold_lanes(
        p, count, stride, identity(), [this](Acc& a, In v) { fold(a, v); },
        [this](Acc a, Acc b) { return merge(a, b); });
  }
  // A tile of neighbouring outputs, some rows at once.
  void fold_rows(const In* rows, int64_t count, int64_t stride, int64_t width, Acc* tile) const
      requires(kFoldsDense<T>) {
    const auto& folds = dense_folds<T>();
    fold_dense_rows(kMax ? folds.max_rows : folds.min_rows, rows, count, stride, width, tile);
  }
  Acc across(const Acc* tile, int64_t width) const requires(kFoldsDense<T>) {
    const auto& folds = dense_folds<T>();
    return (kMax ? folds.max : folds.min)(tile, width);
  }
  Out finish(Acc acc) const { return static_cast<Out>(acc); }
};

void check_not_empty(const Tensor& self, const IntVector& dims, const char* what) {
  if (self.numel() != 0) return;
  require(!dims.empty(), ErrorCode::kInvalidArgument,
          "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
          "reduction dim with the 'dim' argument.",
          what);
  for (const int64_t dim : dims) {
    const int64_t d = wrap_dim(dim, self.dim());
    require(self.dim() == 0 || self.sizes()[d] != 0, ErrorCode::kOutOfRange,
            "{}(): Expected reduction dim {} to have non-zero size.", what, dim);
  }
}

template <bool kMax>
Tensor extremum(const Tensor& self, const IntVector& dims, bool keepdim, const char* what) {
  check_not_empty(self, dims, what);
  return dispatch_real(self.dtype(), what, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return reduce_tensor(ExtremumReducer<T, kMax>{}, self, dims, keepdim);
  });
}

}  // namespace

Tensor amax(const Tensor& self, const IntVector& dims, bool keepdim) {
  return extremum<true>(self, dims, keepdim, "amax");
}
Tensor amin(const Tensor& self, const IntVector& dims, bool keepdim) {
  return extremum<false>(self, dims, keepdim, "amin");
}
Tensor max(const Tensor& self) { return extremum<true>(self, {}, false, "max"); }
Tensor min(const Tensor& self) { return extremum<false>(self, {}, false, "min"); }

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const IntVector dims = dim ? IntVector{*dim} : IntVector{};
  check_not_empty(self, dims, "aminmax");
  return dispatch_real(self.dtype(), "aminmax", [&](auto tag) {
    using T = typename decltype(tag)::type;
    return std::tuple{reduce_tensor(ExtremumReducer<T, false>{}, self, dims, keepdim),
                      reduce_tensor(ExtremumReducer<T, true>{}, self, dims, keepdim)};
  });
}

}  // namespace tierup::kernels
