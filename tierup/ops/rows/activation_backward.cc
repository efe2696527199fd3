// Gradients of activations: the operators that their backward passes call.
#include "tierup/kernels/pointwise/activation_backward.h"

#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

constexpr OpRow kRows[] = {
    {"aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
     body_row<Body::kTanhBackward, Promote::kFloating, 2>},
    {"aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
     body_row<Body::kSigmoidBackward, Promote::kFloating, 2>},
    {"aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
     body_row<Body::kThresholdBackward, Promote::kFloating, 2>},
    {"aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> "
     "Tensor",
     boxed<&k::hardtanh_backward>},
    {"aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
     boxed<&k::hardsigmoid_backward>},
    {"aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
     boxed<&k::hardswish_backward>},
    {"aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
     boxed<&k::shrink_backward>},
    {"aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
     boxed<&k::shrink_backward>},
    {"aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> "
     "Tensor",
     boxed<&k::softplus_backward>},
    {"aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
     boxed<&k::log_sigmoid_backward>},
    {"aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", boxed<&k::silu_backward>},
    {"aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor", boxed<&k::mish_backward>},
    {"aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor",
     boxed<&k::gelu_backward>},
    {"aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool "
     "is_result, Tensor self_or_result) -> Tensor",
     boxed<&k::elu_backward>},
    {"aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool "
     "self_is_result) -> Tensor",
     boxed<&k::leaky_relu_backward>},
    {"aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, "
     "Scalar upper, bool training, bool self_is_result) -> Tensor",
     boxed<&k::rrelu_backward>},
    {"aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
     boxed<&k::logit_backward>},
    {"aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
     boxed<&k::glu_backward>},
    {"aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, "
     "Tensor)",
     boxed<&k::prelu_kernel_backward>},
};

}  // namespace

std::span<const OpRow> activation_backward_rows() { return kRows; }

}  // namespace tierup::ops
