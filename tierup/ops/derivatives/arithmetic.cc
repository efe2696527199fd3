// Sums, differences, products and quotients.
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

// alpha stands behind both operands, tensors or numbers alike.
void add(GradContext& c) {
  c.give(0, [&] { return c.grad(); });
  c.give(1, [&] { return c.scaled(c.grad(), c.scalar_of("alpha")); });
}

void sub(GradContext& c) {
  c.give(0, [&] { return c.grad(); });
  c.give(1, [&] { return c.op("aten::neg", c.scaled(c.grad(), c.scalar_of("alpha"))); });
}

void rsub(GradContext& c) {
  c.give(0, [&] { return c.op("aten::neg", c.scaled(c.grad(), c.scalar_of("alpha"))); });
  c.give(1, [&] { return c.grad(); });
}

void mul(GradContext& c) {
  c.give(0, [&] {
    if (!c.is_tensor(1)) return c.op("aten::mul.Scalar", c.grad(), c.conj(c.arg(1)));
    return c.op("aten::mul.Tensor", c.grad(), c.conj(c.arg(1)));
  });
  c.give(1, [&] { return c.op("aten::mul.Tensor", c.grad(), c.conj(c.arg(0))); });
}

void div(GradContext& c) {
  c.give(0, [&] {
    if (!c.is_tensor(1)) return c.op("aten::div.Scalar", c.grad(), c.conj(c.arg(1)));
    return c.op("aten::div.Tensor", c.grad(), c.conj(c.arg(1)));
  });
  c.give(1, [&] {
    const GradValue other = c.arg(1);
    const GradValue quotient = c.op("aten::div.Tensor", c.arg(0), other);
    const GradValue slope = c.op("aten::div.Tensor", quotient, other);
    return c.op("aten::neg", c.op("aten::mul.Tensor", c.grad(), c.conj(slope)));
  });
}

void neg(GradContext& c) {
  c.give(0, [&] { return c.op("aten::neg", c.grad()); });
}

constexpr DerivativeRow kRows[] = {
    {"aten::add.Tensor", &add},
    {"aten::add.Scalar", &add},
    {"aten::sub.Tensor", &sub},
    {"aten::sub.Scalar", &sub},
    {"aten::subtract.Tensor", &sub},
    {"aten::subtract.Scalar", &sub},
    {"aten::rsub.Tensor", &rsub},
    {"aten::rsub.Scalar", &rsub},
    {"aten::mul.Tensor", &mul},
    {"aten::mul.Scalar", &mul},
    {"aten::multiply.Tensor", &mul},
    {"aten::multiply.Scalar", &mul},
    {"aten::div.Tensor", &div},
    {"aten::div.Scalar", &div},
    {"aten::divide.Tensor", &div},
    {"aten::divide.Scalar", &div},
    {"aten::neg", &neg},
    {"aten::negative", &neg},
};

}  // namespace

std::span<const DerivativeRow> arithmetic_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
