#include "tierup/kernels/pointwise/activation_backward.h"

#include <array>

#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/pointwise/scalar_bodies_backward.h"
#include "tierup/kernels/shape/cat.h"
#include "tierup/kernels/shape/slicing.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// The body over broadcast tensors, followed by numbers, in the tensors' promoted dtype.
template <typename BodyOf, typename... Tensors, size_t kNumbers>
Tensor run_body(const std::array<double, kNumbers>& numbers, const Tensors&... tensors) {
  const ScalarType dtype = to_floating(result_type(tensors...));
  const ScalarType work = work_type(dtype);
  IntVector shape;
  ((shape = broadcast_shapes(shape, tensors.sizes())), ...);
  const Tensor out = empty_pointwise(shape, work, {&tensors...});
  dispatch_work(work, "backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    const auto body = [&numbers](auto... x) {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return static_cast<T>(BodyOf::template apply<T>(x..., static_cast<T>(numbers[I])...));
      }
      (std::make_index_sequence<kNumbers>{});
    };
    map_elements<T, std::conditional_t<true, T, Tensors>...>(out, body, to_dtype(tensors, work)...);
  });
  return to_dtype(out, dtype);
}
template <typename BodyOf, typename... Tensors>
Tensor run_body(const Tensors&... tensors) {
  return run_body<BodyOf>(std::array<double, 0>{}, tensors...);
}
template <typename... Numbers>
std::array<double, sizeof...(Numbers)> numbers(const Numbers&... n) {
  return {n.to_double()...};
}

// A body that has runs, over broadcast tensors followed by numbers.
template <typename... Tensors>
Tensor run(Body body, std::initializer_list<double> numbers, const Tensors&... tensors) {
  SmallVector<Operand, 5> operands;
  (operands.push_back(Operand(tensors)), ...);
  for (const double number : numbers) operands.push_back(Operand(Scalar(number)));
  return pointwise({body, Promote::kFloating, sizeof...(tensors)},
                   Operands(operands.data(), operands.size()));
}

// `factor`, divided by the number of elements for a mean.
double loss_norm(double factor, const Tensor& self, int64_t reduction) {
  require(reduction >= 0 && reduction <= 2, kBad, "{} is not a valid value for reduction",
          reduction);
  return reduction == 1 ? factor / static_cast<double>(self.numel()) : factor;
}

}  // namespace

Tensor tanh_backward(const Tensor& grad, const Tensor& output) {
  return run(Body::kTanhBackward, {}, grad, output);
}
Tensor sigmoid_backward(const Tensor& grad, const Tensor& output) {
  return run(Body::kSigmoidBackward, {}, grad, output);
}
Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold) {
  return run(Body::kThresholdBackward, {threshold.to_double()}, grad, self);
}
Tensor hardtanh_backward(const Tensor& grad, const Tensor& self, const Scalar& low,
                         const Scalar& high) {
  return run(Body::kHardtanhBackward, {low.to_double(), high.to_double()}, grad, self);
}
Tensor hardsigmoid_backward(const Tensor& grad, const Tensor& self) {
  return run(Body::kHardsigmoidBackward, {}, grad, self);
}
Tensor hardswish_backward(const Tensor& grad, const Tensor& self) {
  return run(Body::kHardswishBackward, {}, grad, self);
}
Tensor shrink_backward(const Tensor& grad, const Tensor& self, const Scalar& lambda) {
  return run_body<bodies::ShrinkBackward>(numbers(lambda), grad, self);
}
Tensor softplus_backward(const Tensor& grad, const Tensor& self, const Scalar& beta,
                         const Scalar& threshold) {
  return run(Body::kSoftplusBackward, {beta.to_double(), threshold.to_double()}, grad, self);
}
Tensor log_sigmoid_backward(const Tensor& grad, const Tensor& self, const Tensor& buffer) {
  return run(Body::kLogSigmoidBackward, {}, grad, self, buffer);
}
Tensor silu_backward(const Tensor& grad, const Tensor& self) {
  return run(Body::kSiluBackward, {}, grad, self);
}
Tensor mish_backward(const Tensor& grad, const Tensor& self) {
  return run(Body::kMishBackward, {}, grad, self);
}

Tensor gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate) {
  if (approximate == "tanh") return run(Body::kGeluTanhBackward, {}, grad, self);
  require(approximate == "none", kBad, "approximate argument must be either none or tanh.");
  return run(Body::kGeluErfBackward, {}, grad, self);
}

Tensor elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale,
                    const Scalar& input_scale, bool is_result, const Tensor& self_or_result) {
  require(!is_result || alpha.to_double() >= 0, kBad,
          "In-place elu backward calculation is triggered with a negative slope which is not "
          "supported. This is caused by calling in-place forward function with a negative slope, "
          "please call out-of-place version instead.");
  const Scalar negative(alpha.to_double() * scale.to_double());
  return run(is_result ? Body::kEluResultBackward : Body::kEluBackward,
             {negative.to_double(), scale.to_double(), input_scale.to_double()}, grad,
             self_or_result);
}

Tensor leaky_relu_backward(const Tensor& grad, const Tensor& self, const Scalar& slope,
                           bool self_is_result) {
  require(!self_is_result || slope.to_double() >= 0, kBad,
          "In-place leakyReLu backward calculation is triggered with a negative slope which is not "
          "supported. This is caused by calling in-place forward function with a negative slope, "
          "please call out-of-place version instead.");
  return run(Body::kLeakyReluBackward, {slope.to_double()}, grad, self);
}

Tensor rrelu_backward(const Tensor& grad, const Tensor& self, const Tensor& noise,
                      const Scalar& lower, const Scalar& upper, bool training,
                      bool self_is_result) {
  if (training && upper.to_double() - lower.to_double() > 1e-6) {
    return run_body<bodies::Mul>(noise, grad);
  }
  const Scalar slope((lower.to_double() + upper.to_double()) / 2);
  return leaky_relu_backward(grad, self, slope, self_is_result);
}

Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps) {
  return run_body<bodies::LogitBackward>(std::array{eps.value_or(-1.0)}, grad, self);
}

Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim) {
  require(self.dim() > 0, kBad, "glu does not support 0-dimensional tensors");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t size = self.size(d);
  require(size % 2 == 0, kBad, "Halving dimension must be even, but dimension {} is size {}", d,
          size);
  const Tensor value = narrow(self, d, 0, size / 2);
  const Tensor gate = narrow(self, d, size / 2, size / 2);
  return cat({run(Body::kGlu, {}, grad, gate), run(Body::kGluGateBackward, {}, grad, value, gate)},
             d);
}

std::tuple<Tensor, Tensor> prelu_kernel_backward(const Tensor& grad, const Tensor& self,
                                                 const Tensor& weight) {
  return {run(Body::kLeakyReluBackward, {}, grad, self, weight),
          run(Body::kSlopeBackward, {}, grad, self)};
}

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         int64_t reduction) {
  return run(Body::kMseBackward, {loss_norm(2, self, reduction)}, grad, self, target);
}

Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               int64_t reduction, double beta) {
  return run(Body::kSmoothL1Backward, {loss_norm(1, self, reduction), beta}, grad, self, target);
}

Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                           int64_t reduction, double delta) {
  return run(Body::kHuberBackward, {loss_norm(1, self, reduction), delta}, grad, self, target);
}

Tensor soft_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  return run(Body::kSoftMarginBackward, {loss_norm(1, self, reduction)}, grad, self, target);
}

Tensor binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     const Tensor& weight, int64_t reduction) {
  const double norm = loss_norm(1, self, reduction);
  if (!weight.defined()) return run(Body::kCrossEntropyBackward, {1.0, norm}, grad, self, target);
  return run(Body::kCrossEntropyBackward, {norm}, grad, self, target, weight);
}

}  // namespace tierup::kernels
