#include "tierup/kernels/gemm/add_product.h"

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

bool add_product(const Tensor& sum, const Tensor& a, const Tensor& b) {
  const ScalarType dtype = sum.dtype();
  if (dtype != ScalarType::kFloat && dtype != ScalarType::kDouble) return false;
  if (a.dtype() != dtype || b.dtype() != dtype) return false;
  if (sum.dim() != 2 || a.dim() != 2 || b.dim() != 2) return false;
  if (a.size(0) != sum.size(0) || b.size(1) != sum.size(1) || a.size(1) != b.size(0)) return false;
  if (sum.stride(1) != 1 || sum.stride(0) < sum.size(1) || sum.numel() == 0) return false;
  GemmProblem p;
  p.dtype = dtype;
  p.m = a.size(0);
  p.n = b.size(1);
  p.k = a.size(1);
  p.a = {a.raw(), 0, a.stride(0), a.stride(1)};
  p.b = {b.raw(), 0, b.stride(0), b.stride(1)};
  p.c = sum.raw();
  p.c_row_stride = sum.stride(0);
  p.beta = 1;
  gemm(p);
  sum.bump_version();
  return true;
}

}  // namespace tierup::kernels
