#include "tierup/kernels/loss/composite_loss.h"

#include <cmath>

#include "tierup/kernels/linalg/distance.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/reduce/reduce_sum.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

Tensor plus(const Operand& a, const Operand& b) { return pointwise({Body::kAdd}, {a, b}); }
Tensor times(const Operand& a, const Operand& b) { return pointwise({Body::kMul}, {a, b}); }
Tensor minus(const Operand& a, const Operand& b) { return evaluate(sub(a, b, Scalar(1))); }
Tensor floating(Body body, const Tensor& a) { return pointwise({body, Promote::kFloating}, {a}); }
Tensor non_negative(const Tensor& a) {
  return evaluate(clamp(a, Operand(Scalar(0)), std::nullopt));
}
Tensor equal_to(const Tensor& a, double value) {
  return pointwise({Body::kEq}, {a, Scalar(value)});
}
// `value` where the condition holds, else 0.
Tensor only_where(const Tensor& condition, const Tensor& value) {
  return evaluate(where(condition, Operand(value), Operand(Scalar(0))));
}

Tensor reduced(const Tensor& losses, int64_t reduction) {
  require(reduction >= 0 && reduction <= 2, kBad, "{} is not a valid value for reduction",
          reduction);
  if (reduction == 1) return mean(losses, std::nullopt, false, std::nullopt);
  return reduction == 2 ? sum(losses, std::nullopt, false, std::nullopt) : losses;
}

}  // namespace

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(pointwise({Body::kAbs}, {minus(self, target)}), reduction);
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor exponent = times(evaluate(neg(target)), self);
  require(!is_integral(exponent.dtype(), true), ErrorCode::kTypeError,
          "result type Float can't be cast to the desired output type {}",
          scalar_type_name(exponent.dtype()));
  const Tensor losses = floating(Body::kLog1p, floating(Body::kExp, exponent));
  return reduced(to_dtype(losses, self.dtype()), reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction) {
  Tensor loss;
  if (log_input) {
    loss = minus(floating(Body::kExp, input), times(target, input));
  } else {
    loss = minus(input, times(target, floating(Body::kLog, plus(input, Scalar(eps)))));
  }
  if (full) {
    const Tensor entropy = minus(times(target, floating(Body::kLog, target)), target);
    const Tensor area = floating(Body::kLog, times(target, Scalar(2 * M_PI)));
    const Tensor stirling = plus(entropy, times(area, Scalar(0.5)));
    loss = plus(loss, only_where(pointwise({Body::kGt}, {target, Scalar(1)}), stirling));
  }
  return reduced(loss, reduction);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin,
                            int64_t reduction) {
  const Tensor distance = non_negative(minus(Scalar(margin), self));
  const auto differs = [&](double value) {
    return pointwise({Body::kNe}, {target, Scalar(value)});
  };
  return reduced(plus(only_where(differs(1), distance), only_where(differs(-1), self)), reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction) {
  const Tensor signed_difference = times(evaluate(neg(target)), minus(input1, input2));
  return reduced(non_negative(plus(signed_difference, Scalar(margin))), reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, int64_t reduction) {
  require(target.dim() == 0 || target.dim() == 1, kBad,
          "0D or 1D target tensor expected, multi-target not supported");
  const int64_t rank = target.dim() + 1;
  if (!(input1.dim() == rank && input2.dim() == rank)) {
    fail(kBad,
         "cosine_embedding_loss: {}D target tensor expects {}D input tensors, but found inputs "
         "with sizes {} and {}.",
         target.dim(), rank, shape_string(input1.sizes()), shape_string(input2.sizes()));
  }
  // Squares are offset by this, so that zero vectors do not divide by zero.
  constexpr double kEpsilon = 1e-12;
  const auto dot = [](const Tensor& a, const Tensor& b) {
    return sum(times(a, b), IntVector{-1}, false, std::nullopt);
  };
  const Tensor squares = times(plus(dot(input1, input1), Scalar(kEpsilon)),
                               plus(dot(input2, input2), Scalar(kEpsilon)));
  const Tensor cosine = pointwise({Body::kDiv, Promote::kFloating},
                                  {dot(input1, input2), floating(Body::kSqrt, squares)});
  const Tensor apart = non_negative(minus(cosine, Scalar(margin)));
  return reduced(plus(only_where(equal_to(target, 1), minus(Scalar(1), cosine)),
                      only_where(equal_to(target, -1), apart)),
                 reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  require(anchor.dim() == positive.dim() && positive.dim() == negative.dim(), kBad,
          "The anchor, positive, and negative tensors are expected to have the same number of "
          "dimensions, but got: "
          "anchor {}D, positive {}D, and negative {}D inputs",
          anchor.dim(), positive.dim(), negative.dim());
  const Tensor near = pairwise_distance(anchor, positive, p, eps, false);
  Tensor far = pairwise_distance(anchor, negative, p, eps, false);
  if (swap) {
    far = pointwise({Body::kMinimum}, {far, pairwise_distance(positive, negative, p, eps, false)});
  }
  return reduced(non_negative(plus(minus(near, far), Scalar(margin))), reduction);
}

}  // namespace tierup::kernels
