#include "tierup/kernels/sorting.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tierup/kernels/copy.h"
#include "tierup/kernels/lane_loop.h"
#include "tierup/kernels/nan_order.h"
#include "tierup/kernels/view.h"

namespace tierup::kernels {
namespace {

template <typename T>
using Element = std::pair<T, int64_t>;

template <typename T>
bool ascends(const Element<T>& a, const Element<T>& b) {
  return nan_less(a.first, b.first);
}
template <typename T>
bool descends(const Element<T>& a, const Element<T>& b) {
  return nan_less(b.first, a.first);
}

template <typename T>
void read_lane(const char* lane, int64_t count, int64_t step, std::vector<Element<T>>& elements) {
  elements.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    elements[i] = {*reinterpret_cast<const T*>(lane + i * step), i};
  }
}

// For each lane along d: reads it, calls arrange(elements), writes the first out-size elements.
template <typename Arrange>
void arrange_lanes(const Tensor& self, int64_t d, const Tensor& values, const Tensor& indices,
                   const char* what, const Arrange& arrange) {
  const int64_t count = self.sizes()[d];
  const int64_t kept = values.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  dispatch_real(self.dtype(), what, [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop.run(LaneLoop::grain_for(count), [&](const LaneLoop::Pointers& lane) {
      std::vector<Element<T>> elements;
      read_lane(lane[0], count, loop.step(0), elements);
      arrange(elements);
      for (int64_t i = 0; i < kept; ++i) {
        *reinterpret_cast<T*>(lane[1] + i * loop.step(1)) = elements[i].first;
        *reinterpret_cast<int64_t*>(lane[2] + i * loop.step(2)) = elements[i].second;
      }
    });
  });
}

// As PyTorch chooses, so that even the order among equal elements is its own.
template <typename T>
void select_first(std::vector<Element<T>>& elements, int64_t k, bool largest, bool sorted) {
  const auto before = largest ? &descends<T> : &ascends<T>;
  const auto first = elements.begin();
  if (k == 0) return;
  if (k * 64 <= static_cast<int64_t>(elements.size())) {
    std::partial_sort(first, first + k, elements.end(), before);
    return;
  }
  std::nth_element(first, first + k - 1, elements.end(), before);
  if (sorted) std::sort(first, first + k - 1, before);
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  const int64_t d = wrap_dim(dim, self.dim());
  Tensor values = empty_like(self, self.dtype());
  Tensor indices = empty_like(self, ScalarType::kLong);
  if (self.numel() == 0) return {values, indices};
  arrange_lanes(
      atleast_1d(self), d, atleast_1d(values), atleast_1d(indices), "sort",
      [descending](auto& elements) {
        using T = typename std::remove_cvref_t<decltype(elements)>::value_type::first_type;
        std::stable_sort(elements.begin(), elements.end(), descending ? &descends<T> : &ascends<T>);
      });
  return {values, indices};
}

Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(sort(self, dim, descending));
}

Tensor msort(const Tensor& self) { return std::get<0>(sort(self, 0, false)); }

std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest,
                                bool sorted) {
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.dim() == 0 ? 1 : self.sizes()[d];
  require(k >= 0 && k <= size, ErrorCode::kInvalidArgument, "selected index k out of range");
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  if (self.dim() > 0) sizes[d] = k;
  Tensor values = Tensor::empty(sizes, self.dtype());
  Tensor indices = Tensor::empty(sizes, ScalarType::kLong);
  if (values.numel() == 0) return {values, indices};
  arrange_lanes(atleast_1d(self), d, atleast_1d(values), atleast_1d(indices), "topk",
                [&](auto& elements) { select_first(elements, k, largest, sorted); });
  return {values, indices};
}

}  // namespace tierup::kernels
