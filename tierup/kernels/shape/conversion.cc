#include "tierup/kernels/shape/conversion.h"

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// A tensor of the same geometry without data.
Tensor to_meta(const Tensor& self, ScalarType dtype) {
  const Device meta{DeviceType::kMeta};
  return Tensor::from_storage(Storage::borrow(nullptr, 0, {}, meta), dtype, self.sizes(),
                              self.strides(), 0);
}

}  // namespace

void check_device(const Device& device) {
  if (!(device.type == DeviceType::kCpu || device.type == DeviceType::kMeta)) {
    fail(ErrorCode::kUnsupported, "device {} is not available: tierup runs on the cpu",
         device.to_string());
  }
}

Tensor convert_to(const Tensor& self, const ConversionTarget& target) {
  const ScalarType dtype = target.dtype.value_or(self.dtype());
  const MemoryFormat format = target.format.value_or(MemoryFormat::kPreserve);
  const DeviceType device = target.device ? target.device->type : self.device().type;
  if (target.device) check_device(*target.device);
  const bool laid_out = format == MemoryFormat::kPreserve || self.is_contiguous(format);
  const bool moves = device != self.device().type;
  if (!target.copy && !moves && dtype == self.dtype() && laid_out) return self;
  if (device == DeviceType::kMeta) return to_meta(self, dtype);
  require(!self.is_meta(), ErrorCode::kUnsupported, "Cannot copy out of meta tensor; no data!");
  const Tensor result = empty_like(self, dtype, format);
  const bool keeps_conjugate = dtype == self.dtype() && self.impl()->conjugate;
  result.impl()->conjugate = keeps_conjugate;
  copy_into(result, self);
  return result;
}

Scalar item(const Tensor& self) {
  require(self.numel() == 1, ErrorCode::kInvalidArgument,
          "a Tensor with {} elements cannot be converted to Scalar", self.numel());
  const Tensor plain = resolve_lazy_bits(self);
  return dispatch_all(plain.dtype(), "item", [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    const T value = *static_cast<const T*>(plain.raw());
    if constexpr (std::is_same_v<T, bool>) {
      return {value};
    } else if constexpr (std::is_integral_v<T>) {
      return {static_cast<int64_t>(value)};
    } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
      return {complex128(value)};
    } else {
      return {static_cast<double>(value)};
    }
  });
}

Tensor copy_(const Tensor& self, const Tensor& src) {
  if (self.is_same(src)) return self;
  if (self.numel() == 0) expand_to(src, self.sizes());  // Only for its error.
  check_no_internal_overlap(self);
  if (self.is_meta()) return self;
  // Copying between overlapping views goes through fresh memory.
  const bool overlaps = memory_overlap(self, src) == Overlap::kPartial ||
                        (self.storage() == src.storage() && self.numel() > 1);
  copy_into(self, overlaps ? clone(src) : src);
  self.bump_version();
  return self;
}

Tensor fill_(const Tensor& self, const Scalar& value) {
  fill(self, value);
  self.bump_version();
  return self;
}

Tensor fill_from(const Tensor& self, const Tensor& value) {
  require(value.dim() == 0, ErrorCode::kInvalidArgument,
          "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
          value.dim());
  copy_into(self, resolve_lazy_bits(value));
  self.bump_version();
  return self;
}

Tensor copy_functional(const Tensor& self, const Tensor& src) {
  const Tensor result = empty_like(self, self.dtype());
  copy_into(result, src);
  return result;
}

}  // namespace tierup::kernels
