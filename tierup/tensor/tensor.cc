#include "tierup/tensor/tensor.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tierup {
namespace {

// Order of dimensions from the fastest in channels_last: C, then the spatial ones backwards, then
// N.
IntVector channels_last_strides(IntSpan sizes) {
  IntVector strides(sizes.size());
  int64_t step = 1;
  const auto put = [&](size_t d) {
    strides[d] = step;
    // May wrap where another size is 0: no element then has an address.
    __builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step);
  };
  put(1);
  for (size_t d = sizes.size() - 1; d >= 2; --d) put(d);
  put(0);
  return strides;
}

bool strides_match(IntSpan sizes, IntSpan strides, IntSpan wanted) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && strides[d] != wanted[d]) return false;
  }
  return true;
}

bool compute_contiguous(IntSpan sizes, IntSpan strides, int64_t numel) {
  if (numel == 0) return true;
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

// Elements of the storage from the first to behind the last that the geometry reaches.
struct Extent {
  int64_t begin;
  int64_t end;
};
Extent extent_of(IntSpan sizes, IntSpan strides, int64_t offset) {
  int64_t low = offset;
  int64_t high = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return {offset, offset};
    int64_t reach = 0;
    bool bad = __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach);
    bad = bad || __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
    if (bad) {
      fail(ErrorCode::kOutOfRange, "sizes {} with strides {} overflow", shape_string(sizes),
           shape_string(strides));
    }
  }
  if (!(high < INT64_MAX)) {
    fail(ErrorCode::kOutOfRange, "sizes {} with strides {} overflow", shape_string(sizes),
         shape_string(strides));
  }
  return {low, high + 1};
}

void check_bounds(const Storage& storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                  int64_t offset) {
  if (!(sizes.size() == strides.size())) {
    fail(ErrorCode::kInvalidArgument, "sizes {} and strides {} have different lengths",
         shape_string(sizes), shape_string(strides));
  }
  if (numel_of(sizes) == 0) return;
  const Extent extent = extent_of(sizes, strides, offset);
  const auto capacity = static_cast<int64_t>(storage.bytes() / item_size(dtype));
  if (!(extent.begin >= 0 && extent.end <= capacity)) {
    fail(ErrorCode::kOutOfRange,
         "sizes {}, strides {} and offset {} reach outside of a storage of {} elements",
         shape_string(sizes), shape_string(strides), offset, capacity);
  }
}

Ref<TensorImpl> make_impl(Ref<Storage> storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                          int64_t offset) {
  auto impl = make_ref<TensorImpl>();
  impl->storage = std::move(storage);
  impl->dtype = dtype;
  impl->sizes.assign(sizes.begin(), sizes.end());
  impl->strides.assign(strides.begin(), strides.end());
  impl->offset = offset;
  impl->numel = numel_of(sizes);
  impl->contiguous = compute_contiguous(sizes, strides, impl->numel);
  return impl;
}

}  // namespace

Tensor Tensor::empty(IntSpan sizes, ScalarType dtype, MemoryFormat format) {
  const int64_t numel = numel_of(sizes);
  int64_t bytes = 0;
  if (!(!__builtin_mul_overflow(numel, static_cast<int64_t>(tierup::item_size(dtype)), &bytes))) {
    fail(ErrorCode::kOutOfMemory, "a tensor of shape {} is too large", shape_string(sizes));
  }
  const IntVector strides = strides_for(sizes, format);
  return Tensor(make_impl(Storage::allocate(static_cast<size_t>(bytes)), dtype, sizes,
                          {strides.data(), strides.size()}, 0));
}

Tensor Tensor::empty_strided(IntSpan sizes, IntSpan strides, ScalarType dtype) {
  if (!(sizes.size() == strides.size())) {
    fail(ErrorCode::kInvalidArgument, "sizes {} and strides {} have different lengths",
         shape_string(sizes), shape_string(strides));
  }
  const Extent extent = numel_of(sizes) == 0 ? Extent{0, 0} : extent_of(sizes, strides, 0);
  if (!(extent.begin >= 0)) {
    fail(ErrorCode::kInvalidArgument, "negative strides {}", shape_string(strides));
  }
  int64_t bytes = 0;
  if (!(!__builtin_mul_overflow(extent.end, static_cast<int64_t>(tierup::item_size(dtype)),
                                &bytes))) {
    fail(ErrorCode::kOutOfMemory, "a tensor of shape {} is too large", shape_string(sizes));
  }
  return Tensor(make_impl(Storage::allocate(static_cast<size_t>(bytes)), dtype, sizes, strides, 0));
}

Tensor Tensor::from_storage(Ref<Storage> storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                            int64_t offset) {
  if (storage->device().type != DeviceType::kMeta) {
    check_bounds(*storage, dtype, sizes, strides, offset);
  }
  return Tensor(make_impl(std::move(storage), dtype, sizes, strides, offset));
}

Tensor Tensor::scalar(const Scalar& value, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(value.dtype());
  Tensor result = empty({}, type);
  dispatch_all(type, "scalar_tensor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    *result.data<T>() = value.to<T>();
  });
  return result;
}

namespace {

// wrap_dim lets a number have one dimension, as operators do; it has no size.
int64_t wrap_own_dim(int64_t dim, int64_t rank) {
  require(rank > 0, ErrorCode::kOutOfRange,
          "Dimension specified as {} but tensor has no dimensions", dim);
  return wrap_dim(dim, rank);
}

}  // namespace

int64_t Tensor::size(int64_t dim) const { return impl_->sizes[wrap_own_dim(dim, this->dim())]; }

int64_t Tensor::stride(int64_t dim) const { return impl_->strides[wrap_own_dim(dim, this->dim())]; }

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::kContiguous || format == MemoryFormat::kPreserve) {
    return impl_->contiguous;
  }
  const size_t rank = format == MemoryFormat::kChannelsLast ? 4 : 5;
  if (impl_->sizes.size() != rank) return false;
  const IntVector wanted = channels_last_strides(sizes());
  return strides_match(sizes(), strides(), {wanted.data(), wanted.size()});
}

bool Tensor::is_non_overlapping_and_dense() const {
  if (impl_->contiguous) return true;
  SmallVector<size_t, 6> order;
  for (size_t d = 0; d < impl_->sizes.size(); ++d) {
    if (impl_->sizes[d] != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return impl_->strides[a] < impl_->strides[b]; });
  int64_t expected = 1;
  for (const size_t d : order) {
    if (impl_->strides[d] != expected) return false;
    expected *= impl_->sizes[d];
  }
  return true;
}

MemoryFormat Tensor::suggest_memory_format() const {
  if (dim() != 4 && dim() != 5) return MemoryFormat::kContiguous;
  // Strides must grow from C through the spatial dimensions to N; ties mean "ambiguous", which is
  // contiguous unless the channel stride says otherwise (a 1x1 image with several channels).
  const auto& sizes = impl_->sizes;
  const auto& strides = impl_->strides;
  int64_t least = 0;
  if (strides[1] == 0) return MemoryFormat::kContiguous;
  SmallVector<size_t, 6> order{1};
  for (size_t d = sizes.size() - 1; d >= 2; --d) order.push_back(d);
  order.push_back(0);
  for (const size_t d : order) {
    if (sizes[d] == 0 || strides[d] < least) return MemoryFormat::kContiguous;
    if (d == 0 && least == strides[1]) return MemoryFormat::kContiguous;
    least = strides[d];
    if (sizes[d] > 1) least *= sizes[d];
  }
  return dim() == 4 ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsLast3d;
}

Tensor Tensor::as_view(IntSpan sizes, IntSpan strides, int64_t offset) const {
  if (!is_meta()) check_bounds(*impl_->storage, impl_->dtype, sizes, strides, offset);
  Ref<TensorImpl> view = make_impl(impl_->storage, impl_->dtype, sizes, strides, offset);
  view->conjugate = impl_->conjugate;
  view->negative = impl_->negative;
  view->hides_writes = impl_->hides_writes;
  view->requires_grad = impl_->requires_grad;
  return Tensor(std::move(view));
}

Tensor Tensor::detach() const {
  Tensor copy = as_view(sizes(), strides(), offset());
  copy.impl_->requires_grad = false;
  return copy;
}

Tensor Tensor::with_dtype(ScalarType dtype) const {
  TIERUP_CHECK(tierup::item_size(dtype) == item_size());
  Tensor view = as_view(sizes(), strides(), offset());
  view.impl_->dtype = dtype;
  return view;
}

void Tensor::set_geometry(IntSpan sizes, IntSpan strides, int64_t offset) const {
  check_bounds(*impl_->storage, impl_->dtype, sizes, strides, offset);
  const Ref<TensorImpl> fresh = make_impl(impl_->storage, impl_->dtype, sizes, strides, offset);
  impl_->sizes = fresh->sizes;
  impl_->strides = fresh->strides;
  impl_->offset = offset;
  impl_->numel = fresh->numel;
  impl_->contiguous = fresh->contiguous;
}

std::string Tensor::describe() const {
  if (!defined()) return "undefined";
  return fmt::format("{}{}", scalar_type_name(dtype()), shape_string(sizes()));
}

IntVector contiguous_strides(IntSpan sizes) {
  IntVector strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    // May wrap where another size is 0: no element then has an address.
    __builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step);
  }
  return strides;
}

IntVector strides_for(IntSpan sizes, MemoryFormat format) {
  if (format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d) {
    const size_t rank = format == MemoryFormat::kChannelsLast ? 4 : 5;
    require(sizes.size() == rank, ErrorCode::kInvalidArgument,
            "required rank {} tensor to use {} format", rank,
            rank == 4 ? "channels_last" : "channels_last_3d");
    return channels_last_strides(sizes);
  }
  return contiguous_strides(sizes);
}

int64_t numel_of(IntSpan sizes) {
  int64_t numel = 1;
  bool overflow = false;
  for (const int64_t s : sizes) {
    if (!(s >= 0)) {
      fail(ErrorCode::kInvalidArgument, "negative size {} in shape {}", s, shape_string(sizes));
    }
    overflow = __builtin_mul_overflow(numel, s, &numel) || overflow;
  }
  for (const int64_t s : sizes) {
    if (s == 0) return 0;
  }
  if (overflow) {
    fail(ErrorCode::kInvalidArgument, "shape {} has too many elements", shape_string(sizes));
  }
  return numel;
}

int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t range = std::max<int64_t>(rank, 1);
  require(dim >= -range && dim < range, ErrorCode::kOutOfRange,
          "Dimension out of range (expected to be in range of [{}, {}], but got {})", -range,
          range - 1, dim);
  return dim < 0 ? dim + range : dim;
}

IntVector broadcast_shapes(IntSpan a, IntSpan b) {
  const size_t rank = std::max(a.size(), b.size());
  IntVector result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t sa = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t sb = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (!(sa == sb || sa == 1 || sb == 1)) {
      fail(ErrorCode::kInvalidArgument,
           "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton "
           "dimension {}: shapes {} and {} cannot be broadcast",
           sa, sb, rank - 1 - i, shape_string(a), shape_string(b));
    }
    result[rank - 1 - i] = sa == 1 ? sb : sa;
  }
  return result;
}

Tensor expand_to(const Tensor& tensor, IntSpan sizes) {
  const size_t rank = static_cast<size_t>(tensor.dim());
  require(sizes.size() >= rank, ErrorCode::kInvalidArgument,
          "expand: the number of sizes provided ({}) must be greater or equal to the number of "
          "dimensions in the tensor ({})",
          sizes.size(), rank);
  IntVector shape(sizes.begin(), sizes.end());
  IntVector strides(sizes.size(), 0);
  const size_t lead = sizes.size() - rank;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d < lead) {
      require(shape[d] >= 0, ErrorCode::kInvalidArgument,
              "expand: size {} is not allowed in a leading, non-existing dimension {}", shape[d],
              d);
      continue;
    }
    const int64_t have = tensor.sizes()[d - lead];
    if (shape[d] == -1) shape[d] = have;
    if (!(have == shape[d] || have == 1)) {
      fail(ErrorCode::kInvalidArgument,
           "The expanded size of the tensor ({}) must match the existing size ({}) at "
           "non-singleton dimension {}.  Target sizes: {}.  Tensor sizes: {}",
           shape[d], have, d, shape_string(sizes), shape_string(tensor.sizes()));
    }
    strides[d] = have == shape[d] ? tensor.strides()[d - lead] : 0;
  }
  return tensor.as_view({shape.data(), shape.size()}, {strides.data(), strides.size()},
                        tensor.offset());
}

std::optional<IntVector> view_strides(IntSpan old_sizes, IntSpan old_strides, IntSpan sizes) {
  if (numel_of(old_sizes) == 0) {
    return std::equal(old_sizes.begin(), old_sizes.end(), sizes.begin(), sizes.end())
               ? IntVector(old_strides.begin(), old_strides.end())
               : contiguous_strides(sizes);
  }
  // Cut the old dimensions into runs that are contiguous among themselves; each run must be
  // covered by whole new dimensions.
  IntVector strides(sizes.size(), 1);
  int64_t view = static_cast<int64_t>(sizes.size()) - 1;
  int64_t run_stride = old_strides.empty() ? 1 : old_strides.back();
  int64_t run_numel = 1;
  int64_t view_numel = 1;
  for (int64_t d = static_cast<int64_t>(old_sizes.size()) - 1; d >= 0; --d) {
    run_numel *= old_sizes[d];
    const bool run_ends =
        d == 0 || (old_sizes[d - 1] != 1 && old_strides[d - 1] != run_numel * run_stride);
    if (!run_ends) continue;
    while (view >= 0 && (view_numel < run_numel || sizes[view] == 1)) {
      strides[view] = view_numel * run_stride;
      view_numel *= sizes[view];
      --view;
    }
    if (view_numel != run_numel) return std::nullopt;
    if (d > 0) {
      run_stride = old_strides[d - 1];
      run_numel = 1;
      view_numel = 1;
    }
  }
  // A 0-dim tensor, or leading new dimensions of size 1.
  while (view >= 0) {
    if (sizes[view] != 1) return std::nullopt;
    strides[view--] = view_numel * run_stride;
  }
  return strides;
}

bool has_internal_overlap(const Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return false;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.strides()[d] == 0 && tensor.sizes()[d] > 1) return true;
  }
  return false;
}

Overlap memory_overlap(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return Overlap::kFull;
  if (a.numel() == 0 || b.numel() == 0 || a.storage() != b.storage()) return Overlap::kNone;
  const auto equal = [](IntSpan x, IntSpan y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  if (a.offset() == b.offset() && equal(a.sizes(), b.sizes()) && equal(a.strides(), b.strides())) {
    return Overlap::kFull;
  }
  const Extent ea = extent_of(a.sizes(), a.strides(), a.offset());
  const Extent eb = extent_of(b.sizes(), b.strides(), b.offset());
  const auto wa = static_cast<int64_t>(a.item_size());
  const auto wb = static_cast<int64_t>(b.item_size());
  if (ea.end * wa <= eb.begin * wb || eb.end * wb <= ea.begin * wa) return Overlap::kNone;
  // Two strided views may interleave without meeting; only dense ones surely meet.
  if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense()) return Overlap::kNone;
  return Overlap::kPartial;
}

void check_no_internal_overlap(const Tensor& output) {
  require(!has_internal_overlap(output), ErrorCode::kInvalidArgument,
          "unsupported operation: more than one element of the written-to tensor refers to a "
          "single memory location. Please clone() the tensor before performing the operation.");
}

void check_no_partial_overlap(const Tensor& output, const Tensor& input) {
  require(memory_overlap(output, input) != Overlap::kPartial, ErrorCode::kInvalidArgument,
          "unsupported operation: some elements of the input tensor and the written-to tensor "
          "refer to a single memory location. Please clone() the tensor before performing the "
          "operation.");
}

std::string shape_string(IntSpan sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

}  // namespace tierup
