#include "tierup/kernels/indexing/advanced_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/index_range.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/element_width.h"
#include "tierup/kernels/pointwise/masking.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

bool is_mask(const Tensor& index) {
  return index.dtype() == ScalarType::kBool || index.dtype() == ScalarType::kByte;
}

// Masks become one index tensor for each of their dimensions; all others become int64.
std::vector<Tensor> expand_masks(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> result;
  for (const Tensor& index : indices) {
    if (!index.defined()) {
      result.emplace_back();
      continue;
    }
    const auto at = static_cast<int64_t>(result.size());
    if (!is_mask(index)) {
      require(index.dtype() == ScalarType::kLong || index.dtype() == ScalarType::kInt,
              ErrorCode::kInvalidArgument,
              "tensors used as indices must be long, int, byte or bool tensors, got {}",
              dtype_name(index.dtype()));
      result.push_back(to_dtype(index, ScalarType::kLong));
      continue;
    }
    for (int64_t d = 0; d < index.dim(); ++d) {
      require(at + d < self.dim(), ErrorCode::kInvalidArgument,
              "too many indices for tensor of dimension {}", self.dim());
      if (index.sizes()[d] != self.sizes()[at + d]) {
        fail(ErrorCode::kOutOfRange,
             "The shape of the mask {} at index {} does not match the shape of the indexed tensor "
             "{} at index {}",
             shape_string(index.sizes()), d, shape_string(self.sizes()), at + d);
      }
    }
    const Tensor found = nonzero(index);
    for (int64_t d = 0; d < index.dim(); ++d) result.push_back(select(found, 1, d));
  }
  return result;
}

// Numbers of which a few need no memory of their own, and many get a tensor's.
class Offsets {
 public:
  explicit Offsets(int64_t count = 0) : size_(count) {
    if (count > kFew) many_ = Tensor::empty(IntVector{count}, ScalarType::kLong);
  }
  int64_t size() const { return size_; }
  int64_t* data() { return size_ > kFew ? many_.data<int64_t>() : few_.data(); }
  const int64_t* data() const { return size_ > kFew ? many_.data<int64_t>() : few_.data(); }

 private:
  static constexpr int64_t kFew = 64;
  int64_t size_;
  std::array<int64_t, kFew> few_;
  Tensor many_;
};

// One indexed dimension.
struct IndexedDim {
  const int64_t* at;
  int64_t dim;
  int64_t size;
  int64_t stride;
  // How far an index, which may count from the end, is away.
  int64_t offset(int64_t i) const {
    const int64_t k = at[i] < 0 ? at[i] + size : at[i];
    if (!is_in_range(k, size)) fail_index(at[i], dim, size);
    return k * stride;
  }
};

// What to read or write: blocks of "after" elements at base + before + offsets[i].
struct Plan {
  IntVector shape;         // Of the result.
  IntVector before_sizes;  // Dimensions in front of the indexed ones, with their strides.
  IntVector before_strides;
  IntVector after_sizes;  // Dimensions behind.
  IntVector after_strides;
  std::vector<Tensor> indices;  // Of one shape, dense; undefined for other dimensions.
  SmallVector<IndexedDim, 4> indexed;
  int64_t count = 0;  // Of index elements.
  Offsets offsets;    // In elements of self, one for each index element; see fill_offsets().
  int64_t before = 1;
  int64_t after = 1;
};

std::string index_shapes(const std::vector<Tensor>& indices) {
  std::string text;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    if (!text.empty()) text += ", ";
    text += shape_string(index.sizes());
  }
  return text;
}

std::vector<Tensor> broadcast_indices(const std::vector<Tensor>& indices, IntVector& shape) {
  std::vector<Tensor> result = indices;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    try {
      shape = broadcast_shapes(shape, index.sizes());
    } catch (const Error&) {
      fail(ErrorCode::kInvalidArgument,
           "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
           index_shapes(indices));
    }
  }
  for (Tensor& index : result) {
    if (index.defined()) index = contiguous(expand_to(index, shape));
  }
  return result;
}

// The sums of what each dimension's indices are away, for the index elements from `begin` on.
void sum_offsets(const Plan& plan, int64_t begin, int64_t end, int64_t* out) {
  std::span<const IndexedDim> dims(plan.indexed.data(), plan.indexed.size());
  if (dims.empty()) {
    std::fill(out, out + end - begin, 0);
    return;
  }
  const IndexedDim first = dims[0];
  if (dims.size() == 1) {
    for (int64_t i = begin; i < end; ++i) out[i - begin] = first.offset(i);
    return;
  }
  const IndexedDim second = dims[1];
  for (int64_t i = begin; i < end; ++i) out[i - begin] = first.offset(i) + second.offset(i);
  for (const IndexedDim& dim : dims.subspan(2)) {
    for (int64_t i = begin; i < end; ++i) out[i - begin] += dim.offset(i);
  }
}

// All offsets, where they are needed more than once, or before anything is written.
void fill_offsets(Plan& plan) {
  plan.offsets = Offsets(plan.count);
  int64_t* const out = plan.offsets.data();
  parallel_for(0, plan.count, kNumbersForThread,
               [&](int64_t begin, int64_t end) { sum_offsets(plan, begin, end, out + begin); });
}

// Whether the defined indices stand next to each other.
bool are_adjacent(const std::vector<Tensor>& indices) {
  int runs = 0;
  bool inside = false;
  for (const Tensor& index : indices) {
    runs += index.defined() && !inside ? 1 : 0;
    inside = index.defined();
  }
  return runs <= 1;
}

Plan make_plan(const Tensor& self, std::vector<Tensor> indices) {
  require(static_cast<int64_t>(indices.size()) <= self.dim(), ErrorCode::kInvalidArgument,
          "too many indices for tensor of dimension {} (got {})", self.dim(), indices.size());
  indices.resize(static_cast<size_t>(self.dim()));
  Plan plan;
  IntVector index_shape;
  const bool adjacent = are_adjacent(indices);
  plan.indices = broadcast_indices(indices, index_shape);
  plan.count = numel_of(index_shape);
  bool behind = !adjacent;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const int64_t size = self.sizes()[d];
    const int64_t stride = self.strides()[d];
    if (plan.indices[d].defined()) {
      behind = true;
      plan.indexed.push_back({plan.indices[d].data<int64_t>(), d, size, stride});
      continue;
    }
    (behind ? plan.after_sizes : plan.before_sizes).push_back(size);
    (behind ? plan.after_strides : plan.before_strides).push_back(stride);
    (behind ? plan.after : plan.before) *= size;
  }
  plan.shape = plan.before_sizes;
  plan.shape.insert(plan.shape.end(), index_shape.begin(), index_shape.end());
  plan.shape.insert(plan.shape.end(), plan.after_sizes.begin(), plan.after_sizes.end());
  return plan;
}

// The element offsets of a strided block in row-major order.
Offsets block_offsets(IntSpan sizes, IntSpan strides, int64_t count) {
  Offsets offsets(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      offset += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    offsets.data()[i] = offset;
  }
  return offsets;
}

bool is_dense_block(const Plan& plan) {
  const IntVector dense = contiguous_strides(plan.after_sizes);
  for (size_t d = 0; d < dense.size(); ++d) {
    if (plan.after_sizes[d] != 1 && plan.after_strides[d] != dense[d]) return false;
  }
  return true;
}

// Calls move(self element offset, result element offset, count) for runs that are contiguous on
// both sides. Each row of the result (one index element) is one run if the rest is dense. Offsets
// that nobody filled in are summed up some at a time.
template <typename Move>
void for_each_run(const Plan& plan, bool parallel, const Move& move) {
  constexpr int64_t kAtOnce = 256;
  const Offsets before = block_offsets(plan.before_sizes, plan.before_strides, plan.before);
  const bool dense = is_dense_block(plan);
  const Offsets after =
      dense ? Offsets{} : block_offsets(plan.after_sizes, plan.after_strides, plan.after);
  const bool is_filled = plan.offsets.size() == plan.count;
  const int64_t rows = plan.before * plan.count;
  const int64_t grain = parallel ? grain_of(plan.after) : rows;
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    std::array<int64_t, kAtOnce> some;
    const int64_t* const within = after.data();
    const int64_t run = plan.after;
    while (begin < end) {
      const int64_t base = before.data()[begin / plan.count];
      const int64_t first = begin % plan.count;
      const int64_t count =
          std::min({plan.count - first, end - begin, is_filled ? plan.count : kAtOnce});
      if (!is_filled) sum_offsets(plan, first, first + count, some.data());
      const int64_t* const offsets = is_filled ? plan.offsets.data() + first : some.data();
      if (dense && run == 1) {
        for (int64_t r = 0; r < count; ++r) move(base + offsets[r], begin + r, 1);
      } else if (dense) {
        for (int64_t r = 0; r < count; ++r) move(base + offsets[r], (begin + r) * run, run);
      } else {
        for (int64_t r = 0; r < count; ++r) {
          for (int64_t i = 0; i < run; ++i)
            move(base + offsets[r] + within[i], (begin + r) * run + i, 1);
        }
      }
      begin += count;
    }
  });
}

// A 0-dim mask adds a dimension: x[mask] has shape [0 or 1, ...].
Tensor with_mask_dims(const Tensor& self, const std::vector<Tensor>& indices) {
  Tensor result = self;
  int64_t at = 0;
  for (const Tensor& index : indices) {
    const bool mask = index.defined() && is_mask(index);
    if (mask && index.dim() == 0) result = unsqueeze(result, at);
    at += mask ? std::max<int64_t>(index.dim(), 1) : 1;
  }
  return result;
}

// Masks as indices, with self reshaped for the 0-dim ones.
Plan plan_for(const Tensor& self, const std::vector<Tensor>& indices, Tensor& target) {
  target = with_mask_dims(self, indices);
  std::vector<Tensor> shaped = indices;
  for (Tensor& index : shaped) {
    if (index.defined() && is_mask(index) && index.dim() == 0) index = reshape(index, {1});
  }
  return make_plan(target, expand_masks(target, shaped));
}

// Indices of masked-out elements may lie outside; they become valid ones.
std::vector<Tensor> clamp_indices(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> result = indices;
  for (size_t d = 0; d < result.size(); ++d) {
    if (!result[d].defined()) continue;
    require(static_cast<int64_t>(d) < self.dim(), ErrorCode::kInvalidArgument,
            "too many indices for tensor of dimension {}", self.dim());
    require(result[d].dtype() == ScalarType::kLong || result[d].dtype() == ScalarType::kInt,
            ErrorCode::kInvalidArgument,
            "_unsafe_masked_index: indices of dtype Long or Int are needed, not {}",
            scalar_type_name(result[d].dtype()));
    result[d] = clone(to_dtype(result[d], ScalarType::kLong), MemoryFormat::kContiguous);
    int64_t* at = result[d].data<int64_t>();
    const int64_t last = self.sizes()[d] - 1;
    for (int64_t i = 0; i < result[d].numel(); ++i) {
      at[i] = std::clamp<int64_t>(at[i], std::min<int64_t>(-self.sizes()[d], last), last);
    }
  }
  return result;
}

}  // namespace

Tensor index(const Tensor& self, const std::vector<Tensor>& indices) {
  require(!indices.empty(), ErrorCode::kInvalidArgument, "at least one index must be provided");
  Tensor source;
  Plan plan = plan_for(self, indices, source);
  // Number by number, what is read more than once is put in order first.
  if (!is_dense_block(plan) && plan.before * plan.count * plan.after > source.numel()) {
    source = contiguous(source);
    plan = make_plan(source, plan.indices);
  }
  // Indices are checked even where nothing is read.
  if (plan.before != 1 || plan.after == 0) fill_offsets(plan);
  Tensor out = Tensor::empty(plan.shape, self.dtype());
  if (out.numel() == 0) return out;
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    const U* from = static_cast<const U*>(source.raw());
    U* to = static_cast<U*>(out.raw());
    for_each_run(plan, true, [&](int64_t at, int64_t row, int64_t count) {
      if (count == 1)
        to[row] = from[at];
      else
        std::memcpy(to + row, from + at, static_cast<size_t>(count) * sizeof(U));
    });
  });
  return out;
}

void index_put_(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                bool accumulate) {
  require(!indices.empty(), ErrorCode::kInvalidArgument, "at least one index must be provided");
  require(self.dtype() == values.dtype(), ErrorCode::kInvalidArgument,
          "Index put requires the source and destination dtypes match, got {} for the destination "
          "and {} for the source.",
          scalar_type_name(self.dtype()), scalar_type_name(values.dtype()));
  Tensor target;  // It may be an expanded tensor's: then the last of its values stays.
  Plan plan = plan_for(self, indices, target);
  fill_offsets(plan);
  Tensor source;
  try {
    source = expand_to(values, plan.shape);
  } catch (const Error&) {
    fail(ErrorCode::kInvalidArgument,
         "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape "
         "{}",
         shape_string(values.sizes()), shape_string(plan.shape));
  }
  if (source.numel() == 0) return;
  source = memory_overlap(self, values) == Overlap::kNone
               ? contiguous(source)
               : clone(source, MemoryFormat::kContiguous);
  if (!accumulate) {
    dispatch_width(self.item_size(), [&](auto tag) {
      using U = typename decltype(tag)::type;
      U* to = static_cast<U*>(target.raw());
      const U* from = static_cast<const U*>(source.raw());
      for_each_run(plan, false, [&](int64_t at, int64_t row, int64_t count) {
        std::memcpy(to + at, from + row, static_cast<size_t>(count) * sizeof(U));
      });
    });
  } else {
    dispatch_all(self.dtype(), "index_put_", [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = target.data<T>();
      const T* from = source.data<T>();
      for_each_run(plan, false, [&](int64_t at, int64_t row, int64_t count) {
        for (int64_t i = 0; i < count; ++i) to[at + i] = static_cast<T>(to[at + i] + from[row + i]);
      });
    });
  }
  self.bump_version();
}

Tensor masked_index(const Tensor& self, const Tensor& mask, const std::vector<Tensor>& indices,
                    const Scalar& fill_value) {
  if (self.numel() == 0) {
    IntVector shape(mask.sizes().begin(), mask.sizes().end());
    Tensor empty = Tensor::empty(shape, self.dtype());
    fill(empty, fill_value);
    return empty;
  }
  Tensor result = index(self, clamp_indices(self, indices));
  fill_where_false(result, mask, fill_value);
  return result;
}

Tensor masked_index_put_accumulate(const Tensor& self, const Tensor& mask,
                                   const std::vector<Tensor>& indices, const Tensor& values) {
  Tensor result = clone(self, MemoryFormat::kContiguous);
  if (self.numel() == 0) return result;
  Tensor kept = clone(values, MemoryFormat::kContiguous);
  fill_where_false(kept, mask, Scalar(0));
  index_put_(result, clamp_indices(self, indices), kept, true);
  return result;
}

}  // namespace tierup::kernels
