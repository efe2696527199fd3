// Gradients of convolutions: the operators that their backward passes call.
#include "tierup/kernels/convolution/convolution_backward.h"

#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

constexpr OpRow kRows[] = {
    {"aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
     "bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
     "output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     boxed<&kernels::convolution_backward>},
};

}  // namespace

std::span<const OpRow> convolution_backward_rows() { return kRows; }

}  // namespace tierup::ops
