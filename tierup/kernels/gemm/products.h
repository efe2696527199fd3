// Products built on matmul: outer and inner products, tensordot, einsum, chains, bilinear forms.
#pragma once

#include <string_view>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Element-wise product of broadcast operands in their promoted dtype (bool: and).
Tensor multiply_broadcast(const Tensor& a, const Tensor& b);
// Sum over dimensions that stay as size 1, in the tensor's own dtype.
Tensor sum_keeping(const Tensor& tensor, const IntVector& dims);

// aten::outer, aten::ger: [m] x [n] to [m, n].
Tensor outer(const Tensor& self, const Tensor& vec2);
// aten::addr: beta * self + alpha * outer(vec1, vec2), in the promoted dtype.
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha);
// aten::inner: contracts the last dimensions; a product where one side is 0-dim.
Tensor inner(const Tensor& self, const Tensor& other);
// aten::linalg_vecdot: sum of conj(x) * y along `dim`.
Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim);
Tensor kron(const Tensor& self, const Tensor& other);
// aten::tensordot: contracts dims_self[i] of self with dims_other[i] of other.
Tensor tensordot(const Tensor& self, const Tensor& other, const IntVector& dims_self,
                 const IntVector& dims_other);
// aten::chain_matmul (one or more matrices), aten::linalg_multi_dot (two or more; vectors at the
// ends), in the order with the fewest multiplications.
Tensor chain_matmul(const std::vector<Tensor>& matrices);
Tensor multi_dot(const std::vector<Tensor>& tensors);
// aten::_trilinear: unsqueezes each operand at its expand dims, multiplies, sums over sumdim.
Tensor trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3, const IntVector& expand1,
                 const IntVector& expand2, const IntVector& expand3, const IntVector& sumdim,
                 int64_t unroll_dim);
// aten::bilinear: y[*, o] = sum_ij x1[*, i] W[o, i, j] x2[*, j] + bias[o].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias);

// aten::einsum with letters, spaces, one ellipsis per operand and an optional "->". Operands are
// contracted from left to right. Throws kInvalidArgument for a malformed equation or sizes that
// differ.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace tierup::kernels
