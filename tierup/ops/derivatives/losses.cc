// Losses.
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

constexpr int64_t kMean = 1;

void mse_loss(GradContext& c) {
  const auto slope = [&] {
    const GradValue difference = c.op("aten::sub.Tensor", c.arg(0), c.arg(1));
    const bool is_mean = c.int_of("reduction") == kMean;
    const double factor = is_mean ? 2.0 / static_cast<double>(numel_of(broadcast_shapes(c.shape(0), c.shape(1)))) : 2.0;
    return c.op("aten::mul.Tensor", c.op("aten::mul.Scalar", difference, factor), c.grad());
  };
  c.give(0, [&] { return slope(); });
  c.give(1, [&] { return c.op("aten::neg", slope()); });
}

constexpr DerivativeRow kRows[] = {
    {"aten::mse_loss", &mse_loss},
};

}  // namespace

std::span<const DerivativeRow> losses_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
