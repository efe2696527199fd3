// Gradients of pooling: the operators that their backward passes call.
#include "tierup/kernels/pooling/pooling_backward.h"

#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// Everything but the indices is known from the sizes.
template <int kRank>
Tensor max_pool_backward(const Tensor& grad, const Tensor& self, const IntVector& /*kernel_size*/,
                         const IntVector& /*stride*/, const IntVector& /*padding*/,
                         const IntVector& /*dilation*/, bool /*ceil_mode*/, const Tensor& indices) {
  return k::scatter_to_maxima<kRank>(grad, self, indices);
}
template <int kRank>
Tensor fractional_backward(const Tensor& grad, const Tensor& self, const IntVector& /*kernel_size*/,
                           const IntVector& /*output_size*/, const Tensor& indices) {
  return k::scatter_to_maxima<kRank>(grad, self, indices);
}

constexpr OpRow kRows[] = {
    {"aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
     "int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor",
     boxed<&max_pool_backward<3>>},
    {"aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> "
     "Tensor",
     boxed<&k::scatter_to_maxima<2>>},
    {"aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> "
     "Tensor",
     boxed<&k::scatter_to_maxima<3>>},
    {"aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
     "int[2] output_size, Tensor indices) -> Tensor",
     boxed<&fractional_backward<2>>},
    {"aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
     "int[3] output_size, Tensor indices) -> Tensor",
     boxed<&fractional_backward<3>>},
    {"aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] "
     "stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> "
     "Tensor",
     boxed<&k::avg_pool_backward<2>>},
    {"aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] "
     "stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> "
     "Tensor",
     boxed<&k::avg_pool_backward<3>>},
    {"aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     boxed<&k::adaptive_avg_pool_backward<2>>},
    {"aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor",
     boxed<&k::adaptive_avg_pool_backward<3>>},
};

}  // namespace

std::span<const OpRow> pooling_backward_rows() { return kRows; }

}  // namespace tierup::ops
