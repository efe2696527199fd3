// The gradients that leaves hold.
#pragma once

#include <vector>

#include "tierup/api/model/model.h"

namespace tierup::api {

// Undefined if there is none. Shared, not copied.
Tensor gradient_of(const Tensor& leaf);
std::vector<Tensor> gradients_of(const std::vector<Tensor>& leaves);
// Makes them undefined (not zeros).
void clear_gradients(const std::vector<Tensor>& leaves);

// Adds the gradients that a call of an exported joint program gave to those of the model's
// parameters, and returns the loss. Throws kInvalidArgument for another program's result.
Tensor take_joint_gradients(const Model& model, const IValue& result);

}  // namespace tierup::api
