// Comparisons of whole tensors: isclose, allclose, equal.
#include <algorithm>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"

namespace tierup::kernels {
namespace {

Tensor binary(Body body, const Operand& a, const Operand& b) { return pointwise({body}, {a, b}); }

void check_comparable(const Tensor& self, const Tensor& other, double rtol, double atol) {
  require(self.dtype() == other.dtype(), ErrorCode::kTypeError, "{} did not match {}",
          scalar_type_name(self.dtype()), scalar_type_name(other.dtype()));
  require(rtol >= 0, ErrorCode::kInvalidArgument,
          "rtol must be greater than or equal to zero, but got {}", rtol);
  require(atol >= 0, ErrorCode::kInvalidArgument,
          "atol must be greater than or equal to zero, but got {}", atol);
}

}  // namespace

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  check_comparable(self, other, rtol, atol);
  Tensor close = binary(Body::kEq, self, other);
  const bool inexact = is_floating(self.dtype()) || is_complex(self.dtype());
  if (equal_nan && inexact) {
    const Tensor both = binary(Body::kLogicalAnd, pointwise({Body::kIsNan}, {self}),
                               pointwise({Body::kIsNan}, {other}));
    close = binary(Body::kBitOr, close, both);
  }
  if (rtol == 0 && atol == 0) return close;
  const bool whole = is_integral(self.dtype(), true);
  const Tensor a = whole ? to_dtype(self, ScalarType::kDouble) : self;
  const Tensor b = whole ? to_dtype(other, ScalarType::kDouble) : other;
  const Tensor scaled = pointwise({Body::kMul, Promote::kSame, 1}, {b, Operand(Scalar(rtol))});
  const Tensor allowed = pointwise({Body::kAdd, Promote::kSame, 1},
                                   {pointwise({Body::kAbs}, {scaled}), Operand(Scalar(atol))});
  const Tensor actual = pointwise({Body::kAbs}, {binary(Body::kSub, a, b)});
  const Tensor within = binary(Body::kBitAnd, pointwise({Body::kIsFinite}, {actual}),
                               binary(Body::kLe, actual, allowed));
  return binary(Body::kBitOr, close, within);
}

bool all_true(const Tensor& flags) {
  const Tensor dense = contiguous(flags);
  const bool* data = dense.data<bool>();
  return std::all_of(data, data + dense.numel(), [](bool flag) { return flag; });
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all_true(isclose(self, other, rtol, atol, equal_nan));
}

bool equal(const Tensor& self, const Tensor& other) {
  const IntSpan a = self.sizes();
  const IntSpan b = other.sizes();
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end())) return false;
  return all_true(binary(Body::kEq, self, other));
}

}  // namespace tierup::kernels
