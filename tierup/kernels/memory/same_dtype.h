// Operators that do not promote: they refuse operands of other dtypes than their input's.
#pragma once

#include <initializer_list>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Throws kInvalidArgument, as `what`, if a defined operand has another dtype than the input.
void require_dtype_of(const Tensor& input, std::initializer_list<const Tensor*> operands,
                      const char* what);

// The same for the parameters of a norm, which may all be float32 beside float16 and bfloat16.
void require_norm_dtypes(const Tensor& input, std::initializer_list<const Tensor*> parameters,
                         const char* what);

}  // namespace tierup::kernels
