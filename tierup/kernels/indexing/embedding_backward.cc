#include "tierup/kernels/indexing/embedding_backward.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor as_long(const Tensor& indices) {
  require(indices.dtype() == ScalarType::kLong || indices.dtype() == ScalarType::kInt, kBad,
          "expected indices of type Long or Int, but got {}", scalar_type_name(indices.dtype()));
  return contiguous(to_dtype(indices, ScalarType::kLong));
}

void check_range(const Tensor& indices, int64_t rows, int64_t padding_idx) {
  const int64_t* index = indices.data<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i) {
    require(index[i] == padding_idx || (index[i] >= 0 && index[i] < rows), ErrorCode::kOutOfRange,
            "index out of range in self: {} is not in [0, {})", index[i], rows);
  }
}

Tensor zeros(int64_t rows, int64_t width, ScalarType dtype) {
  require(rows >= 0, kBad, "expected a number of weights, but got {}", rows);
  const Tensor out = Tensor::empty(IntVector{rows, width}, dtype);
  fill(out, 0);
  return out;
}

// How often each index occurs.
std::vector<int64_t> frequencies(const Tensor& indices, int64_t rows, int64_t padding_idx) {
  std::vector<int64_t> count(static_cast<size_t>(rows), 0);
  const int64_t* index = indices.data<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (index[i] != padding_idx) ++count[static_cast<size_t>(index[i])];
  }
  return count;
}

// Calls add(i, first column, last column) for every index in order; threads share columns.
template <typename Add>
void for_each_index(int64_t indices, int64_t width, const Add& add) {
  const int64_t grain = std::max<int64_t>(16, grain_of(indices));
  parallel_for(0, width, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < indices; ++i) add(i, begin, end);
  });
}

// The bag of each index.
std::vector<int64_t> bag_of_each(const BagIndices& bags, int64_t count, int64_t bag_count) {
  std::vector<int64_t> bag(static_cast<size_t>(count), 0);
  if (bags.offset2bag.numel() == count) {
    const Tensor given = as_long(bags.offset2bag);
    std::copy_n(given.data<int64_t>(), count, bag.begin());
  } else {
    const Tensor offsets = as_long(bags.offsets);
    for (int64_t b = 0; b < std::min(offsets.numel(), bag_count); ++b) {
      const int64_t first = offsets.data<int64_t>()[b];
      require(first >= 0 && first <= count, kBad, "offset {} is beyond {} indices", first, count);
      std::fill(bag.begin() + first, bag.end(), b);
    }
  }
  for (const int64_t b : bag)
    require(b >= 0 && b < bag_count, kBad, "bag {} is beyond a gradient of {} bags", b, bag_count);
  return bag;
}

// How many indices of each bag are no padding.
std::vector<int64_t> bag_counts(const std::vector<int64_t>& bag, const Tensor& indices,
                                int64_t bag_count, int64_t padding_idx) {
  std::vector<int64_t> count(static_cast<size_t>(bag_count), 0);
  for (size_t i = 0; i < bag.size(); ++i) {
    if (indices.data<int64_t>()[i] != padding_idx) ++count[static_cast<size_t>(bag[i])];
  }
  return count;
}

Tensor maxima_backward(const Tensor& grad, const BagIndices& bags, int64_t num_weights) {
  const Tensor best = as_long(bags.maximum_indices);
  require(best.numel() == grad.numel(), kBad,
          "embedding_bag: maximum indices of {} elements for {}", best.numel(), grad.numel());
  const int64_t width = grad.size(1);
  const ScalarType work = work_type(grad.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor out = zeros(num_weights, width, work);
  const Tensor sizes = as_long(bags.bag_size);
  dispatch_work(work, "embedding_bag_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t b = 0; b < grad.size(0); ++b) {
      if (sizes.numel() == grad.size(0) && sizes.data<int64_t>()[b] == 0) continue;
      for (int64_t j = 0; j < width; ++j) {
        const int64_t row = best.data<int64_t>()[b * width + j];
        if (row < 0 || row >= num_weights) continue;
        out.data<T>()[row * width + j] += g.data<T>()[b * width + j];
      }
    }
  });
  return to_dtype(out, grad.dtype());
}

}  // namespace

Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_by_freq) {
  const Tensor index = as_long(indices);
  require(grad.dim() >= 1, kBad, "embedding_dense_backward: expected a gradient with dimensions");
  const int64_t width = grad.size(-1);
  require(grad.numel() == index.numel() * width, kBad,
          "embedding_dense_backward: a gradient of {} elements for {} indices of width {}",
          grad.numel(), index.numel(), width);
  check_range(index, num_weights, padding_idx);
  const ScalarType work = work_type(grad.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor out = zeros(num_weights, width, work);
  const std::vector<int64_t> count =
      scale_grad_by_freq ? frequencies(index, num_weights, padding_idx) : std::vector<int64_t>();
  dispatch_work(work, "embedding_dense_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for_each_index(index.numel(), width, [&](int64_t i, int64_t begin, int64_t end) {
      const int64_t row = index.data<int64_t>()[i];
      if (row == padding_idx) return;
      const T* from = g.data<T>() + i * width;
      T* to = out.data<T>() + row * width;
      const T share =
          scale_grad_by_freq ? T{1} / static_cast<T>(count[static_cast<size_t>(row)]) : T{1};
      for (int64_t j = begin; j < end; ++j) to[j] += from[j] * share;
    });
  });
  return to_dtype(out, grad.dtype());
}

Tensor embedding_bag_backward(const Tensor& grad, const BagIndices& bags, int64_t num_weights,
                              bool scale_grad_by_freq, BagMode mode,
                              const Tensor& per_sample_weights, int64_t padding_idx) {
  require(grad.dim() == 2, kBad, "embedding_bag_backward: expected a matrix of gradients");
  if (mode == BagMode::kMax) return maxima_backward(grad, bags, num_weights);
  const Tensor index = as_long(bags.indices);
  check_range(index, num_weights, padding_idx);
  const std::vector<int64_t> bag = bag_of_each(bags, index.numel(), grad.size(0));
  const std::vector<int64_t> sizes = bag_counts(bag, index, grad.size(0), padding_idx);
  const std::vector<int64_t> count = frequencies(index, num_weights, padding_idx);
  const ScalarType work = work_type(grad.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor factors = as_work(per_sample_weights, work);
  require(!factors.defined() || factors.numel() == index.numel(), kBad,
          "embedding_bag_backward: expected a weight for each of {} indices", index.numel());
  const int64_t width = grad.size(1);
  const Tensor out = zeros(num_weights, width, work);
  dispatch_work(work, "embedding_bag_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for_each_index(index.numel(), width, [&](int64_t i, int64_t begin, int64_t end) {
      const int64_t row = index.data<int64_t>()[i];
      if (row == padding_idx) return;
      const int64_t b = bag[static_cast<size_t>(i)];
      T share = factors.defined() ? factors.data<T>()[i] : T{1};
      if (mode == BagMode::kMean) share /= static_cast<T>(sizes[static_cast<size_t>(b)]);
      if (scale_grad_by_freq) share /= static_cast<T>(count[static_cast<size_t>(row)]);
      for (int64_t j = begin; j < end; ++j)
        out.data<T>()[row * width + j] += g.data<T>()[b * width + j] * share;
    });
  });
  return to_dtype(out, grad.dtype());
}

Tensor embedding_bag_factors_backward(const Tensor& grad, const Tensor& weight,
                                      const BagIndices& bags, int64_t padding_idx) {
  require(grad.dim() == 2 && weight.dim() == 2 && grad.size(1) == weight.size(1), kBad,
          "embedding_bag: gradient and weight must be matrices of one width");
  const Tensor index = as_long(bags.indices);
  check_range(index, weight.size(0), padding_idx);
  const std::vector<int64_t> bag = bag_of_each(bags, index.numel(), grad.size(0));
  const ScalarType work = work_type(grad.dtype());
  const Tensor g = as_work(grad, work);
  const Tensor table = as_work(weight, work);
  const Tensor out = Tensor::empty(IntVector{index.numel()}, work);
  const int64_t width = grad.size(1);
  dispatch_work(work, "embedding_bag_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < index.numel(); ++i) {
      const int64_t row = index.data<int64_t>()[i];
      double sum = 0;
      for (int64_t j = 0; row != padding_idx && j < width; ++j) {
        sum += static_cast<double>(g.data<T>()[bag[static_cast<size_t>(i)] * width + j]) *
               static_cast<double>(table.data<T>()[row * width + j]);
      }
      out.data<T>()[i] = static_cast<T>(sum);
    }
  });
  return to_dtype(out, grad.dtype());
}

}  // namespace tierup::kernels
