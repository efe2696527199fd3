#include "tierup/kernels/reduce/ragged.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor checked_mask(const Tensor& tensor, const Tensor& mask) {
  require(mask.dtype() == ScalarType::kBool, kBad,
          "Expected mask to be of ScalarType Bool, but got {} instead.",
          scalar_type_name(mask.dtype()));
  require(mask.dim() == 2, kBad, "Padding mask should be 2D");
  require(tensor.dim() == 3, kBad, "Input should be a 3D tensor, N * L * D");
  require(tensor.size(0) == mask.size(0) && tensor.size(1) == mask.size(1), kBad,
          "Mask size should match input size");
  return contiguous(mask);
}

}  // namespace

bool is_left_aligned(const Tensor& tensor, const Tensor& mask) {
  const Tensor seen = checked_mask(tensor, mask);
  const int64_t length = mask.size(1);
  for (int64_t b = 0; b < mask.size(0); ++b) {
    const bool* row = seen.data<bool>() + b * length;
    if (!std::is_sorted(row, row + length, [](bool x, bool y) { return x && !y; })) return false;
  }
  return true;
}

Tensor ragged_from_mask(const Tensor& tensor, const Tensor& mask, bool mask_check) {
  require(!mask_check || is_left_aligned(tensor, mask), kBad,
          "Mask must be left-aligned without gaps");
  const Tensor seen = checked_mask(tensor, mask);
  const Tensor missing = Tensor::empty(mask.sizes(), ScalarType::kBool);
  const int64_t length = mask.size(1);
  for (int64_t b = 0; b < mask.size(0); ++b) {
    const bool* row = seen.data<bool>() + b * length;
    const int64_t count = std::count(row, row + length, true);
    for (int64_t i = 0; i < length; ++i) missing.data<bool>()[b * length + i] = i >= count;
  }
  return with_positions_set(tensor, missing, std::numeric_limits<double>::quiet_NaN());
}

Tensor missing_positions(const Tensor& tensor) {
  if (tensor.dim() < 3 || !is_floating(tensor.dtype()) || tensor.numel() == 0) return {};
  const Tensor x = as_work(tensor, work_type(tensor.dtype()));
  const int64_t positions = tensor.size(0) * tensor.size(1);
  const int64_t width = tensor.numel() / positions;
  const Tensor missing = Tensor::empty(tensor.sizes().first(2), ScalarType::kBool);
  bool any = false;
  dispatch_work(x.dtype(), "to_padded_tensor", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < positions; ++i) {
      const T* row = x.data<T>() + i * width;
      const bool gone = std::all_of(row, row + width, [](T v) { return std::isnan(v); });
      missing.data<bool>()[i] = gone;
      any = any || gone;
    }
  });
  return any ? missing : Tensor();
}

Tensor with_positions_set(const Tensor& tensor, const Tensor& missing, double value) {
  const Tensor out = clone(tensor, MemoryFormat::kContiguous);
  const int64_t positions = missing.numel();
  if (out.numel() == 0 || positions == 0) return out;
  const int64_t width = out.numel() / positions;
  for (int64_t i = 0; i < positions; ++i) {
    if (missing.data<bool>()[i])
      fill(out.as_view(IntVector{width}, IntVector{1}, i * width), value);
  }
  return out;
}

Tensor to_padded_tensor(const Tensor& tensor, double padding,
                        const std::optional<IntVector>& output_size) {
  const Tensor missing = missing_positions(tensor);
  const Tensor dense = missing.defined() ? with_positions_set(tensor, missing, padding) : tensor;
  if (!output_size) return dense;
  require(output_size->size() == static_cast<size_t>(tensor.dim()), kBad,
          "Length of padding size {} must match the tensor's {} dimensions", output_size->size(),
          tensor.dim());
  bool same = true;
  for (size_t d = 0; d < output_size->size(); ++d) {
    require(
        (*output_size)[d] >= tensor.sizes()[d], kBad,
        "Value in output_size is less than NestedTensor padded size. Truncation is not supported.");
    same = same && (*output_size)[d] == tensor.sizes()[d];
  }
  if (same) return dense;
  const Tensor out = Tensor::empty(*output_size, tensor.dtype());
  fill(out, padding);
  copy_into(out.as_view(dense.sizes(), out.strides(), 0), dense);
  return out;
}

}  // namespace tierup::kernels
