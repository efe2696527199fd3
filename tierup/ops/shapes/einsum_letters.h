// The letters of an einsum whose equation is a constant.
#pragma once

#include <optional>

#include "tierup/kernels/gemm/einsum_equation.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::ops {

using kernels::EinsumEquation;

// Nothing if the text is null, no equation of so many tensors, or has an ellipsis.
std::optional<EinsumEquation> einsum_letters(const IValue* text, size_t tensors);

}  // namespace tierup::ops
