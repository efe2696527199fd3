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
#include "tierup/kernels/shape/slicing.h"
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

// Without a branch on what the items are.
template <typename Equal>
Groups group(const std::vector<int64_t>& order, const Equal& equal) {
  Groups groups;
  groups.inverse.resize(order.size());
  std::vector<size_t> starts(order.size() + 1);
  size_t found = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool begins = i == 0 || !equal(order[i - 1], order[i]);
    starts[found] = begins ? i : starts[found];
    found += begins ? 1 : 0;
    groups.inverse[order[i]] = static_cast<int64_t>(found) - 1;
  }
  starts[found] = order.size();
  groups.first.resize(found);
  groups.counts.resize(found);
  for (size_t g = 0; g < found; ++g) {
    groups.first[g] = order[starts[g]];
    groups.counts[g] = static_cast<int64_t>(starts[g + 1] - starts[g]);
  }
  return groups;
}

// Where integers lie so close together that a count of each takes no more room than they do.
struct CloseRange {
  uint64_t least;
  size_t size;
  template <typename T>
  size_t place_of(T value) const {
    return static_cast<size_t>(static_cast<uint64_t>(value) - least);
  }
};
template <typename T>
std::optional<CloseRange> close_range(const T* items, int64_t count) {
  if (count == 0) return std::nullopt;
  T least = items[0];
  T most = items[0];
  for (int64_t i = 1; i < count; ++i) {
    least = std::min(least, items[i]);
    most = std::max(most, items[i]);
  }
  const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
  if (range >= static_cast<uint64_t>(count)) return std::nullopt;
  return CloseRange{static_cast<uint64_t>(least), range + 1};
}

// The order of such integers; none of others.
template <typename T>
std::optional<std::vector<int64_t>> counted_order(const T* items, int64_t count) {
  const auto range = close_range(items, count);
  if (!range) return std::nullopt;
  std::vector<int64_t> starts(range->size + 1, 0);
  for (int64_t i = 0; i < count; ++i) ++starts[range->place_of(items[i]) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t& next = starts[range->place_of(items[i])];
    order[static_cast<size_t>(next++)] = i;
  }
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

// The first of each group of equal neighbours.
Tensor distinct_neighbours(const Tensor& flat) {
  return dispatch_real(flat.dtype(), "unique", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t count = flat.numel();
    const T* p = flat.data<T>();
    const Tensor found = Tensor::empty(flat.sizes(), flat.dtype());
    T* to = found.data<T>();
    int64_t groups = 0;
    for (int64_t i = 0; i < count; ++i) {
      to[groups] = p[i];  // Stays if the next item goes behind it.
      groups += i + 1 == count || !(p[i + 1] == p[i]) ? 1 : 0;
    }
    return clone(narrow(found, 0, 0, groups));
  });
}

// What unique() gives of integers that a table has room for (see close_range), without their
// places.
struct Distinct {
  Tensor values;
  std::vector<int64_t> counts;
};
std::optional<Distinct> counted_values(const Tensor& flat) {
  if (!is_integral(flat.dtype(), true)) return std::nullopt;
  return dispatch_integral(flat.dtype(), "unique", [&](auto tag) -> std::optional<Distinct> {
    using T = typename decltype(tag)::type;
    const T* p = flat.data<T>();
    const auto range = close_range(p, flat.numel());
    if (!range) return std::nullopt;
    std::vector<int64_t> table(range->size);
    for (int64_t i = 0; i < flat.numel(); ++i) ++table[range->place_of(p[i])];
    Distinct result;
    std::vector<T> values;
    for (size_t i = 0; i < table.size(); ++i) {
      if (table[i] == 0) continue;
      values.push_back(static_cast<T>(range->least + i));
      result.counts.push_back(table[i]);
    }
    result.values = Tensor::empty(IntVector{static_cast<int64_t>(values.size())}, flat.dtype());
    std::copy(values.begin(), values.end(), result.values.data<T>());
    return result;
  });
}

UniqueResult unique_elements(const Tensor& self, bool sorted, bool return_inverse,
                             bool return_counts) {
  const Tensor flat = reshape(contiguous(self), {-1});
  if (!sorted && !return_inverse && !return_counts)
    return {distinct_neighbours(flat), empty_long(), empty_long()};
  if (sorted && !return_inverse) {
    if (const auto distinct = counted_values(flat)) {
      return {distinct->values, empty_long(),
              return_counts ? from_vector(distinct->counts) : empty_long()};
    }
  }
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
