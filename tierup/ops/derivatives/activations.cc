// Activation functions.
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

// 0 at 0; a NaN passes the gradient on.
void relu(GradContext& c) {
  c.give(0, [&] {
    const GradValue grad = c.grad();
    const GradValue off = c.op("aten::le.Scalar", c.result(), 0);
    return c.op("aten::masked_fill.Scalar", grad, off, 0);
  });
}

void tanh(GradContext& c) {
  c.give(0, [&] {
    const GradValue y = c.conj(c.result());
    const GradValue slope = c.op("aten::rsub.Scalar", c.op("aten::mul.Tensor", y, y), 1);
    return c.op("aten::mul.Tensor", c.grad(), slope);
  });
}

void sigmoid(GradContext& c) {
  c.give(0, [&] {
    const GradValue y = c.conj(c.result());
    const GradValue slope = c.op("aten::mul.Tensor", c.op("aten::rsub.Scalar", y, 1), y);
    return c.op("aten::mul.Tensor", c.grad(), slope);
  });
}

constexpr DerivativeRow kRows[] = {
    {"aten::relu", &relu},
    {"aten::tanh", &tanh},
    {"aten::sigmoid", &sigmoid},
};

}  // namespace

std::span<const DerivativeRow> activations_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
