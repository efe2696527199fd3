#include "tierup/kernels/shape/view.h"

#include <algorithm>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

// The new last dimension and offset of a view as a wider or narrower dtype.
Tensor rewiden(const Tensor& self, ScalarType dtype) {
  const auto old_width = static_cast<int64_t>(self.item_size());
  const auto new_width = static_cast<int64_t>(item_size(dtype));
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "self.dim() cannot be 0 to view {} as {} (different element sizes)",
          scalar_type_name(self.dtype()), scalar_type_name(dtype));
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  require(strides.back() == 1, ErrorCode::kInvalidArgument,
          "self.stride(-1) must be 1 to view {} as {} (different element sizes), but got {}",
          scalar_type_name(self.dtype()), scalar_type_name(dtype), strides.back());
  int64_t offset = self.offset();
  const size_t last = sizes.size() - 1;
  if (old_width > new_width) {
    const int64_t ratio = old_width / new_width;
    sizes[last] *= ratio;
    for (size_t d = 0; d < last; ++d) strides[d] *= ratio;
    offset *= ratio;
  } else {
    const int64_t ratio = new_width / old_width;
    bool divisible = sizes[last] % ratio == 0 && offset % ratio == 0;
    for (size_t d = 0; d < last; ++d) divisible = divisible && strides[d] % ratio == 0;
    if (!divisible) {
      fail(ErrorCode::kInvalidArgument,
           "the last size, the offset and all strides must be divisible by {} to view {} as {} "
           "(different element sizes), but got {} with strides {}",
           ratio, scalar_type_name(self.dtype()), scalar_type_name(dtype), self.describe(),
           shape_string(self.strides()));
    }
    sizes[last] /= ratio;
    for (size_t d = 0; d < last; ++d) strides[d] /= ratio;
    offset /= ratio;
  }
  return Tensor::from_storage(self.storage(), dtype, sizes, strides, offset);
}

// Without those of its dimensions of size 1 which `is_dropped` tells.
template <typename IsDropped>
Tensor without_dims(const Tensor& self, const IsDropped& is_dropped) {
  IntVector sizes;
  IntVector strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.sizes()[d] == 1 && is_dropped(d)) continue;
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
  }
  return self.as_view(sizes, strides, self.offset());
}

// Sets of dimensions are bit masks: PyTorch, too, has a limit of 64 dimensions there.
uint64_t dim_mask(const Tensor& self, const IntVector& dims) {
  require(self.dim() <= 64, ErrorCode::kUnsupported,
          "only tensors with up to 64 dims are supported, got {}", self.dim());
  uint64_t mask = 0;
  for (const int64_t dim : dims) {
    const uint64_t bit = uint64_t{1} << wrap_dim(dim, self.dim());
    require((mask & bit) == 0, ErrorCode::kInvalidArgument,
            "dim {} appears multiple times in the list of dims", dim);
    mask |= bit;
  }
  return mask;
}

}  // namespace

IntVector infer_sizes(const IntVector& sizes, int64_t numel) {
  IntVector result = sizes;
  std::optional<size_t> unknown;
  int64_t known = 1;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      require(!unknown, ErrorCode::kInvalidArgument, "only one dimension can be inferred");
      unknown = d;
      continue;
    }
    require(sizes[d] >= 0, ErrorCode::kInvalidArgument, "invalid shape dimension {}", sizes[d]);
    overflow = __builtin_mul_overflow(known, sizes[d], &known) || overflow;
  }
  if (!overflow && unknown && known > 0 && numel % known == 0) {
    result[*unknown] = numel / known;
    return result;
  }
  if (unknown && known == 0 && numel == 0) {
    fail(ErrorCode::kInvalidArgument,
         "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension "
         "size -1 can be any value and is ambiguous",
         shape_string(sizes));
  }
  if (!(!overflow && !unknown && known == numel)) {
    fail(ErrorCode::kInvalidArgument, "shape '{}' is invalid for input of size {}",
         shape_string(sizes), numel);
  }
  return result;
}

Tensor view(const Tensor& self, const IntVector& sizes) {
  const IntVector shape = infer_sizes(sizes, self.numel());
  const auto strides = view_strides(self.sizes(), self.strides(), shape);
  if (!strides.has_value()) {
    fail(ErrorCode::kInvalidArgument,
         "view size is not compatible with input tensor's size and stride (at least one dimension "
         "spans across two contiguous subspaces). Use .reshape(...) instead. Got size {}, input "
         "size {} and stride {}",
         shape_string(shape), shape_string(self.sizes()), shape_string(self.strides()));
  }
  return self.as_view(shape, *strides, self.offset());
}

Tensor view_dtype(const Tensor& self, ScalarType dtype) {
  if (dtype == self.dtype()) return alias(self);
  require(!self.impl()->conjugate && !self.impl()->negative, ErrorCode::kInvalidArgument,
          "torch.Tensor.view is not supported for conjugate or negative view tensors when "
          "converting to a different dtype");
  if (item_size(dtype) == self.item_size()) return self.with_dtype(dtype);
  return rewiden(self, dtype);
}

Tensor reshape(const Tensor& self, const IntVector& sizes) {
  const IntVector shape = infer_sizes(sizes, self.numel());
  const auto strides = view_strides(self.sizes(), self.strides(), shape);
  if (strides) return self.as_view(shape, *strides, self.offset());
  return view(clone(self, MemoryFormat::kContiguous), shape);
}

Tensor view_as(const Tensor& self, const Tensor& other) {
  return view(self, IntVector(other.sizes().begin(), other.sizes().end()));
}

Tensor reshape_as(const Tensor& self, const Tensor& other) {
  return reshape(self, IntVector(other.sizes().begin(), other.sizes().end()));
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t first = wrap_dim(start_dim, self.dim());
  const int64_t last = wrap_dim(end_dim, self.dim());
  require(first <= last, ErrorCode::kInvalidArgument,
          "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return reshape(self, {1});
  if (first == last) return self;
  IntVector sizes;
  int64_t merged = 1;
  for (int64_t d = first; d <= last; ++d) merged *= self.sizes()[d];
  for (int64_t d = 0; d < first; ++d) sizes.push_back(self.sizes()[d]);
  sizes.push_back(merged);
  for (int64_t d = last + 1; d < self.dim(); ++d) sizes.push_back(self.sizes()[d]);
  return reshape(self, sizes);
}

Tensor unflatten(const Tensor& self, int64_t dim, const IntVector& sizes) {
  const int64_t axis = wrap_dim(dim, self.dim());
  require(!sizes.empty(), ErrorCode::kInvalidArgument, "unflatten: sizes must be non-empty");
  require(self.dim() > 0, ErrorCode::kOutOfRange, "unflatten: input must have a dimension");
  const int64_t length = self.sizes()[axis];
  int64_t known = 1;
  int64_t unknown = 0;
  bool overflow = false;
  for (const int64_t s : sizes) {
    if (s == -1)
      ++unknown;
    else
      overflow = s < 0 || __builtin_mul_overflow(known, s, &known) || overflow;
  }
  const bool fits =
      unknown == 0 ? known == length : unknown == 1 && known > 0 && length % known == 0;
  if (!(!overflow && fits)) {
    fail(ErrorCode::kInvalidArgument,
         "unflatten: Provided sizes {} don't multiply up to the size of dim {} ({}) in the input "
         "tensor",
         shape_string(sizes), axis, length);
  }
  IntVector shape(self.sizes().begin(), self.sizes().begin() + axis);
  for (const int64_t s : sizes) shape.push_back(s == -1 ? length / known : s);
  shape.insert(shape.end(), self.sizes().begin() + axis + 1, self.sizes().end());
  return view(self, shape);
}

Tensor ravel(const Tensor& self) { return view(contiguous(self), {self.numel()}); }

Tensor reshape_alias(const Tensor& self, const IntVector& sizes, const IntVector& strides) {
  return self.as_view(sizes, strides, self.offset());
}

Tensor alias(const Tensor& self) {
  return self.as_view(self.sizes(), self.strides(), self.offset());
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, self.dim());
  const int64_t b = wrap_dim(dim1, self.dim());
  if (a == b) return alias(self);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return self.as_view(sizes, strides, self.offset());
}

Tensor t(const Tensor& self) {
  require(self.dim() <= 2, ErrorCode::kInvalidArgument,
          "t() expects a tensor with <= 2 dimensions, but self is {}D", self.dim());
  return transpose(self, 0, self.dim() < 2 ? 0 : 1);
}

Tensor permute(const Tensor& self, const IntVector& dims) {
  require(static_cast<int64_t>(dims.size()) == self.dim(), ErrorCode::kInvalidArgument,
          "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
          "of the desired ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = "
          "{}",
          self.dim(), dims.size());
  IntVector sizes(dims.size());
  IntVector strides(dims.size());
  SmallVector<bool, 8> seen(dims.size(), false);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim(dims[i], self.dim());
    require(!seen[d], ErrorCode::kInvalidArgument, "permute(): duplicate dims are not allowed.");
    seen[d] = true;
    sizes[i] = self.sizes()[d];
    strides[i] = self.strides()[d];
  }
  return self.as_view(sizes, strides, self.offset());
}

Tensor reverse_dims(const Tensor& self) {
  const IntVector sizes(self.sizes().rbegin(), self.sizes().rend());
  const IntVector strides(self.strides().rbegin(), self.strides().rend());
  return self.as_view(sizes, strides, self.offset());
}

Tensor matrix_transpose(const Tensor& self) {
  if (self.dim() == 0) return self.as_view({}, {}, self.offset());
  require(self.dim() >= 2, ErrorCode::kInvalidArgument,
          "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.",
          self.dim());
  return transpose(self, -2, -1);
}

Tensor adjoint(const Tensor& self) {
  require(self.dim() != 1, ErrorCode::kInvalidArgument,
          "tensor.adjoint() is only supported on matrices or batches of matrices. Got {}-D tensor.",
          self.dim());
  Tensor result = matrix_transpose(self);
  if (is_complex(self.dtype())) result.impl()->conjugate = !self.impl()->conjugate;
  return result;
}

Tensor matrix_adjoint(const Tensor& self) {
  if (self.dim() == 0) return self;
  require(self.dim() == 2, ErrorCode::kInvalidArgument,
          "tensor.H is only supported on matrices (2-D tensors). Got {}-D tensor.", self.dim());
  return adjoint(self);
}

IntVector movedim_order(int64_t rank, const IntVector& source, const IntVector& destination) {
  if (source.size() != destination.size()) {
    fail(ErrorCode::kInvalidArgument,
         "movedim: Invalid source or destination dims: source ({} dims) should contain the same "
         "number of dims as destination ({} dims)",
         shape_string(source), shape_string(destination));
  }
  IntVector order(static_cast<size_t>(rank), -1);
  SmallVector<bool, 8> moved(static_cast<size_t>(std::max<int64_t>(rank, 1)), false);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], rank);
    const int64_t to = wrap_dim(destination[i], rank);
    if (rank == 0) continue;
    if (moved[from]) {
      fail(ErrorCode::kInvalidArgument, "movedim: repeated dim in `source` ({})",
           shape_string(source));
    }
    if (order[to] != -1) {
      fail(ErrorCode::kInvalidArgument, "movedim: repeated dim in `destination` ({})",
           shape_string(destination));
    }
    moved[from] = true;
    order[to] = from;
  }
  int64_t next = 0;
  for (int64_t& slot : order) {
    if (slot != -1) continue;
    while (moved[next]) ++next;
    slot = next++;
  }
  return order;
}

Tensor movedim(const Tensor& self, const IntVector& source, const IntVector& destination) {
  return permute(self, movedim_order(self.dim(), source, destination));
}

Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination) {
  return movedim(self, {source}, {destination});
}

Tensor squeeze(const Tensor& self) {
  return without_dims(self, [](int64_t) { return true; });
}

Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  const int64_t dropped = wrap_dim(dim, self.dim());
  return without_dims(self, [=](int64_t d) { return d == dropped; });
}

Tensor squeeze_dims(const Tensor& self, const IntVector& dims) {
  return without_dims(self,
                      [mask = dim_mask(self, dims)](int64_t d) { return ((mask >> d) & 1U) != 0; });
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim() + 1);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  const int64_t step = d < self.dim() ? sizes[d] * strides[d] : 1;
  sizes.insert(sizes.begin() + d, 1);
  strides.insert(strides.begin() + d, step);
  return self.as_view(sizes, strides, self.offset());
}

Tensor expand(const Tensor& self, const IntVector& sizes, bool /*implicit*/) {
  return expand_to(self, sizes);
}

Tensor expand_as(const Tensor& self, const Tensor& other) { return expand_to(self, other.sizes()); }

Tensor broadcast_to(const Tensor& self, const IntVector& sizes) { return expand_to(self, sizes); }

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
  IntVector shape;
  for (const Tensor& tensor : tensors) shape = broadcast_shapes(shape, tensor.sizes());
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(expand_to(tensor, shape));
  return result;
}

Tensor as_strided(const Tensor& self, const IntVector& sizes, const IntVector& strides,
                  std::optional<int64_t> offset) {
  require(sizes.size() == strides.size(), ErrorCode::kInvalidArgument,
          "mismatch in length of strides and shape");
  for (const int64_t stride : strides) {
    if (stride < 0) {
      fail(ErrorCode::kInvalidArgument,
           "as_strided: Negative strides are not supported at the moment, got strides: {}",
           shape_string(strides));
    }
  }
  const int64_t start = offset.value_or(self.offset());
  require(start >= 0, ErrorCode::kInvalidArgument, "Tensor: invalid storage offset {}", start);
  return self.as_view(sizes, strides, start);
}

Tensor atleast_1d(const Tensor& self) { return self.dim() == 0 ? reshape(self, {1}) : self; }

Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return reshape(self, {1, 1});
  return self.dim() == 1 ? unsqueeze(self, 0) : self;
}

Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return reshape(self, {1, 1, 1});
  if (self.dim() == 1) return unsqueeze(unsqueeze(self, 0), -1);
  return self.dim() == 2 ? unsqueeze(self, -1) : self;
}

void adopt_geometry(const Tensor& self, const Tensor& view) {
  TIERUP_CHECK(self.storage() == view.storage());
  const IntVector sizes(view.sizes().begin(), view.sizes().end());
  const IntVector strides(view.strides().begin(), view.strides().end());
  self.set_geometry(sizes, strides, view.offset());
}

}  // namespace tierup::kernels
