// LiveWeights: PyTorch's tensors that a model was made over, watched for what would make its plans
// stale.
//
// The model's tensors lie over PyTorch's memory. Between calls a weight may be written in place
// (its version counts), given other memory (`p.data = ...`), or be replaced by another object. A
// check compares object, address and version of each, some 0.1 us a weight.
#pragma once

#include <nanobind/nanobind.h>

namespace tierup::python {

void bind_live_weights(nanobind::module_& module);

}  // namespace tierup::python
