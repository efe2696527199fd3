// Matrix and vector products. All operands of one call have one dtype; bool is not multiplied.
//
// Shapes that do not fit throw kInvalidArgument with PyTorch's words ("mat1 and mat2 shapes cannot
// be multiplied (2x3 and 4x5)"). Results are fresh and contiguous.
#pragma once

#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::mm: [m, k] x [k, n]. aten::bmm: [b, m, k] x [b, k, n].
Tensor mm(const Tensor& self, const Tensor& other);
Tensor bmm(const Tensor& self, const Tensor& other);
// aten::mv: [m, k] x [k]. aten::dot, aten::vdot (conjugates self): [k] x [k] to a 0-dim tensor.
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor dot(const Tensor& self, const Tensor& other);
Tensor vdot(const Tensor& self, const Tensor& other);
// aten::matmul: vectors, matrices and batches of any rank, batch dimensions broadcast.
Tensor matmul(const Tensor& self, const Tensor& other);
// aten::linear: [*, in] x [out, in] transposed, plus bias [out] (may be undefined).
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

// beta * self + alpha * product, self broadcast; with beta == 0, self is not read.
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha);
// The same for a self that nobody reads afterwards: the result takes its memory if it can.
Tensor addmm_to_dying(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                      const Scalar& beta, const Scalar& alpha);
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha);
// aten::addbmm: the products are summed over the batch.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha);
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha);

}  // namespace tierup::kernels
