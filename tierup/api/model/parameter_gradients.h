// The gradients that leaves hold.
#pragma once

#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::api {

// Undefined if there is none. Shared, not copied.
Tensor gradient_of(const Tensor& leaf);
std::vector<Tensor> gradients_of(const std::vector<Tensor>& leaves);
// Makes them undefined (not zeros).
void clear_gradients(const std::vector<Tensor>& leaves);

}  // namespace tierup::api
