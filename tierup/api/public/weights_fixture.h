// Weights and results as tests of the public interface look at them.
#pragma once

#include <string>
#include <vector>

#include "tierup/tierup.h"

namespace tierup::v1 {

inline std::vector<float> values(const Tensor& tensor) {
  const Tensor plain = tensor.contiguous();
  return {plain.data<float>(), plain.data<float>() + plain.element_count()};
}

// The model's weights times a number.
inline NamedTensors scaled(const NamedTensors& weights, float factor) {
  NamedTensors result;
  for (const auto& [name, tensor] : weights) {
    const Tensor copy = tensor.clone();
    for (int64_t i = 0; i < copy.element_count(); ++i) copy.data<float>()[i] *= factor;
    result.emplace_back(name, copy);
  }
  return result;
}

}  // namespace tierup::v1
