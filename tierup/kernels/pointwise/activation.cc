// Activations with arguments of their own; the plain ones are rows over a body alone.
#include <cmath>

#include "tierup/kernels/pointwise/parameter_fit.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"

namespace tierup::kernels {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

PointwiseCall elu_call(const Tensor& self, const Scalar& alpha, const Scalar& scale,
                       const Scalar& input_scale) {
  return {{Body::kElu, Promote::kSame, 1}, {self, alpha, scale, input_scale}};
}

}  // namespace

std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
  const Tensor magnitude = pointwise({Body::kAbs}, {self});
  const Tensor buffer = pointwise({Body::kExp}, {evaluate(neg(magnitude))});
  return {pointwise({Body::kLogSigmoid}, {self}), buffer};
}

PointwiseCall gelu(const Tensor& self, std::string_view approximate) {
  if (approximate == "tanh") return {{Body::kGeluTanh}, {self}};
  require(approximate == "none", ErrorCode::kInvalidArgument,
          "approximate argument must be either none or tanh.");
  return {{Body::kGeluErf}, {self}};
}

PointwiseCall celu(const Tensor& self, const Scalar& alpha) {
  require(alpha.to_double() != 0, ErrorCode::kInvalidArgument,
          "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu_call(self, alpha, Scalar(1.0), Scalar(1.0 / alpha.to_double()));
}

PointwiseCall selu(const Tensor& self) {
  return elu_call(self, Scalar(kSeluAlpha), Scalar(kSeluScale), Scalar(1.0));
}

PointwiseCall softshrink(const Tensor& self, const Scalar& lambda) {
  if (is_floating(self.dtype())) check_element(lambda, self.dtype());
  require(lambda.to_double() >= 0 && std::isfinite(lambda.to_double()), ErrorCode::kInvalidArgument,
          "softshrink: lambda must be finite and at least 0, but found {}", lambda.to_string());
  return {{Body::kSoftshrink, Promote::kSame, 1}, {self, lambda}};
}

PointwiseCall prelu_kernel(const Tensor& self, const Tensor& weight) {
  require(self.dtype() == weight.dtype(), ErrorCode::kTypeError, "Found dtype {} but expected {}",
          scalar_type_name(weight.dtype()), scalar_type_name(self.dtype()));
  return {{Body::kLeakyRelu}, {self, weight}};
}

PointwiseCall prelu(const Tensor& self, const Tensor& weight) {
  require(self.dtype() == weight.dtype(), ErrorCode::kTypeError,
          "prelu: Type promoting not supported. Got {} and {}", scalar_type_name(self.dtype()),
          scalar_type_name(weight.dtype()));
  require(weight.dim() <= 1, ErrorCode::kInvalidArgument,
          "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {}", weight.dim());
  if (weight.numel() == 1) {
    return prelu_kernel(self, weight.as_view({}, {}, weight.offset()));
  }
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "Not allow zero-dim input tensor when `weight` is not a scalar");
  const int64_t channels = self.dim() > 1 ? self.sizes()[1] : 1;
  require(channels == weight.numel(), ErrorCode::kInvalidArgument,
          "Mismatch of parameter numbers and input channel size. Found parameter numbers = {} and "
          "channel size = {}.",
          weight.numel(), channels);
  const size_t rank = self.dim() > 1 ? static_cast<size_t>(self.dim()) - 1 : 1;
  IntVector sizes(rank, 1);
  IntVector strides(rank, 0);
  sizes[0] = weight.numel();
  strides[0] = weight.strides()[0];
  return prelu_kernel(
      self, weight.as_view({sizes.data(), rank}, {strides.data(), rank}, weight.offset()));
}

PointwiseCall glu(const Tensor& self, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kInvalidArgument,
          "glu does not support 0-dimensional tensors");
  const auto d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  require(self.sizes()[d] % 2 == 0, ErrorCode::kInvalidArgument,
          "Halving dimension must be even, but dimension {} is size {}", d, self.sizes()[d]);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[d] /= 2;
  const IntSpan half{sizes.data(), sizes.size()};
  const Tensor value = self.as_view(half, self.strides(), self.offset());
  const Tensor gate =
      self.as_view(half, self.strides(), self.offset() + sizes[d] * self.strides()[d]);
  return {{Body::kGlu}, {value, gate}};
}

}  // namespace tierup::kernels
