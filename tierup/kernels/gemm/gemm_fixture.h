// Tensors for tests of matrix products.
#pragma once

#include "tierup/kernels/memory/copy.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Values small enough that every dtype multiplies and adds them without rounding.
inline Tensor numbers(const IntVector& sizes, ScalarType dtype, int64_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kLong);
  for (int64_t i = 0; i < result.numel(); ++i) result.data<int64_t>()[i] = (i * 7 + seed) % 5 - 2;
  return to_dtype(result, dtype);
}

}  // namespace tierup::kernels
