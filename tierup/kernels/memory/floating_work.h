// The floating-point type a kernel works in: f16 and bf16 data is widened to f32 on the way in and
// narrowed on the way out, so that kernels are written for float and double only.
#pragma once

#include <string_view>

#include "tierup/kernels/memory/copy.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

inline ScalarType work_type(ScalarType dtype) {
  return dtype == ScalarType::kHalf || dtype == ScalarType::kBFloat16 ? ScalarType::kFloat : dtype;
}

// Contiguous in `format` and of type `work`; undefined stays undefined.
inline Tensor as_work(const Tensor& tensor, ScalarType work,
                      MemoryFormat format = MemoryFormat::kContiguous) {
  return tensor.defined() ? contiguous(to_dtype(tensor, work), format) : tensor;
}

// Typed data, or null of an undefined tensor.
template <typename T>
inline const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// Calls body(float or double tag). Throws PyTorch's "not implemented" for any other work type.
template <typename Body>
inline void dispatch_work(ScalarType work, std::string_view what, const Body& body) {
  if (work == ScalarType::kFloat) return body(TypeTag<float>{});
  if (work == ScalarType::kDouble) return body(TypeTag<double>{});
  fail_dtype(what, work);
}

}  // namespace tierup::kernels
