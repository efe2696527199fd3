#include "tierup/kernels/shape/slicing.h"

#include <algorithm>

#include "tierup/base/interrupt.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

// Before each view of many: asks now and then whether to stop.
void ask_before(int64_t view) {
  constexpr int64_t kUnasked = 1 << 12;
  if (view % kUnasked == 0) poll_interrupt();
}

// Elements [start, start + length * step) of a dimension known to be in range.
Tensor cut(const Tensor& self, int64_t dim, int64_t start, int64_t length, int64_t step = 1) {
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  const int64_t offset = self.offset() + start * strides[dim];
  sizes[dim] = length;
  // A huge step over a single element may wrap around; such a stride is never followed.
  strides[dim] =
      static_cast<int64_t>(static_cast<uint64_t>(strides[dim]) * static_cast<uint64_t>(step));
  return self.as_view(sizes, strides, offset);
}

// The axis and check of hsplit, vsplit and dsplit.
int64_t split_axis(const Tensor& self, char name, int64_t min_rank, int64_t axis,
                   std::optional<int64_t> sections) {
  require(self.dim() >= min_rank, ErrorCode::kInvalidArgument,
          "torch.{}split requires a tensor with at least {} dimension{}, but got a tensor with {} "
          "dimensions!",
          name, min_rank, min_rank == 1 ? "" : "s", self.dim());
  if (sections) {
    require(*sections != 0 && self.sizes()[axis] % *sections == 0, ErrorCode::kInvalidArgument,
            "torch.{}split attempted to split along dimension {}, but the size of the dimension {} "
            "is not divisible by the split_size {}!",
            name, axis, self.sizes()[axis], *sections);
  }
  return axis;
}

int64_t horizontal_axis(const Tensor& self) { return self.dim() == 1 ? 0 : 1; }

int64_t integer_at(const Tensor& tensor, int64_t i) {
  const int64_t stride = tensor.dim() == 0 ? 0 : tensor.strides()[0];
  return tensor.data<int64_t>()[i * stride];
}

}  // namespace

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  require(self.dim() > 0, ErrorCode::kOutOfRange, "select() cannot be applied to a 0-dim tensor.");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.sizes()[d];
  if (!(index >= -size && index < size)) {
    fail(ErrorCode::kOutOfRange,
         "select(): index {} out of range for tensor of size {} at dimension {}", index,
         shape_string(self.sizes()), d);
  }
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  const int64_t offset = self.offset() + (index < 0 ? index + size : index) * strides[d];
  sizes.erase(sizes.begin() + d);
  strides.erase(strides.begin() + d);
  return self.as_view(sizes, strides, offset);
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "slice() cannot be applied to a 0-dim tensor.");
  const int64_t d = wrap_dim(dim, self.dim());
  require(step > 0, ErrorCode::kInvalidArgument, "slice step must be positive");
  const int64_t size = self.sizes()[d];
  int64_t first = start.value_or(0);
  int64_t last = end.value_or(size);
  if (first < 0) first += size;
  if (last < 0) last += size;
  first = std::clamp<int64_t>(first, 0, size);
  last = std::clamp<int64_t>(last, first, size);
  const int64_t span = last - first;
  return cut(self, d, first, span == 0 ? 0 : (span - 1) / step + 1, step);
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "narrow() cannot be applied to a 0-dim tensor.");
  require(length >= 0, ErrorCode::kInvalidArgument, "narrow(): length must be non-negative.");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.sizes()[d];
  require(start >= -size && start <= size, ErrorCode::kOutOfRange,
          "start out of range (expected to be in range of [{}, {}], but got {})", -size, size,
          start);
  const int64_t first = start < 0 ? start + size : start;
  require(length <= size - first, ErrorCode::kOutOfRange,
          "start ({}) + length ({}) exceeds dimension size ({}).", first, length, size);
  return cut(self, d, first, length);
}

Tensor narrow_tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  require(start.dim() == 0 && is_integral(start.dtype(), false), ErrorCode::kInvalidArgument,
          "start must be an 0-dim integral Tensor.");
  return narrow(self, dim, integer_at(to_dtype(start, ScalarType::kLong), 0), length);
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t a = wrap_dim(dim1, self.dim());
  const int64_t b = wrap_dim(dim2, self.dim());
  require(a != b, ErrorCode::kInvalidArgument, "diagonal dimensions cannot be identical {}, {}",
          dim1, dim2);
  const int64_t rows = self.sizes()[a];
  const int64_t columns = self.sizes()[b];
  int64_t length = 0;
  int64_t start = self.offset();
  if (offset >= 0 && offset < columns) {
    length = std::min(rows, columns - offset);
    if (length > 0) start += offset * self.strides()[b];
  } else if (offset < 0 && offset > -rows) {
    length = std::min(rows + offset, columns);
    if (length > 0) start -= offset * self.strides()[a];
  }
  IntVector sizes;
  IntVector strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d == a || d == b) continue;
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
  }
  sizes.push_back(length);
  strides.push_back(self.strides()[a] + self.strides()[b]);
  return self.as_view(sizes, strides, start);
}

Tensor unfold(const Tensor& self, int64_t dim, int64_t size, int64_t step) {
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t limit = self.dim() == 0 ? 1 : self.sizes()[d];
  require(size >= 0, ErrorCode::kInvalidArgument, "size is {} but must be >= 0", size);
  require(size <= limit, ErrorCode::kInvalidArgument,
          "maximum size for tensor at dimension {} is {} but size is {}", d, limit, size);
  require(step > 0, ErrorCode::kInvalidArgument, "step is {} but must be > 0", step);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector strides(self.strides().begin(), self.strides().end());
  const int64_t inner = self.dim() == 0 ? 1 : strides[d];
  if (self.dim() > 0) {
    sizes[d] = (limit - size) / step + 1;
    strides[d] = static_cast<int64_t>(static_cast<uint64_t>(inner) * static_cast<uint64_t>(step));
  }
  sizes.push_back(size);
  strides.push_back(inner);
  return self.as_view(sizes, strides, self.offset());
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "chunk expects at least a 1-dimensional tensor");
  require(chunks > 0, ErrorCode::kInvalidArgument,
          "chunk expects `chunks` to be greater than 0, got: {}", chunks);
  const int64_t size = self.sizes()[wrap_dim(dim, self.dim())];
  if (size == 0) return tensor_split_sections(self, chunks, dim);
  return split(self, (size - 1) / chunks + 1, dim);
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "split expects at least a 1-dimensional tensor");
  require(split_size >= 0, ErrorCode::kInvalidArgument,
          "split expects split_size be non-negative, but got split_size={}", split_size);
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.sizes()[d];
  require(split_size > 0 || size == 0, ErrorCode::kInvalidArgument,
          "split_size can only be 0 if dimension size is 0, but got dimension size of {}", size);
  const int64_t parts = size == 0 ? 1 : (size - 1) / split_size + 1;
  std::vector<Tensor> result;
  result.reserve(static_cast<size_t>(parts));
  for (int64_t i = 0; i < parts; ++i) {
    ask_before(i);
    const int64_t start = i * split_size;
    result.push_back(cut(self, d, start, std::min(split_size, size - start)));
  }
  return result;
}

std::vector<Tensor> split_with_sizes(const Tensor& self, const IntVector& sizes, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "split expects at least a 1-dimensional tensor");
  const int64_t d = wrap_dim(dim, self.dim());
  int64_t total = 0;
  bool overflow = false;
  for (const int64_t size : sizes) {
    if (size < 0) {
      fail(ErrorCode::kInvalidArgument,
           "split_with_sizes expects split_sizes have only non-negative entries, but got "
           "split_sizes={}",
           shape_string(sizes));
    }
    overflow = __builtin_add_overflow(total, size, &total) || overflow;
  }
  if (!(!overflow && total == self.sizes()[d])) {
    fail(ErrorCode::kInvalidArgument,
         "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at "
         "dimension {}), but got split_sizes={}",
         self.sizes()[d], d, shape_string(sizes));
  }
  std::vector<Tensor> result;
  result.reserve(sizes.size());
  int64_t start = 0;
  for (const int64_t size : sizes) {
    ask_before(static_cast<int64_t>(result.size()));
    result.push_back(cut(self, d, start, size));
    start += size;
  }
  return result;
}

std::vector<Tensor> tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims",
          self.dim());
  const int64_t d = wrap_dim(dim, self.dim());
  require(sections > 0, ErrorCode::kInvalidArgument,
          "number of sections must be larger than 0, got {}", sections);
  const int64_t size = self.sizes()[d];
  std::vector<Tensor> result;
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    ask_before(i);
    const int64_t length = size / sections + (i < size % sections ? 1 : 0);
    result.push_back(cut(self, d, start, length));
    start += length;
  }
  return result;
}

std::vector<Tensor> tensor_split_indices(const Tensor& self, const IntVector& indices,
                                         int64_t dim) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims",
          self.dim());
  const int64_t d = wrap_dim(dim, self.dim());
  std::vector<Tensor> result;
  int64_t start = 0;
  for (const int64_t end : indices) {
    result.push_back(slice(self, d, start, end, 1));
    start = end;
  }
  result.push_back(slice(self, d, start, std::nullopt, 1));
  return result;
}

std::vector<Tensor> tensor_split_tensor(const Tensor& self, const Tensor& spec, int64_t dim) {
  require(spec.dtype() == ScalarType::kLong, ErrorCode::kInvalidArgument,
          "tensor_split expected tensor_indices_or_sections to have dtype of long, but got {}",
          scalar_type_name(spec.dtype()));
  require(spec.dim() <= 1, ErrorCode::kInvalidArgument,
          "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
          "one-dimensional tensor, but got a tensor with {} dims",
          spec.dim());
  if (spec.dim() == 0) return tensor_split_sections(self, integer_at(spec, 0), dim);
  IntVector indices;
  for (int64_t i = 0; i < spec.numel(); ++i) indices.push_back(integer_at(spec, i));
  return tensor_split_indices(self, indices, dim);
}

std::vector<Tensor> hsplit_sections(const Tensor& self, int64_t sections) {
  return tensor_split_sections(self, sections,
                               split_axis(self, 'h', 1, horizontal_axis(self), sections));
}

std::vector<Tensor> hsplit_indices(const Tensor& self, const IntVector& indices) {
  return tensor_split_indices(self, indices,
                              split_axis(self, 'h', 1, horizontal_axis(self), std::nullopt));
}

std::vector<Tensor> vsplit_sections(const Tensor& self, int64_t sections) {
  return tensor_split_sections(self, sections, split_axis(self, 'v', 2, 0, sections));
}

std::vector<Tensor> vsplit_indices(const Tensor& self, const IntVector& indices) {
  return tensor_split_indices(self, indices, split_axis(self, 'v', 2, 0, std::nullopt));
}

std::vector<Tensor> dsplit_sections(const Tensor& self, int64_t sections) {
  return tensor_split_sections(self, sections, split_axis(self, 'd', 3, 2, sections));
}

std::vector<Tensor> dsplit_indices(const Tensor& self, const IntVector& indices) {
  return tensor_split_indices(self, indices, split_axis(self, 'd', 3, 2, std::nullopt));
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim());
  require(self.dim() > 0, ErrorCode::kOutOfRange,
          "Dimension specified as {} but tensor has no dimensions", dim);
  std::vector<Tensor> result;
  result.reserve(static_cast<size_t>(self.sizes()[d]));
  for (int64_t i = 0; i < self.sizes()[d]; ++i) {
    ask_before(i);
    result.push_back(select(self, d, i));
  }
  return result;
}

}  // namespace tierup::kernels
