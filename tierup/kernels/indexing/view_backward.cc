#include "tierup/kernels/indexing/view_backward.h"

#include <algorithm>

#include "tierup/kernels/indexing/scatter.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/masking.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor zeros(const IntVector& sizes, ScalarType dtype) {
  Tensor out = Tensor::empty(sizes, dtype);
  fill(out, 0);
  return out;
}

// Writes the gradient to a view, whose sizes it must have.
void write_part(const Tensor& part, const Tensor& grad, const char* what) {
  if (!std::equal(part.sizes().begin(), part.sizes().end(), grad.sizes().begin(),
                  grad.sizes().end())) {
    fail(kBad, "{}: expected a gradient of size {}, but got {}", what, shape_string(part.sizes()),
         shape_string(grad.sizes()));
  }
  copy_into(part, grad);
}

// The places in the storage that each element of the geometry stands at, in row-major order.
Tensor places(const IntVector& sizes, const IntVector& strides, int64_t offset) {
  const Tensor out = Tensor::empty(sizes, ScalarType::kLong);
  IntVector index(sizes.size(), 0);
  int64_t at = offset;
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<int64_t>()[i] = at;
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d]) break;
      at -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
  return out;
}

// Adds each element of `values` to the place in `storage` that it stands at.
void add_at(const Tensor& storage, const Tensor& at, const Tensor& values) {
  index_add_(storage, 0, flatten(at, 0, -1), flatten(values, 0, -1), Scalar(1));
}

}  // namespace

int64_t strided_reach(IntSpan sizes, IntSpan strides, int64_t offset) {
  require(sizes.size() == strides.size() && offset >= 0, kBad,
          "as_strided_backward: sizes and strides differ in length");
  int64_t last = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    require(strides[d] >= 0, kBad, "as_strided: Negative strides are not supported");
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

bool may_overlap(IntSpan sizes, IntSpan strides) {
  std::vector<std::pair<int64_t, int64_t>> order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return false;
    if (sizes[d] > 1) order.emplace_back(strides[d], sizes[d]);
  }
  std::sort(order.begin(), order.end());
  int64_t reached = 0;
  for (const auto& [stride, size] : order) {
    if (stride <= reached) return true;
    reached += stride * (size - 1);
  }
  return false;
}

Tensor select_backward(const Tensor& grad, const IntVector& input_sizes, int64_t dim,
                       int64_t index) {
  Tensor out = zeros(input_sizes, grad.dtype());
  write_part(select(out, dim, index), grad, "select_backward");
  return out;
}

Tensor slice_backward(const Tensor& grad, const IntVector& input_sizes, int64_t dim, int64_t start,
                      int64_t end, int64_t step) {
  Tensor out = zeros(input_sizes, grad.dtype());
  write_part(slice(out, dim, start, end, step), grad, "slice_backward");
  return out;
}

Tensor diagonal_backward(const Tensor& grad, const IntVector& input_sizes, int64_t offset,
                         int64_t dim1, int64_t dim2) {
  Tensor out = zeros(input_sizes, grad.dtype());
  write_part(diagonal(out, offset, dim1, dim2), grad, "diagonal_backward");
  return out;
}

Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, const IntVector& sizes) {
  const Tensor chosen = masked_select(grad, expand_to(mask, grad.sizes()));
  const int64_t total = numel_of(sizes);
  Tensor flat = zeros({total}, grad.dtype());
  const int64_t count = std::min(total, chosen.numel());
  copy_into(narrow(flat, 0, 0, count), narrow(chosen, 0, 0, count));
  return reshape(flat, sizes);
}

Tensor trace_backward(const Tensor& grad, const IntVector& sizes) {
  require(sizes.size() == 2, kBad, "expected matrix input");
  Tensor out = zeros(sizes, grad.dtype());
  const Tensor line = diagonal(out, 0, 0, 1);
  copy_into(line, expand_to(grad, line.sizes()));
  return out;
}

Tensor as_strided_backward(const Tensor& grad, const IntVector& input_sizes,
                           const IntVector& input_strides, int64_t input_offset,
                           const IntVector& sizes, const IntVector& strides, int64_t offset) {
  require(input_strides.size() == input_sizes.size() &&
              std::equal(sizes.begin(), sizes.end(), grad.sizes().begin(), grad.sizes().end()),
          kBad, "as_strided_backward: the gradient does not have the sizes of the view");
  const int64_t first = std::min(offset, input_offset);
  const int64_t length = std::max(strided_reach(sizes, strides, offset - first),
                                  strided_reach(input_sizes, input_strides, input_offset - first));
  Tensor storage = zeros({length}, grad.dtype());
  if (may_overlap(sizes, strides)) {
    add_at(storage, places(sizes, strides, offset - first), grad);
  } else if (grad.numel() > 0) {
    copy_into(storage.as_view(sizes, strides, offset - first), grad);
  }
  if (may_overlap(input_sizes, input_strides)) {
    Tensor count = zeros({length}, grad.dtype());
    const Tensor one = Tensor::scalar(Scalar(1.0), grad.dtype());
    add_at(count, places(input_sizes, input_strides, input_offset - first),
           expand_to(one, input_sizes));
    storage = pointwise({Body::kDiv}, {storage, count});  // 0 / 0 where no input stands.
  }
  return numel_of(input_sizes) == 0
             ? zeros(input_sizes, grad.dtype())
             : clone(storage.as_view(input_sizes, input_strides, input_offset - first),
                     MemoryFormat::kContiguous);
}

}  // namespace tierup::kernels
