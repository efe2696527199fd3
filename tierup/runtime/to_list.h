// tolist: a tensor's elements as nested lists.
#pragma once

#include "tierup/tensor/ivalue.h"

namespace tierup::runtime {

// `type` is int, float, bool or complex inside as many lists as the tensor has dimensions. Throws
// kTypeError, with PyTorch's words, if rank or element type differ.
IValue tensor_to_list(const Tensor& tensor, const TypePtr& type);

}  // namespace tierup::runtime
