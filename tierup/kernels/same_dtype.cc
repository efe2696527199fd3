#include "tierup/kernels/same_dtype.h"

#include "tierup/base/error.h"
#include "tierup/kernels/floating_work.h"

namespace tierup::kernels {
namespace {

[[noreturn]] void refuse(const Tensor& input, const Tensor& operand, const char* what) {
  fail(ErrorCode::kInvalidArgument,
       "{}: all tensors must have the same dtype, but got {} beside the input's {}", what,
       dtype_name(operand.dtype()), dtype_name(input.dtype()));
}

}  // namespace

void require_dtype_of(const Tensor& input, std::initializer_list<const Tensor*> operands,
                      const char* what) {
  for (const Tensor* operand : operands) {
    if (operand->defined() && operand->dtype() != input.dtype()) refuse(input, *operand, what);
  }
}

void require_norm_dtypes(const Tensor& input, std::initializer_list<const Tensor*> parameters,
                         const char* what) {
  for (const Tensor* parameter : parameters) {
    if (!parameter->defined() || parameter->dtype() == input.dtype()) continue;
    const bool is_wider = work_type(input.dtype()) == parameter->dtype();
    if (!is_wider) refuse(input, *parameter, what);
  }
}

}  // namespace tierup::kernels
