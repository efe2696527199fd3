#include "tierup/kernels/linalg/cofactors.h"

#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/linalg/linalg_factor.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// Of each value the product of all others along the last dimension.
Tensor products_of_others(const Tensor& values) {
  const Tensor from = contiguous(values);
  const Tensor out = Tensor::empty(values.sizes(), values.dtype());
  const int64_t n = values.size(-1);
  dispatch_work(values.dtype(), "cofactors", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t line = 0; n > 0 && line < values.numel() / n; ++line) {
      for (int64_t i = 0; i < n; ++i) {
        T product = 1;
        for (int64_t j = 0; j < n; ++j)
          if (j != i) product *= from.data<T>()[line * n + j];
        out.data<T>()[line * n + i] = product;
      }
    }
  });
  return out;
}

Tensor product(const Tensor& a, const Tensor& b) {
  return pointwise({Body::kMul}, {Operand(a), Operand(b)});
}

}  // namespace

Tensor cofactors(const Tensor& a) {
  require(a.dim() >= 2 && a.size(-1) == a.size(-2), ErrorCode::kInvalidArgument,
          "cofactors: A must be batches of square matrices, but has {} dimensions", a.dim());
  const auto [u, s, vh] = svd(a, false, std::nullopt);
  const Tensor sign = product(det(u), det(vh));
  const Tensor scale = product(products_of_others(s), unsqueeze(sign, -1));
  const Tensor whole = matmul(product(u, unsqueeze(scale, -2)), vh);
  // det A = prod(s) times the sign: U and V of unit determinant turn s into A's cofactors.
  return is_complex(a.dtype()) ? pointwise({Body::kConj}, {Operand(whole)}) : whole;
}

}  // namespace tierup::kernels
