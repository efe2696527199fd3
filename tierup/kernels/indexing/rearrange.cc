#include "tierup/kernels/indexing/rearrange.h"

#include <algorithm>
#include <vector>

#include "tierup/kernels/indexing/index_select.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/creation.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// From dimension `d` on: the target goes on around the source's ends, from so many entries before
// it.
void copy_around(const Tensor& to, const Tensor& from, const IntVector& before, int64_t d) {
  while (d < from.dim() && before[d] == 0 && to.sizes()[d] == from.sizes()[d]) ++d;
  if (d == from.dim()) return copy_into(to, from);
  const int64_t size = from.sizes()[d];
  const int64_t end = to.sizes()[d];
  for (int64_t at = 0, count = 0; at < end; at += count) {
    const int64_t source = ((at - before[d]) % size + size) % size;
    count = std::min(size - source, end - at);
    copy_around(narrow(to, d, at, count), narrow(from, d, source, count), before, d + 1);
  }
}

// Each element is copied once, by however many dimensions it moves.
Tensor roll_dims(const Tensor& self, const IntVector& shifts, const IntVector& dims) {
  IntVector forward(self.sizes().size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim(dims[i], self.dim());
    const int64_t size = self.sizes()[d];
    forward[d] = (forward[d] + (shifts[i] % size + size)) % size;
  }
  Tensor out = empty_like(self, self.dtype(), MemoryFormat::kContiguous);
  copy_around(out, self, forward, 0);
  return out;
}

int64_t repeat_axis(const Tensor& input, std::optional<int64_t> dim) {
  require(input.dim() > 0, ErrorCode::kOutOfRange,
          "Dimension specified as {} but tensor has no dimensions", dim.value_or(0));
  return wrap_dim(dim.value_or(0), input.dim());
}

// A view that walks the given dimensions backwards. Its negative strides never leave this file.
Tensor reversed(const Tensor& self, uint64_t dims) {
  IntVector strides(self.strides().begin(), self.strides().end());
  int64_t offset = self.offset();
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (((dims >> d) & 1U) == 0) continue;
    offset += (self.sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return self.as_view(self.sizes(), strides, offset);
}

}  // namespace

Tensor repeat(const Tensor& self, const IntVector& repeats) {
  require(static_cast<int64_t>(repeats.size()) >= self.dim(), ErrorCode::kInvalidArgument,
          "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
          "tensor");
  const size_t lead = repeats.size() - static_cast<size_t>(self.dim());
  IntVector sizes(repeats.size());  // Of the result.
  IntVector blocks;                 // The result with each dimension as (repeat, size).
  IntVector strides;                // Of the source under `blocks`.
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) {
      fail(ErrorCode::kInvalidArgument,
           "Trying to create tensor with negative dimension {}: repeats {}", repeats[d],
           shape_string(repeats));
    }
    const int64_t size = d < lead ? 1 : self.sizes()[d - lead];
    require(!__builtin_mul_overflow(size, repeats[d], &sizes[d]), ErrorCode::kInvalidArgument,
            "repeat: dimension {} is too large", d);
    blocks.insert(blocks.end(), {repeats[d], size});
    strides.insert(strides.end(), {0, d < lead ? 0 : self.strides()[d - lead]});
  }
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  copy_into(view(out, blocks), self.as_view(blocks, strides, self.offset()));
  return out;
}

Tensor tile(const Tensor& self, const IntVector& dims) {
  IntVector repeats = dims;
  while (static_cast<int64_t>(repeats.size()) < self.dim()) repeats.insert(repeats.begin(), 1);
  return repeat(self, repeats);
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) {
  require(repeats.dim() == 1, ErrorCode::kInvalidArgument,
          "repeat_interleave only accept 1D vector as repeat");
  require(is_integral(repeats.dtype(), false), ErrorCode::kInvalidArgument,
          "repeats has to be a tensor of integers, but is of {}", dtype_name(repeats.dtype()));
  const Tensor counts = contiguous(to_dtype(repeats, ScalarType::kLong));
  const int64_t* count = counts.data<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    require(count[i] >= 0, ErrorCode::kInvalidArgument, "repeats can not be negative");
    require(!__builtin_add_overflow(total, count[i], &total), ErrorCode::kInvalidArgument,
            "repeat_interleave: the sum of repeats is too large");
  }
  require(!output_size || *output_size == total, ErrorCode::kInvalidArgument,
          "allocated size does not match required size: output_size {} but repeats add up to {}",
          output_size.value_or(0), total);
  Tensor out = Tensor::empty(IntVector{total}, ScalarType::kLong);
  int64_t* to = out.data<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, count[i], i);
  return repeats.dtype() == ScalarType::kLong ? out : to_dtype(out, repeats.dtype());
}

Tensor repeat_interleave_tensor(const Tensor& self, const Tensor& repeats,
                                std::optional<int64_t> dim, std::optional<int64_t> output_size) {
  const Tensor input = dim ? self : reshape(self, {-1});
  const int64_t d = repeat_axis(input, dim);
  Tensor counts =
      is_integral(repeats.dtype(), false) ? to_dtype(repeats, ScalarType::kLong) : repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.sizes()[0] == 1)) {
    counts = expand_to(reshape(counts, {1}), IntVector{input.sizes()[d]});
  }
  require(counts.dim() != 1 || counts.sizes()[0] == input.sizes()[d], ErrorCode::kInvalidArgument,
          "repeats must have the same size as input along dim, but got repeats.size(0) = {} and "
          "input.size({}) = {}",
          counts.numel(), d, input.sizes()[d]);
  return index_select(input, d, repeat_interleave(counts, output_size));
}

Tensor repeat_interleave_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                             std::optional<int64_t> output_size) {
  const Tensor input = dim ? self : reshape(self, {-1});
  const int64_t d = repeat_axis(input, dim);
  require(repeats >= 0, ErrorCode::kInvalidArgument, "Repeats must be non-negative");
  IntVector sizes(input.sizes().begin(), input.sizes().end());
  require(!__builtin_mul_overflow(sizes[d], repeats, &sizes[d]), ErrorCode::kInvalidArgument,
          "repeat_interleave: {} repeats are too many", repeats);
  require(!output_size || *output_size == sizes[d], ErrorCode::kInvalidArgument,
          "repeat_interleave: Invalid output_size, expected {} but got {}", sizes[d],
          output_size.value_or(0));
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  IntVector blocks(input.sizes().begin(), input.sizes().end());
  blocks.insert(blocks.begin() + d + 1, repeats);
  copy_into(view(out, blocks), expand_to(unsqueeze(input, d + 1), blocks));
  return out;
}

Tensor roll(const Tensor& self, const IntVector& shifts, const IntVector& dims) {
  require(!shifts.empty(), ErrorCode::kInvalidArgument, "`shifts` required");
  if (dims.empty()) {
    require(shifts.size() == 1, ErrorCode::kInvalidArgument,
            "shifts and dimensions must align. shifts: {}, dims:0", shifts.size());
    const Tensor flat = reshape(contiguous(self), {-1});
    const Tensor rolled = flat.numel() == 0 ? clone(flat) : roll_dims(flat, shifts, {0});
    return view(rolled, IntVector(self.sizes().begin(), self.sizes().end()));
  }
  require(shifts.size() == dims.size(), ErrorCode::kInvalidArgument,
          "shifts and dimensions must align. shifts: {}, dims:{}", shifts.size(), dims.size());
  if (self.numel() == 0) return clone(self);
  require(self.dim() > 0, ErrorCode::kOutOfRange,
          "Dimension specified as {} but tensor has no dimensions", dims[0]);
  return roll_dims(self, shifts, dims);
}

Tensor wrap(const Tensor& self, const IntVector& dims, const IntVector& before,
            const IntVector& after) {
  require(dims.size() == before.size() && dims.size() == after.size(), ErrorCode::kInvalidArgument,
          "wrap: dims, before and after must be as many");
  require(dims.empty() || self.dim() > 0, ErrorCode::kOutOfRange,
          "Dimension specified but tensor has no dimensions");
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  IntVector starts(sizes.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim(dims[i], self.dim());
    require(before[i] >= 0 && after[i] >= 0, ErrorCode::kInvalidArgument,
            "wrap: before and after must not be negative");
    sizes[d] += before[i] + after[i];
    starts[d] = before[i];
  }
  if (self.numel() == 0) return full(sizes, Scalar(0), self.dtype());
  const Tensor out = Tensor::empty(sizes, self.dtype());
  copy_around(out, self, starts, 0);
  return out;
}

Tensor flip(const Tensor& self, const IntVector& dims) {
  require(self.dim() <= 64, ErrorCode::kUnsupported,
          "only tensors with up to 64 dims are supported, got {}", self.dim());
  uint64_t mask = 0;
  for (const int64_t dim : dims) {
    const uint64_t bit = uint64_t{1} << wrap_dim(dim, self.dim());
    require((mask & bit) == 0, ErrorCode::kInvalidArgument,
            "dim {} appears multiple times in the list of dims", dim);
    if (self.dim() > 0) mask |= bit;
  }
  Tensor out = empty_like(self, self.dtype());
  if (out.numel() > 0) copy_into(out, reversed(self, mask));
  return out;
}

Tensor fliplr(const Tensor& self) {
  require(self.dim() >= 2, ErrorCode::kInvalidArgument, "Input must be >= 2-d.");
  return flip(self, {1});
}

Tensor flipud(const Tensor& self) {
  require(self.dim() >= 1, ErrorCode::kInvalidArgument, "Input must be >= 1-d.");
  return flip(self, {0});
}

Tensor rot90(const Tensor& self, int64_t k, const IntVector& dims) {
  require(dims.size() == 2, ErrorCode::kInvalidArgument,
          "expected total rotation dims == 2, but got dims = {}", dims.size());
  require(self.dim() >= 2, ErrorCode::kInvalidArgument,
          "expected total dims >= 2, but got total dims = {}", self.dim());
  const int64_t a = wrap_dim(dims[0], self.dim());
  const int64_t b = wrap_dim(dims[1], self.dim());
  require(a != b, ErrorCode::kInvalidArgument,
          "expected rotation dims to be different, but got dim0 = {} and dim1 = {}", dims[0],
          dims[1]);
  switch (((k % 4) + 4) % 4) {
    case 1: return transpose(flip(self, {b}), a, b);
    case 2: return flip(self, {a, b});
    case 3: return transpose(flip(self, {a}), a, b);
    default: return clone(self, MemoryFormat::kContiguous);
  }
}

}  // namespace tierup::kernels
