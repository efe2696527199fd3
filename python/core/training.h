// Training: recorded calls, backward passes, optimisers, schedules, epochs and checkpoints.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/tensor.h>

namespace tierup::python {

// Gradients, as attributes of tierup.Tensor.
void bind_tensor_gradients(nanobind::class_<Tensor>& type);
void bind_training(nanobind::module_& module);

}  // namespace tierup::python
