// Sums and products of scattered 16-bit floats: a target is made as a float and rounded once. Only
// targets that an index names are copied, since a few sources may go to a large tensor.
#pragma once

#include "tierup/kernels/indexing/view_backward.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// visit(f) calls f(target, source) for all elements of a scatter into `self`, a target's always in
// one thread; `combine` of two floats gives their sum, say. A target's float stands as far from the
// first one as the target itself.
template <typename T, typename Visit, typename Combine>
void combine_as_floats(const Tensor& self, const Visit& visit, const Combine& combine) {
  const Tensor sums =
      Tensor::empty(IntVector{strided_reach(self.sizes(), self.strides(), 0)}, ScalarType::kFloat);
  float* const sum = sums.data<float>();
  const auto* const first = static_cast<const T*>(self.raw());
  visit([=](T& to, T) { sum[&to - first] = static_cast<float>(to); });
  visit([=](T& to, T from) {
    float& value = sum[&to - first];
    value = combine(value, static_cast<float>(from));
  });
  visit([=](T& to, T) { to = static_cast<T>(sum[&to - first]); });
}

// The same of whole rows, as combine_wide_rows() has them, of f16 or bf16. False, with nothing
// done, where each sum has one source at most, and where combine_wide_rows() would give up.
bool add_wide_rows_as_floats(const Tensor& self, const Tensor& index, const Tensor& src);

}  // namespace tierup::kernels
