#include "tierup/kernels/memory/strided_loop.h"

#include <algorithm>
#include <numeric>

#include "tierup/kernels/memory/short_rows.h"

namespace tierup::kernels {
namespace {

// Negative if dimension a is faster than b, positive if slower, 0 if the operands do not tell.
// `stride(k, d)` is the stride of operand k in dimension d, 0 where it is broadcast.
template <typename StrideOf>
int compare_dimensions(size_t operand_count, const StrideOf& stride, int64_t size_a, int64_t size_b,
                       size_t a, size_t b) {
  for (size_t k = 0; k < operand_count; ++k) {
    const int64_t sa = stride(k, a);
    const int64_t sb = stride(k, b);
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (size_a > size_b) return 1;
  }
  return 0;
}

// Sorts `order` from fast to slow. The relation is no total order (broadcast dimensions compare
// equal to everything), so this is the insertion sort whose outcome PyTorch's layouts show.
template <typename StrideOf, typename SizeOf>
void sort_dimensions(std::span<size_t> order, size_t operand_count, const StrideOf& stride,
                     const SizeOf& size) {
  for (size_t i = 1; i < order.size(); ++i) {
    size_t moving = i;
    for (size_t j = i; j-- > 0;) {
      const int relation = compare_dimensions(operand_count, stride, size(order[j]),
                                              size(order[moving]), order[j], order[moving]);
      if (relation < 0) break;
      if (relation > 0) {
        std::swap(order[j], order[moving]);
        moving = j;
      }
    }
  }
}

bool same_shape(IntSpan a, IntSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// Stride in elements of `tensor` in dimension d of `shape`; 0 where it is broadcast.
int64_t broadcast_stride(const Tensor& tensor, IntSpan shape, size_t d) {
  const size_t lead = shape.size() - static_cast<size_t>(tensor.dim());
  if (d < lead) return 0;
  return tensor.sizes()[d - lead] == 1 && shape[d] != 1 ? 0 : tensor.strides()[d - lead];
}

}  // namespace

StridedLoop::StridedLoop(IntSpan shape, std::span<const Tensor* const> operands)
    : operand_count_(operands.size()) {
  TIERUP_CHECK(operands.size() <= kMaxOperands);
  numel_ = numel_of(shape);
  for (size_t k = 0; k < operands.size(); ++k) base_[k] = static_cast<char*>(operands[k]->raw());
  if (set_single_run(shape, operands)) return;
  read_dimensions(shape, operands);
  order_dimensions();
  merge_dimensions();
}

bool StridedLoop::set_single_run(IntSpan shape, std::span<const Tensor* const> operands) {
  for (size_t k = 0; k < operands.size(); ++k) {
    const Tensor& tensor = *operands[k];
    if (tensor.is_contiguous() && same_shape(tensor.sizes(), shape)) {
      strides_[0][k] = static_cast<int64_t>(tensor.item_size());
    } else if (tensor.numel() == 1 && tensor.sizes().size() <= shape.size()) {
      strides_[0][k] = 0;
    } else {
      return false;
    }
  }
  rank_ = 1;
  sizes_[0] = numel_;
  return true;
}

void StridedLoop::read_dimensions(IntSpan shape, std::span<const Tensor* const> operands) {
  require(shape.size() <= kMaxRank, ErrorCode::kInvalidArgument,
          "a tensor of {} dimensions is not supported; the limit is {}", shape.size(), kMaxRank);
  for (const Tensor* tensor : operands) {
    const size_t rank = static_cast<size_t>(tensor->dim());
    bool fits = rank <= shape.size();
    for (size_t d = 0; fits && d < rank; ++d) {
      const int64_t have = tensor->sizes()[d];
      fits = have == 1 || have == shape[d + shape.size() - rank];
    }
    if (!fits) {
      fail(ErrorCode::kInvalidArgument, "shape {} cannot be broadcast to {}",
           shape_string(tensor->sizes()), shape_string(shape));
    }
  }
  rank_ = 0;
  if (numel_ == 0) return;  // Strides in bytes may have no 64 bits.
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    sizes_[rank_] = shape[d];
    for (size_t k = 0; k < operands.size(); ++k) {
      strides_[rank_][k] =
          broadcast_stride(*operands[k], shape, d) * static_cast<int64_t>(operands[k]->item_size());
    }
    ++rank_;
  }
}

void StridedLoop::order_dimensions() {
  if (rank_ < 2) return;
  std::array<size_t, kMaxRank> order;
  std::iota(order.begin(), order.begin() + rank_, size_t{0});
  sort_dimensions(
      std::span(order.data(), rank_), operand_count_,
      [&](size_t k, size_t d) { return strides_[d][k]; }, [&](size_t d) { return sizes_[d]; });
  if (std::is_sorted(order.begin(), order.begin() + rank_)) return;
  const auto sizes = sizes_;
  const auto strides = strides_;
  for (size_t i = 0; i < rank_; ++i) {
    sizes_[i] = sizes[order[i]];
    strides_[i] = strides[order[i]];
  }
}

void StridedLoop::merge_dimensions() {
  if (rank_ == 0) {  // A single element, or none.
    rank_ = 1;
    sizes_[0] = 1;
    strides_[0].fill(0);
    return;
  }
  size_t last = 0;
  for (size_t d = 1; d < rank_; ++d) {
    bool merges = true;
    for (size_t k = 0; merges && k < operand_count_; ++k) {
      merges = strides_[d][k] == strides_[last][k] * sizes_[last];
    }
    if (merges) {
      sizes_[last] *= sizes_[d];
    } else {
      ++last;
      sizes_[last] = sizes_[d];
      strides_[last] = strides_[d];
    }
  }
  rank_ = last + 1;
}

void StridedLoop::start_at(int64_t element, Pointers& pointers, Index& index) const {
  for (size_t k = 0; k < operand_count_; ++k) pointers[k] = base_[k];
  for (size_t d = 0; d < rank_; ++d) {
    index[d] = element % sizes_[d];
    element /= sizes_[d];
    for (size_t k = 0; k < operand_count_; ++k) pointers[k] += index[d] * strides_[d][k];
  }
}

void StridedLoop::advance(size_t dim, int64_t steps, Pointers& pointers, Index& index) const {
  for (size_t d = dim; d < rank_; ++d, steps = 1) {
    for (size_t k = 0; k < operand_count_; ++k) pointers[k] += steps * strides_[d][k];
    index[d] += steps;
    if (index[d] < sizes_[d]) return;
    for (size_t k = 0; k < operand_count_; ++k) pointers[k] -= sizes_[d] * strides_[d][k];
    index[d] = 0;
  }
}

void StridedLoop::run_range(int64_t begin, int64_t end, RunBody body, const void* context) const {
  Pointers pointers;
  Index index;
  start_at(begin, pointers, index);
  int64_t left = end - begin;
  while (true) {
    const int64_t count = std::min(left, sizes_[0] - index[0]);
    body(context, pointers.data(), strides_[0].data(), count);
    left -= count;
    if (left == 0) return;
    if (index[0] > 0) {
      for (size_t k = 0; k < operand_count_; ++k) pointers[k] -= index[0] * strides_[0][k];
      index[0] = 0;
    }
    advance(1, 1, pointers, index);
  }
}

void StridedLoop::run_rows_range(int64_t begin, int64_t end, RowsBody body,
                                 const void* context) const {
  Pointers pointers;
  Index index;
  start_at(begin, pointers, index);
  for (int64_t left = end - begin; left > 0;) {
    const bool is_whole = rank_ > 1 && index[0] == 0 && left >= sizes_[0];
    const int64_t runs = is_whole ? std::min(left / sizes_[0], sizes_[1] - index[1]) : 1;
    const int64_t count = std::min(left, sizes_[0] - index[0]);
    body(context,
         {pointers.data(), strides_[0].data(), count, strides_[rank_ > 1 ? 1 : 0].data(), runs});
    left -= runs * count;
    if (is_whole) {
      advance(1, runs, pointers, index);
    } else {
      advance(0, count, pointers, index);
    }
  }
}

bool StridedLoop::is_dense(size_t operand, int64_t width) const {
  for (size_t d = 0; d < rank_; ++d) {
    if (strides_[d][operand] != width) return false;
    width *= sizes_[d];
  }
  return true;
}

void StridedLoop::gather(size_t operand, int64_t width, int64_t first, int64_t count,
                         char* to) const {
  std::array<int64_t, kMaxRank> index;
  const char* from = base_[operand];
  for (size_t d = 0; d < rank_; ++d) {
    index[d] = first % sizes_[d];
    first /= sizes_[d];
    from += index[d] * strides_[d][operand];
  }
  const int64_t step = strides_[0][operand];
  while (count > 0) {
    // Whole rows as far as the next dimension goes, or a part of one.
    const bool is_whole = rank_ > 1 && index[0] == 0 && count >= sizes_[0];
    size_t moved = is_whole ? 1 : 0;
    int64_t by = is_whole ? std::min(count / sizes_[0], sizes_[1] - index[1])
                          : std::min(count, sizes_[0] - index[0]);
    copy_short_rows(to, from, width, is_whole ? sizes_[0] : by, step, is_whole ? by : 1,
                    is_whole ? strides_[1][operand] : 0);
    const int64_t done = is_whole ? by * sizes_[0] : by;
    to += done * width;
    count -= done;
    for (; moved < rank_; ++moved, by = 1) {
      from += by * strides_[moved][operand];
      index[moved] += by;
      if (index[moved] < sizes_[moved]) break;
      from -= sizes_[moved] * strides_[moved][operand];
      index[moved] = 0;
    }
  }
}

namespace {

bool are_plain(IntSpan shape, std::span<const Tensor* const> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const Tensor* input) {
    return input->dim() == 0 || (input->is_contiguous() && same_shape(input->sizes(), shape));
  });
}

}  // namespace

IntVector pointwise_strides(IntSpan shape, std::span<const Tensor* const> inputs) {
  if (shape.size() < 2 || are_plain(shape, inputs)) return contiguous_strides(shape);
  SmallVector<size_t, 8> order(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) order[i] = shape.size() - 1 - i;
  sort_dimensions(
      std::span(order.data(), order.size()), inputs.size(),
      [&](size_t k, size_t d) { return broadcast_stride(*inputs[k], shape, d); },
      [&](size_t d) { return shape[d]; });
  IntVector strides(shape.size());
  int64_t step = 1;
  for (const size_t d : order) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

Tensor empty_pointwise(IntSpan shape, ScalarType dtype, std::span<const Tensor* const> inputs) {
  if (shape.size() < 2 || are_plain(shape, inputs)) return Tensor::empty(shape, dtype);
  return Tensor::empty_strided(shape, pointwise_strides(shape, inputs), dtype);
}

}  // namespace tierup::kernels
