#include "tierup/kernels/memory/same_dtype.h"

#include "tierup/base/error.h"
#include "tierup/kernels/memory/floating_work.h"

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
  const Tensor* first = nullptr;
  for (const Tensor* parameter : parameters) {
    if (!parameter->defined()) continue;
    if (first == nullptr) first = parameter;
    const ScalarType dtype = parameter->dtype();
    const bool suits = dtype == input.dtype() || dtype == work_type(input.dtype());
    if (!suits || dtype != first->dtype()) refuse(input, *parameter, what);
  }
}

}  // namespace tierup::kernels
