// Complex tensors seen as real ones and back, and lazy conjugation and negation.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// A view with a last dimension of size 2 for the parts; and the reverse, for a tensor whose last
// dimension has size 2 and stride 1. Throw kInvalidArgument if the tensor is not of that kind or
// has an unresolved conjugation.
Tensor view_as_real(const Tensor& self);
Tensor view_as_complex(const Tensor& self);

// Views of the parts. real of a real tensor is itself; imag of one is an error.
Tensor real(const Tensor& self);
Tensor imag(const Tensor& self);

// The lazy conjugate: a view with the bit toggled; a real tensor is its own conjugate.
Tensor conj(const Tensor& self);
// The computed conjugate; a real tensor is returned itself.
Tensor conj_physical(const Tensor& self);
Tensor neg_view(const Tensor& self);
// Itself without the bit, else a copy that has the value stored.
Tensor resolve_conj(const Tensor& self);
Tensor resolve_neg(const Tensor& self);

// real + i * imag, abs * e^(i angle). Throw kTypeError unless both are of one floating dtype.
Tensor complex_of(const Tensor& real, const Tensor& imag);
Tensor polar(const Tensor& abs, const Tensor& angle);
// True where the imaginary part is 0. Follows: isreal.
Tensor isreal(const Tensor& self);

}  // namespace tierup::kernels
