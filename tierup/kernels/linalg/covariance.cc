// Covariance and correlation matrices.
#include <algorithm>

#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/calculus.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor times(const Tensor& a, const Tensor& b) { return pointwise({Body::kMul}, {a, b}); }
Tensor over(const Operand& a, const Operand& b) {
  return pointwise({Body::kDiv, Promote::kFloating}, {a, b});
}

void check_weights(const Tensor& weights, int64_t observations, bool integral, const char* what) {
  if (!weights.defined()) return;
  if (!(weights.dim() <= 1 && weights.numel() == observations)) {
    fail(ErrorCode::kInvalidArgument,
         "cov(): expected {} to have one value for each of {} observations, got shape {}", what,
         observations, shape_string(weights.sizes()));
  }
  require(is_integral(weights.dtype(), false) == integral, ErrorCode::kInvalidArgument,
          "cov(): expected {} to have {} dtype but got {}", what,
          integral ? "integral" : "floating point", scalar_type_name(weights.dtype()));
  const Tensor values = contiguous(to_dtype(weights, ScalarType::kDouble));
  require(std::none_of(values.data<double>(), values.data<double>() + values.numel(),
                       [](double value) { return value < 0; }),
          ErrorCode::kInvalidArgument, "cov(): {} cannot be negative", what);
}

double number(const Tensor& tensor) {
  return *to_dtype(tensor, ScalarType::kDouble).data<double>();
}

Tensor real_part(const Tensor& self) {
  Tensor out = Tensor::empty(self.sizes(), real_type_of(self.dtype()));
  copy_into(out, self);
  return out;
}

}  // namespace

Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  require(self.dim() <= 2, ErrorCode::kInvalidArgument,
          "cov(): expected input to have two or fewer dimensions but got an input with {} "
          "dimensions",
          self.dim());
  require(self.dtype() != ScalarType::kBool, ErrorCode::kInvalidArgument,
          "cov(): bool dtype is not supported for input");
  const Tensor in = self.dim() < 2 ? reshape(self, {1, -1}) : self;
  const int64_t observations = in.sizes()[1];
  check_weights(fweights, observations, true, "fweights");
  check_weights(aweights, observations, false, "aweights");
  Tensor weights = fweights;
  if (aweights.defined()) weights = weights.defined() ? times(weights, aweights) : aweights;
  const double total =
      weights.defined() ? number(sum(weights, std::nullopt, false, std::nullopt)) : observations;
  double divisor = total - static_cast<double>(correction);
  if (weights.defined() && aweights.defined() && correction != 0) {
    const double squares = number(sum(times(weights, aweights), std::nullopt, false, std::nullopt));
    divisor = total - static_cast<double>(correction) * squares / total;
    // In the weights' own precision, which shows where the difference is small.
    if (real_type_of(weights.dtype()) == ScalarType::kFloat) {
      const auto sum = static_cast<float>(total);
      divisor = sum - static_cast<float>(correction) * static_cast<float>(squares) / sum;
    }
  }
  const Tensor weighted = weights.defined() ? times(in, weights) : in;
  const Tensor average = over(sum(weighted, IntVector{1}, true, std::nullopt), Scalar(total));
  const Tensor centred = evaluate(sub(in, average, Scalar(1)));
  Tensor right = weights.defined() ? times(centred, weights) : centred;
  if (is_complex(right.dtype())) right = pointwise({Body::kConj}, {right});
  const Tensor product = mm(centred, transpose(to_dtype(right, centred.dtype()), 0, 1));
  return squeeze(over(product, Scalar(divisor > 0 ? divisor : 0.0)));
}

Tensor corrcoef(const Tensor& self) {
  require(self.dim() <= 2, ErrorCode::kInvalidArgument,
          "corrcoef(): expected input to have two or fewer dimensions but got an input with {} "
          "dimensions",
          self.dim());
  const Tensor c = cov(self, 1, {}, {});
  if (c.dim() == 0) return over(c, c);
  const Tensor variances = diagonal(c, 0, 0, 1);
  const Tensor deviation =
      pointwise({Body::kSqrt}, {is_complex(c.dtype()) ? real_part(variances) : variances});
  Tensor result = over(over(c, view(deviation, {-1, 1})), view(deviation, {1, -1}));
  // Rounding may leave [-1, 1] a little.
  const auto clip = [](auto& x) { x = x > 1 ? 1 : x < -1 ? -1 : x; };
  result = contiguous(result);
  if (is_complex(result.dtype())) {
    dispatch_complex(result.dtype(), "corrcoef", [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto* parts = reinterpret_cast<typename T::value_type*>(result.data<T>());
      for (int64_t i = 0; i < 2 * result.numel(); ++i) clip(parts[i]);
    });
    return result;
  }
  return evaluate(clamp(result, Operand(Scalar(-1.0)), Operand(Scalar(1.0))));
}

}  // namespace tierup::kernels
