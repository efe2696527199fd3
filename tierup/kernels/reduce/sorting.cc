#include "tierup/kernels/reduce/sorting.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/memory/nan_order.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/interruptible_sort.h"
#include "tierup/kernels/reduce/packed_keys.h"
#include "tierup/kernels/reduce/placed_keys.h"
#include "tierup/kernels/reduce/short_lanes.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// An element, widened, and its place.
template <typename W>
using Element = std::pair<W, int64_t>;

template <typename W>
bool ascends(const Element<W>& a, const Element<W>& b) {
  return nan_less(a.first, b.first);
}
template <typename W>
bool descends(const Element<W>& a, const Element<W>& b) {
  return nan_less(b.first, a.first);
}

template <typename T>
void read_lane(const char* lane, int64_t count, int64_t step,
               std::vector<Element<Widest<T>>>& elements) {
  elements.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    elements[i] = {static_cast<Widest<T>>(*reinterpret_cast<const T*>(lane + i * step)), i};
  }
}

// Writes the elements of the first `kept` places, and these: lanes are the input, values, indices.
template <typename T>
void write_lane(const LaneLoop& loop, const LaneLoop::Pointers& lane, int64_t kept,
                const auto& place_of) {
  for (int64_t i = 0; i < kept; ++i) {
    const int64_t from = place_of(i);
    *reinterpret_cast<T*>(lane[1] + i * loop.step(1)) =
        *reinterpret_cast<const T*>(lane[0] + from * loop.step(0));
    *reinterpret_cast<int64_t*>(lane[2] + i * loop.step(2)) = from;
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
    loop.run(grain_of(count), [&](const LaneLoop::Pointers& lane) {
      std::vector<Element<Widest<T>>> elements;
      read_lane<T>(lane[0], count, loop.step(0), elements);
      arrange(elements);
      write_lane<T>(loop, lane, kept, [&](int64_t i) { return elements[i].second; });
    });
  });
}

template <typename T>
void sort_packed(const LaneLoop& loop, int64_t count, bool descending) {
  loop.run_ranges(sorting_grain(count), [&](const auto& each) {
    std::vector<uint64_t> keys(static_cast<size_t>(count));
    std::vector<uint64_t> room;
    each([&](const LaneLoop::Pointers& lane) {
      for (int64_t i = 0; i < count; ++i) {
        const T value = *reinterpret_cast<const T*>(lane[0] + i * loop.step(0));
        keys[i] = packed_key(value, i, descending);
      }
      sort_keys(keys, room);
      write_lane<T>(loop, lane, count, [&](int64_t i) { return place_in(keys[i]); });
    });
  });
}

// Whole numbers that lie less than 2^32 apart, as most do, pack as narrower ones. False for others.
bool pack_close(const int64_t* lane, int64_t count, int64_t step, bool descending,
                std::vector<uint64_t>& keys) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  int64_t least = lane[0];
  int64_t most = lane[0];
  for (int64_t i = 1; i < count; ++i) {
    least = std::min(least, lane[i * step]);
    most = std::max(most, lane[i * step]);
  }
  const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
  if (range > kMost || static_cast<uint64_t>(count) > kMost) return false;
  keys.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t above = static_cast<uint64_t>(lane[i * step]) - static_cast<uint64_t>(least);
    keys[i] = (descending ? range - above : above) << 32U | static_cast<uint64_t>(i);
  }
  return true;
}

// Lanes of any elements.
void sort_wide(const Tensor& self, int64_t d, const Tensor& values, const Tensor& indices,
               bool descending) {
  const int64_t count = self.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  dispatch_real(self.dtype(), "sort", [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop.run_ranges(sorting_grain(count), [&](const auto& each) {
      std::vector<uint64_t> packed;
      std::vector<uint64_t> packed_room;
      std::vector<PlacedKey> keys;
      std::vector<PlacedKey> room;
      each([&](const LaneLoop::Pointers& lane) {
        if constexpr (std::is_same_v<T, int64_t>) {
          const auto* const numbers = reinterpret_cast<const int64_t*>(lane[0]);
          const int64_t step = loop.step(0) / static_cast<int64_t>(sizeof(T));
          if (pack_close(numbers, count, step, descending, packed)) {
            sort_keys(packed, packed_room);
            return write_lane<T>(loop, lane, count, [&](int64_t i) { return place_in(packed[i]); });
          }
        }
        keys.resize(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i) {
          const T value = *reinterpret_cast<const T*>(lane[0] + i * loop.step(0));
          keys[i] = {ordered_word(static_cast<Widest<T>>(value), descending), i};
        }
        sort_placed_keys(keys, room);
        write_lane<T>(loop, lane, count, [&](int64_t i) { return keys[i].place; });
      });
    });
  });
}

// False, with nothing done, for elements or lanes that do not pack.
bool sort_narrow(const Tensor& self, int64_t d, const Tensor& values, const Tensor& indices,
                 bool descending) {
  const int64_t count = self.sizes()[d];
  if (count > int64_t{std::numeric_limits<uint32_t>::max()}) return false;
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  return dispatch_real(self.dtype(), "sort", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kPacks<T>) {
      if (!are_short(self, d) || !values.is_contiguous()) {
        sort_packed<T>(loop, count, descending);
        return true;
      }
      for_sorted_lanes<T>(self, descending, [&](int64_t lane, const auto& key_at) {
        const T* from = self.data<T>() + lane * count;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t place = place_in(key_at(i));
          values.data<T>()[lane * count + i] = from[place];
          indices.data<int64_t>()[lane * count + i] = place;
        }
      });
    }
    return kPacks<T>;
  });
}

// As PyTorch chooses, so that even the order among equal elements is its own.
template <typename W>
void select_first(std::vector<Element<W>>& elements, int64_t k, bool largest, bool sorted) {
  const auto first = elements.begin();
  const auto count = static_cast<int64_t>(elements.size());
  if (k == 0) return;
  sort_asking(count, largest ? &descends<W> : &ascends<W>, [&](const auto& before) {
    std::nth_element(first, first + k - 1, elements.end(), before);
    if (sorted) std::sort(first, first + k - 1, before);
  });
}

// Puts an element in the place of a heap's top: the hole sinks to a leaf along the greater
// children, and the element rises from there. As std::partial_sort does, so that equal elements end
// up in the same order.
template <typename W, typename Before>
void replace_top(std::vector<Element<W>>& heap, Element<W> element, const Before& before) {
  const size_t count = heap.size();
  size_t hole = 0;
  while (2 * hole + 2 < count) {
    size_t child = 2 * hole + 2;
    if (before(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  if (2 * hole + 2 == count) {
    heap[hole] = heap[count - 1];
    hole = count - 1;
  }
  while (hole > 0 && before(heap[(hole - 1) / 2], element)) {
    heap[hole] = heap[(hole - 1) / 2];
    hole = (hole - 1) / 2;
  }
  heap[hole] = element;
}

// Whether one of kBlock elements may have to go before `top`.
constexpr int64_t kBlock = 32;
template <typename T>
bool may_enter(const T* block, Widest<T> top, bool largest) {
  using Compared = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  const auto bound = static_cast<Compared>(top);
  bool any = false;
  if (largest) {
    for (int64_t i = 0; i < kBlock; ++i) any |= !(static_cast<Compared>(block[i]) <= bound);
  } else {
    for (int64_t i = 0; i < kBlock; ++i) any |= !(static_cast<Compared>(block[i]) >= bound);
  }
  return any;
}

// Of elements [i, end), which lie side by side: where one may have to go before `top`, or the end.
template <typename T>
int64_t next_to_enter(const T* data, int64_t i, int64_t end, Widest<T> top, bool largest) {
  if constexpr (std::is_same_v<T, float>) {
    const FloatFolds& folds = float_folds();
    return i + (largest ? folds.first_above : folds.first_below)(data + i, end - i,
                                                                 static_cast<float>(top));
  } else {
    while (i + kBlock <= end && !may_enter(data + i, top, largest)) i += kBlock;
    return i;
  }
}

// The first k of a long lane, in order: what std::partial_sort gives, without a copy of the lane.
// Most elements are not before the k-th so far, and are passed over.
template <typename T>
void select_few(const char* lane, int64_t count, int64_t step, int64_t k, bool largest,
                std::vector<Element<Widest<T>>>& heap) {
  constexpr int64_t kPollInterval = int64_t{1} << 20;
  constexpr int64_t kLookedAt = std::is_same_v<T, float> ? 1 : kBlock;  // Of which one may enter.
  using W = Widest<T>;
  const auto before = largest ? &descends<W> : &ascends<W>;
  const bool is_dense = step == sizeof(T);
  read_lane<T>(lane, k, step, heap);
  std::make_heap(heap.begin(), heap.end(), before);
  for (int64_t i = k; i < count;) {
    const int64_t end = std::min(i + kPollInterval, count);
    while (i < end) {
      if (is_dense)
        i = next_to_enter(reinterpret_cast<const T*>(lane), i, end, heap[0].first, largest);
      const int64_t stop = is_dense ? std::min(i + kLookedAt, end) : end;
      for (; i < stop; ++i) {
        const Element<W> element{static_cast<W>(*reinterpret_cast<const T*>(lane + i * step)), i};
        if (before(element, heap[0])) replace_top(heap, element, before);
      }
    }
    if (end < count) poll_interrupt();
  }
  std::sort_heap(heap.begin(), heap.end(), before);
}

// topk of so few that most elements are only looked at once.
bool is_few(int64_t k, int64_t count) { return k > 0 && k * 64 <= count; }

void select_few_of_lanes(const Tensor& self, int64_t d, const Tensor& values, const Tensor& indices,
                         bool largest) {
  const int64_t count = self.sizes()[d];
  const int64_t k = values.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  dispatch_real(self.dtype(), "topk", [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop.run_ranges(grain_of(count), [&](const auto& each) {
      std::vector<Element<Widest<T>>> heap;
      each([&](const LaneLoop::Pointers& lane) {
        select_few<T>(lane[0], count, loop.step(0), k, largest, heap);
        write_lane<T>(loop, lane, k, [&](int64_t i) { return heap[i].second; });
      });
    });
  });
}

// The least `kept` of the lane's keys, in order; perhaps more, where those are a large part of it.
template <typename T>
void first_keys(const char* lane, int64_t count, int64_t step, size_t kept, bool largest,
                std::vector<uint64_t>& keys, std::vector<uint64_t>& room) {
  constexpr size_t kLeastParts = 4;
  const auto key_of = [&](int64_t i) {
    const T value = *reinterpret_cast<const T*>(lane + i * step);
    return packed_key(value, i, largest);
  };
  const bool takes_all = kept * kLeastParts > static_cast<size_t>(count);
  const auto first = takes_all ? count : static_cast<int64_t>(kept);
  keys.clear();
  for (int64_t i = 0; i < first; ++i) keys.push_back(key_of(i));
  if (takes_all || kept <= kFewKeys) {
    sort_keys(keys, room);
    for (int64_t i = first; i < count; ++i) {
      const uint64_t key = key_of(i);
      if (key < keys.back()) insert_key(keys.data(), kept - 1, key);
    }
    return;
  }
  std::make_heap(keys.begin(), keys.end());
  for (int64_t i = first; i < count; ++i) {
    const uint64_t key = key_of(i);
    if (key >= keys.front()) continue;
    std::pop_heap(keys.begin(), keys.end());
    keys.back() = key;
    std::push_heap(keys.begin(), keys.end());
  }
  std::sort_heap(keys.begin(), keys.end());
}

// The first k in order, where none of them equals another, or the one behind them: their order is
// then the same by whatever way. False where some are equal.
template <typename T>
bool select_unequal(const char* lane, int64_t count, int64_t step, int64_t k, bool largest,
                    std::vector<uint64_t>& keys, std::vector<uint64_t>& room) {
  const int64_t kept = std::min(k + 1, count);
  first_keys<T>(lane, count, step, static_cast<size_t>(kept), largest, keys, room);
  const auto end = keys.begin() + kept;
  return std::adjacent_find(keys.begin(), end,
                            [](uint64_t a, uint64_t b) { return a >> 32U == b >> 32U; }) == end;
}

// The same of short lanes; what has equal elements is selected as PyTorch does.
template <typename T>
void select_short(const Tensor& self, int64_t k, bool largest, const Tensor& values,
                  const Tensor& indices) {
  const int64_t count = self.sizes().back();
  for_sorted_lanes<T>(self, largest, [&](int64_t lane, const auto& key_at) {
    const T* from = self.data<T>() + lane * count;
    T* to = values.data<T>() + lane * k;
    int64_t* places = indices.data<int64_t>() + lane * k;
    bool is_unequal = true;
    for (int64_t i = 0; i < k; ++i) {
      const uint64_t key = key_at(i);
      is_unequal &= i + 1 == count || key >> 32U != key_at(i + 1) >> 32U;
      places[i] = place_in(key);
      to[i] = from[places[i]];
    }
    if (is_unequal) return;
    std::vector<Element<Widest<T>>> elements;
    read_lane<T>(reinterpret_cast<const char*>(from), count, sizeof(T), elements);
    select_first(elements, k, largest, true);
    for (int64_t i = 0; i < k; ++i) {
      places[i] = elements[static_cast<size_t>(i)].second;
      to[i] = from[places[i]];
    }
  });
}

// Lanes that are short enough to be gone through without a question for an interrupt.
bool is_short(int64_t count) { return count <= int64_t{1} << 20; }

// False, with nothing done, for elements that do not pack.
bool select_some_of_lanes(const Tensor& self, int64_t d, const Tensor& values,
                          const Tensor& indices, bool largest) {
  const int64_t count = self.sizes()[d];
  const int64_t k = values.sizes()[d];
  const LaneLoop loop(self.sizes(), d, {&self, &values, &indices});
  return dispatch_real(self.dtype(), "topk", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kPacks<T>) {
      if (are_short(self, d)) {
        select_short<T>(self, k, largest, values, indices);
        return true;
      }
      loop.run_ranges(sorting_grain(count), [&](const auto& each) {
        std::vector<uint64_t> keys;
        std::vector<uint64_t> room;
        std::vector<Element<Widest<T>>> elements;
        each([&](const LaneLoop::Pointers& lane) {
          const bool is_unequal =
              select_unequal<T>(lane[0], count, loop.step(0), k, largest, keys, room);
          if (!is_unequal) {
            read_lane<T>(lane[0], count, loop.step(0), elements);
            select_first(elements, k, largest, true);
          }
          write_lane<T>(loop, lane, k, [&](int64_t i) {
            return is_unequal ? place_in(keys[i]) : elements[i].second;
          });
        });
      });
    }
    return kPacks<T>;
  });
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  const int64_t d = wrap_dim(dim, self.dim());
  Tensor values = empty_like(self, self.dtype());
  Tensor indices = empty_like(self, ScalarType::kLong);
  if (self.numel() == 0) return {values, indices};
  if (sort_narrow(atleast_1d(self), d, atleast_1d(values), atleast_1d(indices), descending))
    return {values, indices};
  sort_wide(atleast_1d(self), d, atleast_1d(values), atleast_1d(indices), descending);
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
  if (is_few(k, size)) {
    select_few_of_lanes(atleast_1d(self), d, atleast_1d(values), atleast_1d(indices), largest);
    return {values, indices};
  }
  if (sorted && is_short(size) &&
      select_some_of_lanes(atleast_1d(self), d, atleast_1d(values), atleast_1d(indices), largest))
    return {values, indices};
  arrange_lanes(atleast_1d(self), d, atleast_1d(values), atleast_1d(indices), "topk",
                [&](auto& elements) { select_first(elements, k, largest, sorted); });
  return {values, indices};
}

}  // namespace tierup::kernels
