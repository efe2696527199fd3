// Activation functions, by the operators of their backward passes; and the gradients of these.
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

// 0 at 0; a NaN passes the gradient on.
void relu(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::threshold_backward", result(c), 0); });
}
void relu6(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::hardtanh_backward", arg(c, 0), 0, 6); });
}
void hardtanh(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::hardtanh_backward", arg(c, 0), c.scalar_of(1), c.scalar_of(2));
  });
}
void threshold(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::threshold_backward", arg(c, 0), c.scalar_of(1)); });
}

void tanh(GradContext& c) {
  c.give(0, [&] {
    if (c.is_complex(0)) return grad(c) * (1 - square(result(c))).conj();
    return grad(c).then("aten::tanh_backward", result(c));
  });
}
void sigmoid(GradContext& c) {
  c.give(0, [&] {
    const Term y = result(c);
    if (c.is_complex(0)) return grad(c) * ((1 - y) * y).conj();
    return grad(c).then("aten::sigmoid_backward", y);
  });
}

void silu(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::silu_backward", arg(c, 0)); });
}
void mish(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::mish_backward", arg(c, 0)); });
}
void hardswish(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::hardswish_backward", arg(c, 0)); });
}
void hardsigmoid(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::hardsigmoid_backward", arg(c, 0)); });
}
void gelu(GradContext& c) {
  c.give(0,
         [&] { return grad(c).then("aten::gelu_backward", arg(c, 0), c.value_of("approximate")); });
}
void log_sigmoid(GradContext& c) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    return grad(c).then("aten::log_sigmoid_backward", x, exp(-abs(x)));
  });
}
void log_sigmoid_forward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::log_sigmoid_backward", arg(c, 0), result(c, 1)); });
}

Term elu_gradient(GradContext& c, const Scalar& alpha, const Scalar& scale, const Scalar& input) {
  return grad(c).then("aten::elu_backward", alpha, scale, input, false, arg(c, 0));
}
void elu(GradContext& c) {
  c.give(0, [&] { return elu_gradient(c, c.scalar_of(1), c.scalar_of(2), c.scalar_of(3)); });
}
void celu(GradContext& c) {
  c.give(0, [&] {
    const double alpha = c.float_of(1);
    return elu_gradient(c, alpha, 1.0, 1.0 / alpha);
  });
}
void selu(GradContext& c) {
  c.give(0, [&] { return elu_gradient(c, kSeluAlpha, kSeluScale, 1.0); });
}

void leaky_relu(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::leaky_relu_backward", arg(c, 0), c.scalar_of(1), false);
  });
}
void softplus(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::softplus_backward", arg(c, 0), c.scalar_of(1), c.scalar_of(2));
  });
}
void softshrink(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::softshrink_backward", arg(c, 0), c.scalar_of(1)); });
}
void hardshrink(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::hardshrink_backward", arg(c, 0), c.scalar_of(1)); });
}
void glu(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::glu_backward", arg(c, 0), c.int_of("dim")); });
}

// Slopes of channels stand along dimension 1.
void prelu(GradContext& c) {
  Term weight = arg(c, 1);
  const int64_t rank = c.rank(0);
  if (c.numel(1) != 1 && rank > 1) {
    IntVector sizes(static_cast<size_t>(rank) - 1, 1);
    sizes[0] = c.numel(1);
    weight = reshape(weight, sizes);
  } else if (c.rank(1) != 0 && rank == 0) {
    weight = reshape(weight, IntVector{});
  }
  c.set_result(0, arg(c, 0).then("aten::_prelu_kernel", weight));
}
void prelu_kernel(GradContext& c) {
  const std::vector<GradValue> made =
      c.ops(2, "aten::_prelu_kernel_backward", c.grad(), c.arg(0), c.arg(1));
  c.give(0, [&] { return made[0]; });
  c.give(1, [&] { return made[1]; });
}

// --- second order: the gradients of the functions above, by what they multiply

void tanh_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::tanh_backward", arg(c, 1)); });
  c.give(1, [&] { return grad(c) * (arg(c, 0) * arg(c, 1) * -2).conj(); });
}
void sigmoid_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::sigmoid_backward", arg(c, 1)); });
  c.give(1, [&] { return grad(c) * (arg(c, 0) * (1 - arg(c, 1) * 2)).conj(); });
}
// Piecewise linear functions: the second argument gets zeros.
void threshold_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::threshold_backward", arg(c, 1), c.scalar_of(2)); });
  c.give_zeros(1);
}
void hardtanh_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::hardtanh_backward", arg(c, 1), c.scalar_of(2), c.scalar_of(3));
  });
  c.give_zeros(1);
}
void hardsigmoid_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::hardsigmoid_backward", arg(c, 1)); });
  c.give_zeros(1);
}
void hardshrink_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::hardshrink_backward", arg(c, 1), c.scalar_of(2)); });
  c.give_zeros(1);
}
void softshrink_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::softshrink_backward", arg(c, 1), c.scalar_of(2)); });
  c.give_zeros(1);
}
void leaky_relu_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::leaky_relu_backward", arg(c, 1), c.scalar_of(2), c.bool_of(3));
  });
  c.give_zeros(1);
}
void rrelu_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::rrelu_with_noise_backward", arg(c, 1), arg(c, 2), c.scalar_of(3),
                        c.scalar_of(4), c.bool_of(5), c.bool_of(6));
  });
  c.give_zeros(1);
}

// A third of the gradient for each step of x between the bounds.
void hardswish_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::hardswish_backward", arg(c, 1)); });
  c.give(1, [&] {
    const Term x = arg(c, 1);
    return only(grad(c) * arg(c, 0) / 3, both(less(-3 * ones_like(x), x), less(x, 3.0)));
  });
}

void silu_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::silu_backward", arg(c, 1)); });
  c.give(1, [&] {
    const Term x = arg(c, 1);
    const Term s = x.then("aten::sigmoid");
    return grad(c) * arg(c, 0) * (s * (1 - s) * (x * (1 - s * 2) + 2));
  });
}
void mish_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::mish_backward", arg(c, 1)); });
  c.give(1, [&] {
    const Term x = arg(c, 1);
    const Term s = x.then("aten::sigmoid");
    const Term t = x.then("aten::softplus").then("aten::tanh");
    const Term u = 1 - square(t);
    return grad(c) * arg(c, 0) * (u * (s * 2 + x * s * (1 - s) - x * square(s) * t * 2));
  });
}

Term gelu_erf_curve(const Term& x) {
  constexpr double kDensity = 0.3989422804014327;  // 1 / sqrt(2 pi)
  return exp(square(x) * -0.5) * (2 - square(x)) * kDensity;
}
Term gelu_tanh_curve(const Term& x) {
  constexpr double kBeta = 0.7978845608028654;  // sqrt(2 / pi)
  constexpr double kCubic = 0.044715;
  const Term square_of_x = square(x);
  const Term t = (x * (square_of_x * kCubic + 1) * kBeta).then("aten::tanh");
  const Term u = 1 - square(t);
  const Term slope = (square_of_x * (3 * kCubic) + 1) * kBeta;
  return u * slope + x * 0.5 * u * (x * (6 * kCubic * kBeta)) - x * t * u * square(slope);
}
void gelu_backward(GradContext& c) {
  c.give(0,
         [&] { return grad(c).then("aten::gelu_backward", arg(c, 1), c.value_of("approximate")); });
  c.give(1, [&] {
    const Term x = arg(c, 1);
    const bool by_tanh = c.string_of("approximate") == "tanh";
    return grad(c) * arg(c, 0) * (by_tanh ? gelu_tanh_curve(x) : gelu_erf_curve(x));
  });
}

void elu_backward(GradContext& c) {
  const Scalar alpha = c.scalar_of(1);
  const Scalar scale = c.scalar_of(2);
  const Scalar input = c.scalar_of(3);
  const bool is_result = c.bool_of(4);
  c.give(0, [&] {
    return grad(c).then("aten::elu_backward", alpha, scale, input, is_result, arg(c, 5));
  });
  c.give(5, [&] {
    const Term x = arg(c, 5);
    const double slope = input.to_double();
    const Term product = grad(c) * arg(c, 0);
    const Term curve = is_result ? product * slope
                                 : product * exp(x * slope) *
                                       (slope * slope * alpha.to_double() * scale.to_double());
    return only(curve, less(x, 0.0));
  });
}
void softplus_backward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::softplus_backward", arg(c, 1), c.scalar_of(2), c.scalar_of(3));
  });
  c.give(1, [&] {
    const double beta = c.float_of(2);
    const Term scaled_x = arg(c, 1) * beta;
    const Term s = scaled_x.then("aten::sigmoid");
    const Term curve = grad(c) * arg(c, 0) * (s * (1 - s) * beta);
    return only(curve, at_most(scaled_x, c.scalar_of(3)));
  });
}
void log_sigmoid_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::log_sigmoid_backward", arg(c, 1), arg(c, 2)); });
  c.give(1, [&] {
    const Term s = arg(c, 1).then("aten::sigmoid");
    return -(grad(c) * arg(c, 0) * (s * (1 - s)));
  });
}
void logit_backward(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::logit_backward", arg(c, 1), c.value_of("eps")); });
  c.give(1, [&] {
    const Term x = arg(c, 1);
    const Term first = grad(c).then("aten::logit_backward", x, c.value_of("eps"));
    return first * arg(c, 0) * (x * 2 - 1) / (x * (1 - x));
  });
}

void glu_backward(GradContext& c) {
  const int64_t dim = c.int_of("dim");
  const auto half = [&](const Term& x, int64_t k) {
    const int64_t size = c.size(1, dim) / 2;
    return x.then("aten::narrow", dim, k * size, size);
  };
  const auto joined = [&](const Term& a, const Term& b) {
    return call(c, "aten::cat", std::vector<GradValue>{a, b}, dim);
  };
  const auto gate = [&] { return half(arg(c, 1), 1).then("aten::sigmoid"); };
  c.give(0, [&] {
    const Term s = gate();
    return half(grad(c), 0) * s + half(grad(c), 1) * half(arg(c, 1), 0) * s * (1 - s);
  });
  c.give(1, [&] {
    const Term s = gate();
    const Term slope = s * (1 - s);
    const Term g = arg(c, 0);
    const Term of_value = half(grad(c), 1) * g * slope;
    const Term of_gate = half(grad(c), 0) * g * slope +
                         half(grad(c), 1) * g * half(arg(c, 1), 0) * slope * (1 - s * 2);
    return joined(of_value, of_gate);
  });
}

// Results: for self, and for the slopes.
void prelu_kernel_backward(GradContext& c) {
  const auto positive = [&] { return less(zeros_like(arg(c, 1)), arg(c, 1)); };
  c.give(0, [&] {
    const Term of_self = c.has_grad(0) ? choose(positive(), grad(c), grad(c) * arg(c, 2)) : grad(c);
    if (!c.has_grad(1)) return of_self;
    return of_self + cleared(grad(c, 1) * arg(c, 1), positive());
  });
  if (!c.has_grad(1)) c.give_zeros(1);
  if (c.has_grad(1)) c.give(1, [&] { return cleared(grad(c, 1) * arg(c, 0), positive()); });
  if (!c.has_grad(0)) return c.give_zeros(2);
  c.give(2, [&] { return cleared(grad(c) * arg(c, 0), positive()); });
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::relu", &relu},
    {"aten::relu6", &relu6},
    {"aten::hardtanh", &hardtanh},
    {"aten::threshold", &threshold},
    {"aten::tanh", &tanh},
    {"aten::sigmoid", &sigmoid},
    {"aten::silu", &silu},
    {"aten::mish", &mish},
    {"aten::hardswish", &hardswish},
    {"aten::hardsigmoid", &hardsigmoid},
    {"aten::gelu", &gelu},
    {"aten::log_sigmoid", &log_sigmoid},
    {"aten::log_sigmoid_forward", &log_sigmoid_forward, 0b10},
    {"aten::elu", &elu},
    {"aten::celu", &celu},
    {"aten::selu", &selu},
    {"aten::leaky_relu", &leaky_relu},
    {"aten::softplus", &softplus},
    {"aten::softshrink", &softshrink},
    {"aten::hardshrink", &hardshrink},
    {"aten::glu", &glu},
    {"aten::prelu", kDecomposed, &prelu},
    {"aten::_prelu_kernel", &prelu_kernel},
    {"aten::tanh_backward", &tanh_backward},
    {"aten::sigmoid_backward", &sigmoid_backward},
    {"aten::threshold_backward", &threshold_backward},
    {"aten::hardtanh_backward", &hardtanh_backward},
    {"aten::hardsigmoid_backward", &hardsigmoid_backward},
    {"aten::hardshrink_backward", &hardshrink_backward},
    {"aten::softshrink_backward", &softshrink_backward},
    {"aten::leaky_relu_backward", &leaky_relu_backward},
    {"aten::rrelu_with_noise_backward", &rrelu_backward},
    {"aten::hardswish_backward", &hardswish_backward},
    {"aten::silu_backward", &silu_backward},
    {"aten::mish_backward", &mish_backward},
    {"aten::gelu_backward", &gelu_backward},
    {"aten::elu_backward", &elu_backward},
    {"aten::softplus_backward", &softplus_backward},
    {"aten::log_sigmoid_backward", &log_sigmoid_backward},
    {"aten::logit_backward", &logit_backward},
    {"aten::glu_backward", &glu_backward},
    {"aten::_prelu_kernel_backward", &prelu_kernel_backward},
};

}  // namespace

std::span<const DerivativeRow> activations_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
