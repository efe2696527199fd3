// The text of a tensor as str() and print give it in TorchScript: rows of numbers in one format,
// then the type and shape: " 1.5000 -2.0000\n[ CPUFloatType{1,2} ]".
#pragma once

#include <string>

#include "tierup/tensor/tensor.h"

namespace tierup {

// Follows at::print: the format is chosen per matrix, lines are at most 80 columns, and complex
// tensors show their real parts.
std::string tensor_text(const Tensor& tensor);

}  // namespace tierup
