#include "tierup/kernels/pointwise/masking.h"

#include <algorithm>
#include <array>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/element_width.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kChunk = 16384;

template <typename T>
bool is_set(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(value) != 0.0F;
  } else {
    return value != T(0);
  }
}

constexpr int64_t kBlock = 1024;

// Those of [begin, end), a block at most, to `to`; returns where the next ones go. Whether an
// element is set is as good as random: it is computed, not branched on.
template <typename T>
int64_t* put_positions(const T* elements, int64_t begin, int64_t end, int64_t* to) {
  std::array<int64_t, kBlock + 1> found;
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) {
    found[static_cast<size_t>(count)] = i;
    count += is_set(elements[i]) ? 1 : 0;
  }
  return std::copy_n(found.data(), count, to);
}

// The linear indices of all elements that are not zero.
Tensor set_positions(const Tensor& self) {
  const Tensor flat = contiguous(self);
  const int64_t numel = flat.numel();
  const int64_t chunks = (numel + kChunk - 1) / kChunk;
  std::vector<int64_t> starts(static_cast<size_t>(chunks) + 1, 0);
  Tensor positions;
  dispatch_all(self.dtype(), "nonzero", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = flat.data<T>();
    parallel_for(0, chunks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        int64_t count = 0;
        const int64_t last = std::min(numel, (c + 1) * kChunk);
        for (int64_t i = c * kChunk; i < last; ++i) count += is_set(p[i]) ? 1 : 0;
        starts[c + 1] = count;
      }
    });
    for (int64_t c = 0; c < chunks; ++c) starts[c + 1] += starts[c];
    positions = Tensor::empty(IntVector{starts[chunks]}, ScalarType::kLong);
    auto* const at = positions.data<int64_t>();
    parallel_for(0, chunks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        int64_t* to = at + starts[c];
        const int64_t last = std::min(numel, (c + 1) * kChunk);
        for (int64_t first = c * kChunk; first < last; first += kBlock)
          to = put_positions(p, first, std::min(last, first + kBlock), to);
      }
    });
  });
  return positions;
}

Tensor as_bool_mask(const Tensor& mask, const char* what) {
  require(mask.dtype() == ScalarType::kBool, ErrorCode::kInvalidArgument,
          "{}: expected BoolTensor for mask, got {}", what, scalar_type_name(mask.dtype()));
  return mask;
}

}  // namespace

Tensor nonzero(const Tensor& self) {
  const Tensor found = set_positions(self);
  const int64_t* const positions = found.data<int64_t>();
  const int64_t count = found.numel();
  Tensor out = Tensor::empty(IntVector{count, self.dim()}, ScalarType::kLong);
  int64_t* to = out.data<int64_t>();
  const IntSpan sizes = self.sizes();
  const int64_t rank = self.dim();
  parallel_for(0, count, kChunk, [&](int64_t begin, int64_t end) {
    // Where an element stands is worked out once for each line of the last dimension.
    int64_t line = 0;
    int64_t line_end = 0;
    for (int64_t i = begin; i < end && rank > 0; ++i) {
      int64_t* const place = to + i * rank;
      if (positions[i] < line_end) {
        std::copy_n(place - rank, rank - 1, place);
      } else {
        int64_t rest = positions[i] / sizes[rank - 1];
        line = rest * sizes[rank - 1];
        line_end = line + sizes[rank - 1];
        for (int64_t d = rank - 1; d-- > 0;) {
          place[d] = rest % sizes[d];
          rest /= sizes[d];
        }
      }
      place[rank - 1] = positions[i] - line;
    }
  });
  return out;
}

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  const Tensor found = nonzero(atleast_1d(self));
  return unbind(found, 1);
}

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  require(size >= 0, ErrorCode::kInvalidArgument,
          "nonzero_static: 'size' must be an non-negative integer");
  const Tensor found = nonzero(self);
  Tensor out = Tensor::empty(IntVector{size, self.dim()}, ScalarType::kLong);
  fill(out, Scalar(fill_value));
  const int64_t kept = std::min(size, found.sizes()[0]);
  copy_into(narrow(out, 0, 0, kept), narrow(found, 0, 0, kept));
  return out;
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  const IntVector shape = broadcast_shapes(self.sizes(), mask.sizes());
  const Tensor source = contiguous(expand_to(self, shape));
  const Tensor positions = set_positions(expand_to(as_bool_mask(mask, "masked_select"), shape));
  const int64_t count = positions.numel();
  const int64_t* const at = positions.data<int64_t>();
  Tensor out = Tensor::empty(IntVector{count}, self.dtype());
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    const U* from = static_cast<const U*>(source.raw());
    U* to = static_cast<U*>(out.raw());
    parallel_for(0, count, kChunk, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = from[at[i]];
    });
  });
  return out;
}

void masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  require(self.dtype() == source.dtype(), ErrorCode::kInvalidArgument,
          "masked_scatter: expected self and source to have same dtypes but got {} and {}",
          scalar_type_name(self.dtype()), scalar_type_name(source.dtype()));
  check_no_internal_overlap(self);
  const Tensor positions =
      set_positions(expand_to(as_bool_mask(mask, "masked_scatter"), self.sizes()));
  require(positions.numel() <= source.numel(), ErrorCode::kInvalidArgument,
          "Number of elements of source < number of ones in mask");
  Tensor target = self.is_contiguous() ? self : clone(self, MemoryFormat::kContiguous);
  const Tensor values = memory_overlap(self, source) == Overlap::kNone
                            ? contiguous(source)
                            : clone(source, MemoryFormat::kContiguous);
  dispatch_width(self.item_size(), [&](auto tag) {
    using U = typename decltype(tag)::type;
    const U* from = static_cast<const U*>(values.raw());
    U* to = static_cast<U*>(target.raw());
    const int64_t* const at = positions.data<int64_t>();
    for (int64_t i = 0; i < positions.numel(); ++i) to[at[i]] = from[i];
  });
  if (!target.is_same(self)) copy_into(self, target);
  self.bump_version();
}

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  Tensor result = clone(expand_to(self, broadcast_shapes(self.sizes(), mask.sizes())),
                        MemoryFormat::kContiguous);
  masked_scatter_(result, mask, source);
  return result;
}

void fill_where_false(const Tensor& target, const Tensor& mask, const Scalar& value) {
  const Tensor is_kept = to_dtype(mask, ScalarType::kBool);
  dispatch_all(target.dtype(), "masked_fill", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T number = value.to<T>();
    map_elements<T, T, bool>(
        target, [number](T x, bool kept) { return kept ? x : number; }, target, is_kept);
  });
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  require(self.dtype() == ScalarType::kLong, ErrorCode::kInvalidArgument,
          "one_hot is only applicable to index tensor of type LongTensor.");
  const Tensor classes = contiguous(self);
  const int64_t* at = classes.data<int64_t>();
  const int64_t numel = classes.numel();
  require(numel > 0 || num_classes > 0, ErrorCode::kInvalidArgument,
          "Can not infer total number of classes from empty tensor.");
  int64_t largest = -1;
  for (int64_t i = 0; i < numel; ++i) {
    require(at[i] >= 0, ErrorCode::kInvalidArgument, "Class values must be non-negative.");
    largest = std::max(largest, at[i]);
  }
  require(num_classes == -1 || num_classes > largest, ErrorCode::kInvalidArgument,
          "Class values must be smaller than num_classes.");
  const int64_t width = num_classes == -1 ? largest + 1 : num_classes;
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes.push_back(width);
  Tensor out = Tensor::empty(sizes, ScalarType::kLong);
  fill(out, Scalar(0));
  int64_t* to = out.data<int64_t>();
  for (int64_t i = 0; i < numel; ++i) to[i * width + at[i]] = 1;
  return out;
}

}  // namespace tierup::kernels
