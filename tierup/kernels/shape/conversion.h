// Conversions between dtypes, devices and layouts, and between tensors and numbers.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// What a conversion asks for; an empty field keeps what the tensor has.
struct ConversionTarget {
  std::optional<ScalarType> dtype;
  std::optional<Device> device;
  std::optional<MemoryFormat> format;
  bool copy = false;  // A copy even if nothing changes.
};

// Throws kUnsupported for a device that tierup does not have (it has cpu and meta).
void check_device(const Device& device);

// The tensor itself if it is as wanted already, else a copy. Lazy bits are kept where nothing is
// converted. Follows: to.*, _to_copy (with copy), type_as.
Tensor convert_to(const Tensor& self, const ConversionTarget& target);

// The only element as a number. Throws kInvalidArgument unless there is exactly one. Follows: item.
Scalar item(const Tensor& self);

// Follow: copy_ (src broadcasts to self), fill_ (a number or a 0-dim tensor), zero_. They check
// for memory overlap, bump the version and return self.
Tensor copy_(const Tensor& self, const Tensor& src);
Tensor fill_(const Tensor& self, const Scalar& value);
Tensor fill_from(const Tensor& self, const Tensor& value);

// src in the shape and dtype of self, in fresh memory. Follows: copy.
Tensor copy_functional(const Tensor& self, const Tensor& src);

}  // namespace tierup::kernels
