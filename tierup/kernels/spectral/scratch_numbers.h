// Numbers of scratch memory that count towards the memory limit, uninitialised.
#pragma once

#include <cstdint>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

template <typename T>
class ScratchNumbers {
 public:
  // Throws kOutOfMemory.
  explicit ScratchNumbers(int64_t n) : tensor_(Tensor::empty(IntVector{n}, kDTypeOf<T>)) {}
  T* data() const { return tensor_.data<T>(); }
  T& operator[](int64_t i) const { return data()[i]; }

 private:
  Tensor tensor_;
};

}  // namespace tierup::kernels
