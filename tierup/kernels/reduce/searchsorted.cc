#include "tierup/kernels/reduce/searchsorted.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/index_select.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/nan_order.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/reduce/interruptible_sort.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// The places of kValues values in one sorted sequence. The comparisons are negated so that NaN goes
// behind all numbers, and every value before NaN. Where a search goes is as good as random: it is
// computed, not branched on; and since all searches take the same number of steps, several go on
// side by side while each waits for its element.
template <bool kRight, int kValues, typename T>
void find_places(const T* sorted, int64_t count, const T* value, int64_t* place) {
  std::array<int64_t, kValues> low{};
  const auto go_on = [&](int64_t at, int64_t by) {
    for (int k = 0; k < kValues; ++k) {
      const T middle = sorted[low[k] + at];
      const bool goes_on = kRight ? !(middle > value[k]) : !(middle >= value[k]);
      low[k] += -static_cast<int64_t>(goes_on) & by;
    }
  };
  for (int64_t left = count; left > 0;) {
    const int64_t half = (left + 1) / 2;
    go_on(half - 1, half);
    left -= half;
  }
  for (int k = 0; k < kValues; ++k) place[k] = low[k];
}

// Behind numbers, NaN is no number's bound: where a search ends depends on the elements that it
// looks at, which are those of PyTorch's here.
template <bool kRight, typename T>
int64_t find_place(const T* sorted, int64_t count, T value) {
  int64_t low = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    const T middle = sorted[low + half];
    const bool goes_on = kRight ? !(middle > value) : !(middle >= value);
    if (goes_on) low += half + 1;
    count = goes_on ? count - half - 1 : half;
  }
  return low;
}

template <bool kRight, typename T>
void find_all(const T* sorted, int64_t count, const T* value, int64_t values, int64_t* place) {
  constexpr int kAtOnce = 8;
  int64_t i = 0;
  if (count > 0 && value_is_nan(sorted[count - 1])) {
    for (; i < values; ++i) place[i] = find_place<kRight>(sorted, count, value[i]);
    return;
  }
  for (; i + kAtOnce <= values; i += kAtOnce)
    find_places<kRight, kAtOnce>(sorted, count, value + i, place + i);
  for (; i < values; ++i) find_places<kRight, 1>(sorted, count, value + i, place + i);
}

void check_shapes(const Tensor& sequence, const Tensor& values) {
  require(sequence.dim() > 0, ErrorCode::kInvalidArgument,
          "torch.searchsorted(): the sorted sequence must have at least one dimension");
  if (sequence.dim() == 1) return;
  bool fits = sequence.dim() == values.dim();
  for (int64_t d = 0; fits && d + 1 < values.dim(); ++d)
    fits = sequence.sizes()[d] == values.sizes()[d];
  if (!fits) {
    fail(
        ErrorCode::kInvalidArgument,
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
        "of boundaries tensor and input value tensor must match, but we got boundaries tensor {} "
        "and input value tensor {}",
        shape_string(sequence.sizes()), shape_string(values.sizes()));
  }
}

// Into `out` whether each element is one of the tests; the other way round if `invert`. Both are
// compared as W.
template <typename W>
void mark_known(const Tensor& elements, const Tensor& tests, bool invert, const Tensor& out) {
  const Tensor wanted = contiguous(to_dtype(elements, kDTypeOf<W>));
  const Tensor known = contiguous(to_dtype(tests, kDTypeOf<W>));
  std::vector<W> sorted(known.data<W>(), known.data<W>() + known.numel());
  sort_asking(known.numel(), &nan_less<W>,
              [&](const auto& less) { std::sort(sorted.begin(), sorted.end(), less); });
  const W* element = wanted.data<W>();
  bool* found = out.data<bool>();
  parallel_for(0, out.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = std::lower_bound(sorted.begin(), sorted.end(), element[i], nan_less<W>);
      found[i] = (at != sorted.end() && *at == element[i]) != invert;
    }
  });
}

}  // namespace

Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  require(!side || *side == "left" || *side == "right", ErrorCode::kInvalidArgument,
          "torch.searchsorted(): side can only be 'left' or 'right' but got {}", side.value_or(""));
  require(!side || !right || *side == "right", ErrorCode::kInvalidArgument,
          "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
          "right was True");
  check_shapes(sequence, values);
  const bool behind = right || (side && *side == "right");
  Tensor sorted_sequence = sequence;
  if (sorter.defined()) {
    require(sorter.dtype() == ScalarType::kLong, ErrorCode::kInvalidArgument,
            "torch.searchsorted(): the sorter needs the dtype long, but has {}",
            scalar_type_name(sorter.dtype()));
    if (!(std::equal(sorter.sizes().begin(), sorter.sizes().end(), sequence.sizes().begin(),
                     sequence.sizes().end()))) {
      fail(ErrorCode::kInvalidArgument,
           "torch.searchsorted(): boundary and sorter must have the same size, but got {} and {}",
           shape_string(sequence.sizes()), shape_string(sorter.sizes()));
    }
    sorted_sequence = gather(sequence, -1, sorter);
  }
  const ScalarType type = result_type(sequence, values);
  const Tensor sorted = contiguous(to_dtype(sorted_sequence, type));
  const Tensor wanted = contiguous(to_dtype(values, type));
  Tensor out = Tensor::empty(values.sizes(), ScalarType::kLong);
  const int64_t count = sorted.sizes()[sorted.dim() - 1];
  const int64_t row = values.dim() == 0 ? 1 : values.size(-1);
  dispatch_real(type, "searchsorted", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* bounds = sorted.data<T>();
    const T* value = wanted.data<T>();
    int64_t* place = out.data<int64_t>();
    const bool is_shared = sequence.dim() == 1;
    const int64_t steps = std::bit_width(static_cast<uint64_t>(count)) + 1;
    parallel_for(0, out.numel(), grain_of(steps), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t values = is_shared ? end - begin : std::min(end - begin, row - begin % row);
        const T* own = is_shared ? bounds : bounds + begin / row * count;
        (behind ? find_all<true, T> : find_all<false, T>)(own, count, value + begin, values,
                                                          place + begin);
        begin += values;
      }
    });
  });
  return out_int32 ? to_dtype(out, ScalarType::kInt) : out;
}

Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool out_int32, bool right) {
  require(boundaries.dim() == 1, ErrorCode::kInvalidArgument,
          "boundaries tensor must be 1 dimension, but got dim({})", boundaries.dim());
  return searchsorted(boundaries, values, out_int32, right, std::nullopt, {});
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool /*assume_unique*/,
            bool invert) {
  const ScalarType type = result_type(elements, test_elements);
  Tensor out = Tensor::empty(elements.sizes(), ScalarType::kBool);
  dispatch_real(type, "isin", [&](auto tag) {
    mark_known<Widest<typename decltype(tag)::type>>(to_dtype(elements, type),
                                                     to_dtype(test_elements, type), invert, out);
  });
  return out;
}

}  // namespace tierup::kernels
