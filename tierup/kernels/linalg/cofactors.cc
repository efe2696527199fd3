#include "tierup/kernels/linalg/cofactors.h"

#include <algorithm>

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

// Cofactors of a matrix of up to three rows.
void cofactors_of(int64_t n, const double* a, double* to) {
  if (n == 1) {
    to[0] = 1;
  } else if (n == 2) {
    to[0] = a[3], to[1] = -a[2], to[2] = -a[1], to[3] = a[0];
  } else {
    // A row is the cross product of the two that follow it.
    for (int64_t i = 0; i < 3; ++i) {
      const double* b = a + (i + 1) % 3 * 3;
      const double* c = a + (i + 2) % 3 * 3;
      for (int64_t j = 0; j < 3; ++j)
        to[3 * i + j] = b[(j + 1) % 3] * c[(j + 2) % 3] - b[(j + 2) % 3] * c[(j + 1) % 3];
    }
  }
}

Tensor small_cofactors(const Tensor& a) {
  const Tensor from = contiguous(a);
  const Tensor out = Tensor::empty(a.sizes(), a.dtype());
  const int64_t n = a.size(-1);
  dispatch_work(a.dtype(), "cofactors", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    double numbers[9];
    double made[9];
    for (int64_t at = 0; at < a.numel(); at += n * n) {
      std::copy_n(from.data<T>() + at, n * n, numbers);
      cofactors_of(n, numbers, made);
      for (int64_t i = 0; i < n * n; ++i) out.data<T>()[at + i] = static_cast<T>(made[i]);
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
  if (!is_complex(a.dtype()) && a.size(-1) >= 1 && a.size(-1) <= 3) return small_cofactors(a);
  const auto [u, s, vh] = svd(a, false, std::nullopt);
  const Tensor sign = product(det(u), det(vh));
  const Tensor scale = product(products_of_others(s), unsqueeze(sign, -1));
  const Tensor whole = matmul(product(u, unsqueeze(scale, -2)), vh);
  // det A = prod(s) times the sign: U and V of unit determinant turn s into A's cofactors.
  return is_complex(a.dtype()) ? pointwise({Body::kConj}, {Operand(whole)}) : whole;
}

}  // namespace tierup::kernels
