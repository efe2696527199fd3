// Tensors written out in tests.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

template <typename T>
Tensor make_tensor(const IntVector& sizes, const std::vector<T>& values) {
  Tensor tensor = Tensor::empty(sizes, kDTypeOf<T>);
  TIERUP_CHECK(tensor.numel() == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

// 0, 1, 2... as float.
inline Tensor counted(const IntVector& sizes) {
  Tensor tensor = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

// The elements in row-major order.
template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  return {dense.data<T>(), dense.data<T>() + dense.numel()};
}

inline std::vector<int64_t> sizes_of(const Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

// The message of the error that a call throws; empty if it throws none.
template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace tierup::kernels
