// Distinct elements and slices: aten::unique and its kin.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tierup/kernels/indexing/index_select.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/nan_order.h"
#include "tierup/kernels/reduce/interruptible_sort.h"
#include "tierup/kernels/reduce/searchsorted.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor from_vector(const std::vector<int64_t>& values) {
  Tensor out = Tensor::empty(IntVector{static_cast<int64_t>(values.size())}, ScalarType::kLong);
  std::copy(values.begin(), values.end(), out.data<int64_t>());
  return out;
}

// Groups of equal neighbours in an order of items: the first item and the size of each group, and
// for each item the number of its group.
struct Groups {
  std::vector<int64_t> first;
  std::vector<int64_t> counts;
  std::vector<int64_t> inverse;
};

template <typename Equal>
Groups group(const std::vector<int64_t>& order, const Equal& equal) {
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !equal(order[i - 1], order[i])) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[order[i]] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

// The order of integers whose values lie so close together that a count of each takes no more room
// than they do; none if they do not.
template <typename T>
std::optional<std::vector<int64_t>> counted_order(const T* items, int64_t count) {
  if (count == 0) return std::nullopt;
  const auto [least, most] = std::minmax_element(items, items + count);
  const uint64_t range = static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least);
  if (range >= static_cast<uint64_t>(count)) return std::nullopt;
  const auto value_of = [&, low = static_cast<uint64_t>(*least)](int64_t i) {
    return static_cast<size_t>(static_cast<uint64_t>(items[i]) - low);
  };
  std::vector<int64_t> starts(range + 2, 0);
  for (int64_t i = 0; i < count; ++i) ++starts[value_of(i) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) order[static_cast<size_t>(starts[value_of(i)]++)] = i;
  return order;
}

// Sorts the indices of `count` items of `width` elements each, which are compared as W.
template <typename W>
void sort_rows(const Tensor& items, int64_t count, int64_t width, std::vector<int64_t>& order) {
  const Tensor wide = to_dtype(items, kDTypeOf<W>);
  const W* p = wide.data<W>();
  sort_asking(
      count,
      [&](int64_t a, int64_t b) {
        return std::lexicographical_compare(p + a * width, p + (a + 1) * width, p + b * width,
                                            p + (b + 1) * width, nan_less<W>);
      },
      [&](const auto& less) { std::stable_sort(order.begin(), order.end(), less); });
}

// The groups of `count` items of `width` elements each, sorted first if `sorted`.
Groups group_items(const Tensor& items, int64_t count, int64_t width, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return dispatch_real(items.dtype(), "unique", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = items.data<T>();
    bool is_in_order = !sorted;
    if constexpr (std::is_integral_v<T>) {
      if (auto counted = width == 1 && sorted ? counted_order(p, count) : std::nullopt) {
        order = *std::move(counted);
        is_in_order = true;
      }
    }
    if (!is_in_order && width == 1) {
      const Tensor indices = std::get<1>(sort(items, 0, false));
      order.assign(indices.data<int64_t>(), indices.data<int64_t>() + count);
    } else if (!is_in_order) {
      sort_rows<Widest<T>>(items, count, width, order);
    }
    return group(order, [&](int64_t a, int64_t b) {
      return std::equal(p + a * width, p + (a + 1) * width, p + b * width);
    });
  });
}

Tensor empty_long() { return Tensor::empty(IntVector{0}, ScalarType::kLong); }

UniqueResult unique_elements(const Tensor& self, bool sorted, bool return_inverse,
                             bool return_counts) {
  const Tensor flat = reshape(contiguous(self), {-1});
  const Groups groups = group_items(flat, flat.numel(), 1, sorted);
  return {index_select(flat, 0, from_vector(groups.first)),
          return_inverse ? view(from_vector(groups.inverse),
                                IntVector(self.sizes().begin(), self.sizes().end()))
                         : empty_long(),
          return_counts ? from_vector(groups.counts) : empty_long()};
}

// Along a dimension PyTorch gives inverse and counts whether asked for or not.
UniqueResult unique_slices(const Tensor& self, int64_t dim, bool sorted) {
  const int64_t d = wrap_dim(dim, self.dim());
  require(self.dim() > 0, ErrorCode::kOutOfRange, "unique: the input has no dimension {}", dim);
  const int64_t count = self.sizes()[d];
  if (self.numel() == 0) {
    require(count == 0, ErrorCode::kInvalidArgument,
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    return {clone(self), empty_long(), empty_long()};
  }
  const Tensor items = contiguous(movedim_int(self, d, 0));
  const Groups groups = group_items(items, count, self.numel() / count, sorted);
  return {index_select(self, d, from_vector(groups.first)), from_vector(groups.inverse),
          from_vector(groups.counts)};
}

}  // namespace

UniqueResult unique(const Tensor& self, bool /*sorted*/, bool return_inverse, bool return_counts) {
  return unique_elements(self, true, return_inverse, return_counts);
}

UniqueResult unique_dim(const Tensor& self, int64_t dim, bool /*sorted*/, bool /*inverse*/,
                        bool /*counts*/) {
  return unique_slices(self, dim, true);
}

UniqueResult unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                                std::optional<int64_t> dim) {
  if (!dim || (self.dim() == 1 && *dim == 0)) {
    return unique_elements(self, false, return_inverse, return_counts);
  }
  return unique_slices(self, *dim, false);
}

}  // namespace tierup::kernels
