// How gradients add up, in a pass and in leaves (facts C1 to C8), and what a pass refuses.
#pragma once

#include "tierup/autodiff/node.h"

namespace tierup::autodiff {

// Nobody else sees this tensor or its memory.
bool is_sole(const Tensor& tensor);
// Adds to the gradients of one edge: the first is held, the next go into memory that nobody else
// holds, or into a new tensor.
void add_gradient(Tensor& total, Tensor gradient, ops::RunContext& context);
// Into leaf.grad: taken over, copied or added.
void accumulate(TensorImpl& leaf, Tensor gradient, ops::RunContext& context);
// Into the record of a result that retains its gradient.
void retain_gradient(Record& record, const Tensor& gradient, ops::RunContext& context);
// The cotangent of output i: as given, cast; or one.
Tensor root_gradient(const ops::BackwardRequest& request, size_t i, ops::RunContext& context);
// Throws kInvalidArgument with PyTorch's words for outputs, cotangents or inputs that do not do.
void check_request(const ops::BackwardRequest& request, bool captures);
// Throws if an input was not used and the request does not allow that.
void check_used(const ops::BackwardRequest& request, const std::vector<Tensor>& gradients);

// A sum of gradients over what `parts` of a batch gave, divided by their number.
Tensor mean_of_sum(const Tensor& sum, double parts, ops::RunContext& context);

}  // namespace tierup::autodiff
