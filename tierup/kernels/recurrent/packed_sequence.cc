// Padded sequences to packed ones: the rows of each step side by side, longest sequences first.
#include <algorithm>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/recurrent/recurrent.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

}  // namespace

std::tuple<Tensor, Tensor> pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                                bool batch_first) {
  if (!(input.dim() >= 2)) {
    fail(kBad, "pack_padded_sequence: expected at least 2 dimensions, got {}",
         shape_string(input.sizes()));
  }
  require(lengths.dim() == 1 && lengths.dtype() == ScalarType::kLong, kBad,
          "'lengths' argument should be a 1D CPU int64 tensor");
  const Tensor steps_first = batch_first ? transpose(input, 0, 1) : input;
  const Tensor dense = contiguous(lengths);
  const int64_t* length = dense.data<int64_t>();
  const int64_t batch = steps_first.size(1);
  require(lengths.numel() == batch && batch > 0, kBad,
          "Expected `len(lengths)` to be equal to batch_size, but got {} (batch_size={})",
          lengths.numel(), batch);
  int64_t total = 0;
  for (int64_t b = 0; b < batch; ++b) {
    require(length[b] > 0, kBad,
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0");
    require(b == 0 || length[b] <= length[b - 1], kBad,
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True");
    require(length[b] <= steps_first.size(0), kBad, "Expected lengths of at most {} steps, got {}",
            steps_first.size(0), length[b]);
    total += length[b];
  }
  IntVector sizes(steps_first.sizes().begin() + 1, steps_first.sizes().end());
  sizes[0] = total;
  const Tensor data = Tensor::empty(sizes, input.dtype());
  const Tensor batch_sizes = Tensor::empty(IntVector{length[0]}, ScalarType::kLong);
  int64_t offset = 0;
  int64_t count = batch;
  for (int64_t step = 0; step < length[0]; ++step) {
    while (length[count - 1] <= step) --count;
    batch_sizes.data<int64_t>()[step] = count;
    IntVector piece = sizes;
    piece[0] = count;
    const Tensor source = steps_first.as_view(piece, steps_first.strides().subspan(1),
                                              steps_first.offset() + step * steps_first.stride(0));
    copy_into(data.as_view(piece, data.strides(), offset * data.stride(0)), source);
    offset += count;
  }
  return {data, batch_sizes};
}

Tensor pack_padded_sequence_backward(const Tensor& grad, const IntVector& input_size,
                                     const Tensor& batch_sizes, bool batch_first) {
  require(
      input_size.size() >= 2 && batch_sizes.dim() == 1 && batch_sizes.dtype() == ScalarType::kLong,
      kBad, "pack_padded_sequence: sizes {} and batch sizes of rank {} do not belong together",
      shape_string(input_size), batch_sizes.dim());
  IntVector sizes(input_size.begin(), input_size.end());
  if (batch_first) std::swap(sizes[0], sizes[1]);
  const Tensor steps_first = Tensor::empty(sizes, grad.dtype());
  fill(steps_first, Scalar(0));
  const Tensor counts = contiguous(batch_sizes);
  require(counts.numel() <= sizes[0], kBad, "Expected at most {} batch sizes, got {}", sizes[0],
          counts.numel());
  IntVector piece(sizes.begin() + 1, sizes.end());
  int64_t offset = 0;
  for (int64_t step = 0; step < counts.numel(); ++step) {
    piece[0] = counts.data<int64_t>()[step];
    require(piece[0] >= 0 && piece[0] <= sizes[1] && offset + piece[0] <= grad.size(0), kBad,
            "a step of {} rows does not fit into a batch of {}", piece[0], sizes[1]);
    const Tensor target =
        steps_first.as_view(piece, steps_first.strides().subspan(1), step * steps_first.stride(0));
    copy_into(target, grad.as_view(piece, grad.strides(), grad.offset() + offset * grad.stride(0)));
    offset += piece[0];
  }
  return batch_first ? transpose(steps_first, 0, 1) : steps_first;
}

}  // namespace tierup::kernels
