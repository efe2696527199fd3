#include "tierup/kernels/indexing/embedding.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/bag_sums.h"
#include "tierup/kernels/indexing/index_range.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor checked_indices(const Tensor& indices, const char* what) {
  require(indices.dtype() == ScalarType::kLong || indices.dtype() == ScalarType::kInt, kBad,
          "Expected tensor for argument '{}' to have one of the following scalar types: Long, Int; "
          "but got {} instead",
          what, scalar_type_name(indices.dtype()));
  return contiguous(to_dtype(indices, ScalarType::kLong));
}

void check_range(const int64_t* index, int64_t count, int64_t rows) {
  const int64_t bad = first_out_of_range(index, count, rows);
  require(bad < 0, ErrorCode::kOutOfRange, "index out of range in self: {} is not in [0, {})",
          bad < 0 ? 0 : index[bad], rows);
}

struct Bags {
  std::vector<int64_t> start;  // One more than bags.
  int64_t count = 0;
};

Bags bags_of(const Tensor& offsets, int64_t index_count, bool include_last) {
  const Tensor dense = checked_indices(offsets, "offsets");
  require(dense.dim() == 1, kBad, "offsets has to be a 1D Tensor, but got Tensor of dimension {}",
          dense.dim());
  const int64_t* offset = dense.data<int64_t>();
  const int64_t given = dense.numel();
  require(!include_last || given >= 1, kBad,
          "include_last_offset: number of offsets should be at least 1");
  Bags bags;
  bags.count = include_last ? given - 1 : given;
  bags.start.reserve(static_cast<size_t>(bags.count) + 1);
  require(given == 0 || offset[0] == 0, kBad,
          "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
          "position 0. However, got {}",
          given == 0 ? 0 : offset[0]);
  for (int64_t i = 0; i < bags.count; ++i) {
    const int64_t next = i + 1 < given ? offset[i + 1] : index_count;
    require(offset[i] >= 0 && offset[i] <= next && next <= index_count, kBad,
            "offsets must not shrink and not pass the number of indices, {}", index_count);
    bags.start.push_back(offset[i]);
  }
  bags.start.push_back(index_count);
  return bags;
}

template <typename T>
void finish_bag(const BagOptions& o, int64_t count, int64_t width, T* out, int64_t* counted) {
  if (o.mode == BagMode::kMean && count > 0) {
    for (int64_t j = 0; j < width; ++j) out[j] /= static_cast<T>(count);
  }
  *counted = count;
}

// One bag into one row; `counted` receives how many indices were no padding.
template <typename T>
void fill_bag(const BagOptions& o, const T* weight, int64_t width, const int64_t* index,
              const T* factor, int64_t first, int64_t last, T* out, int64_t* best,
              int64_t* counted) {
  int64_t count = 0;
  if constexpr (std::is_same_v<T, float>) {
    if (o.mode != BagMode::kMax && width > 0) {
      count = bag_sum()(weight, width, index + first, last - first,
                        factor == nullptr ? nullptr : factor + first, o.padding_idx, out);
      return finish_bag(o, count, width, out, counted);
    }
  }
  std::fill(out, out + width, T{0});
  for (int64_t i = first; i < last; ++i) {
    if (index[i] == o.padding_idx) continue;
    const T* row = weight + index[i] * width;
    if (o.mode == BagMode::kMax) {
      for (int64_t j = 0; j < width; ++j) {
        if (count > 0 && !(row[j] > out[j])) continue;
        out[j] = row[j];
        best[j] = index[i];
      }
    } else if (factor != nullptr) {
      for (int64_t j = 0; j < width; ++j) out[j] += row[j] * factor[i];
    } else {
      for (int64_t j = 0; j < width; ++j) out[j] += row[j];
    }
    ++count;
  }
  finish_bag(o, count, width, out, counted);
}

Tensor zeros(const IntVector& sizes, ScalarType dtype) {
  const Tensor result = Tensor::empty(sizes, dtype);
  fill(result, 0);
  return result;
}

// The bag of each index; empty in the one case where PyTorch does not compute it.
Tensor bag_of_indices(const Bags& bags, int64_t index_count, bool skipped) {
  if (skipped) return Tensor::empty(IntVector{0}, ScalarType::kLong);
  const Tensor result = zeros({index_count}, ScalarType::kLong);
  for (int64_t b = 0; b < bags.count; ++b) {
    const auto at = static_cast<size_t>(b);
    std::fill(result.data<int64_t>() + bags.start[at], result.data<int64_t>() + bags.start[at + 1],
              b);
  }
  return result;
}

void check_factors(const Tensor& factors, const Tensor& indices, const Tensor& weight,
                   BagMode mode) {
  if (!factors.defined()) return;
  require(mode == BagMode::kSum, kBad,
          "embedding_bag: per_sample_weights only supported with mode='sum'");
  if (!(factors.dim() == 1 && factors.numel() == indices.numel())) {
    fail(kBad, "expected per_sample_weights to have the same shape as indices, {}, but got {}",
         shape_string(indices.sizes()), shape_string(factors.sizes()));
  }
  require(factors.dtype() == weight.dtype(), kBad, "expected scalar type {} but found {}",
          scalar_type_name(weight.dtype()), scalar_type_name(factors.dtype()));
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  require(weight.dim() == 2, kBad, "'weight' must be 2-D");
  const Tensor index = checked_indices(indices, "indices");
  const int64_t rows = weight.size(0);
  check_range(index.data<int64_t>(), index.numel(), rows);
  const Tensor table = contiguous(weight);
  IntVector sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(weight.size(1));
  const Tensor out = Tensor::empty(sizes, weight.dtype());
  const size_t bytes = static_cast<size_t>(weight.size(1)) * weight.item_size();
  if (bytes == 0) return out;
  const char* source = static_cast<const char*>(table.raw());
  char* target = static_cast<char*>(out.raw());
  const int64_t grain = std::max<int64_t>(1, 65536 / static_cast<int64_t>(bytes));
  parallel_for(0, index.numel(), grain, [&](int64_t begin, int64_t end) {
    const int64_t* at = index.data<int64_t>();
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(target + static_cast<size_t>(i) * bytes,
                  source + static_cast<size_t>(at[i]) * bytes, bytes);
    }
  });
  return out;
}

BagResult embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                        const Tensor& per_sample_weights, const BagOptions& options) {
  require(weight.dim() == 2, kBad, "'weight' must be 2-D");
  require(indices.dim() == 1, kBad, "input has to be a 1D Tensor, but got Tensor of dimension {}",
          indices.dim());
  require(options.mode == BagMode::kSum || options.mode == BagMode::kMean ||
              options.mode == BagMode::kMax,
          kBad, "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max)");
  check_factors(per_sample_weights, indices, weight, options.mode);
  const Tensor index = checked_indices(indices, "indices");
  const Bags bags = bags_of(offsets, index.numel(), options.include_last_offset);
  const ScalarType work = work_type(weight.dtype());
  const Tensor table = as_work(weight, work);
  const Tensor factors = as_work(per_sample_weights, work);
  const int64_t width = weight.size(1);
  const bool is_max = options.mode == BagMode::kMax;
  const Tensor out = Tensor::empty(IntVector{bags.count, width}, work);
  const Tensor counted = zeros({bags.count}, ScalarType::kLong);
  const Tensor best = is_max ? zeros({bags.count, width}, ScalarType::kLong) : Tensor();
  dispatch_work(work, "embedding_bag", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const int64_t average = index.numel() / std::max<int64_t>(bags.count, 1) + 1;
    const int64_t grain = grain_of(average * width);
    parallel_for(0, bags.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const auto at = static_cast<size_t>(b);
        check_range(index.data<int64_t>() + bags.start[at], bags.start[at + 1] - bags.start[at],
                    weight.size(0));
        fill_bag<T>(options, table.data<T>(), width, index.data<int64_t>(),
                    data_or_null<T>(factors), bags.start[at], bags.start[at + 1],
                    out.data<T>() + b * width, is_max ? best.data<int64_t>() + b * width : nullptr,
                    counted.data<int64_t>() + b);
      }
    });
  });
  const bool is_sum = options.mode == BagMode::kSum;
  const bool skipped = is_sum && options.padding_idx < 0 && weight.dtype() != ScalarType::kDouble &&
                       weight.stride(1) == 1 &&
                       (!per_sample_weights.defined() || per_sample_weights.stride(0) == 1);
  Tensor sizes = counted;
  if (is_sum)
    sizes = zeros({options.forward_only ? offsets.numel() : bags.count}, ScalarType::kLong);
  const Tensor maxima = is_max ? best : clone(sizes, MemoryFormat::kContiguous);
  return {to_dtype(out, weight.dtype()),
          to_dtype(bag_of_indices(bags, index.numel(), skipped), offsets.dtype()),
          to_dtype(sizes, offsets.dtype()), to_dtype(maxima, offsets.dtype())};
}

namespace {

// Of order 0: how many are not zero.
double norm_of_row(const double* row, int64_t width, double order) {
  double norm = order < 0 && std::isinf(order) ? INFINITY : 0;
  for (int64_t j = 0; j < width; ++j) {
    const double magnitude = std::abs(row[j]);
    if (order == 0)
      norm += magnitude != 0 ? 1 : 0;
    else if (std::isinf(order))
      norm = order > 0 ? std::max(norm, magnitude) : std::min(norm, magnitude);
    else
      norm += std::pow(magnitude, order);
  }
  return order == 0 || std::isinf(order) ? norm : std::pow(norm, 1 / order);
}

}  // namespace

Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm,
                        double norm_type) {
  if (self.dim() != 2) {
    fail(kBad, "embedding_renorm_: expected a 2-D tensor, got {}", shape_string(self.sizes()));
  }
  const Tensor index = checked_indices(indices, "indices");
  check_range(index.data<int64_t>(), index.numel(), self.size(0));
  const Tensor table = clone(to_dtype(self, ScalarType::kDouble), MemoryFormat::kContiguous);
  std::vector<int64_t> rows(index.data<int64_t>(), index.data<int64_t>() + index.numel());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const int64_t width = self.size(1);
  for (const int64_t r : rows) {
    double* row = table.data<double>() + r * width;
    const double norm = norm_of_row(row, width, norm_type);
    if (!(norm > max_norm)) continue;
    const double scale = max_norm / (norm + 1e-7);
    for (int64_t j = 0; j < width; ++j) row[j] *= scale;
  }
  return to_dtype(table, self.dtype());
}

}  // namespace tierup::kernels
