// What rows do that read or make gradients, and set the flags of tensors: over the tape, where the
// run has one.
#pragma once

#include "tierup/ops/table/op.h"

namespace tierup::ops::gradients {

// aten::backward and aten::grad by their schemas.
void backward(OpCall& call);
void grad(OpCall& call);
// The leaf's gradient; undefined if there is none.
Tensor accumulated_grad(const Tensor& self);
bool is_leaf(const Tensor& self);
bool retains_grad(const Tensor& self);
int64_t output_number(const Tensor& self);
void retain_grad(RunContext& context, const Tensor& self);
Tensor detach_in_place(RunContext& context, const Tensor& self);
Tensor set_requires_grad(RunContext& context, const Tensor& self, bool value);
// The tensor keeps its identity, flag and gradient, and takes the other one's data.
void set_data(const Tensor& self, const Tensor& data);

}  // namespace tierup::ops::gradients
