// Rows of matrix products.
#include <array>

#include "tierup/kernels/gemm/grouped_matmul.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/gemm/products.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

// addbmm_ alone among its kin lets self grow to the result's shape.
void addbmm_inplace(OpCall& call) {
  const Tensor self = call.args[0].to_tensor();
  detail::write_out(self, detail::Boxed<&kernels::addbmm>::invoke(call));
  call.results[0] = self;
}

// Sums of products, as gradients of weights that are used many times are, stay where they stand.
void addmm(OpCall& call) {
  const TensorImpl* self = call.args[0].tensor_impl();
  const bool is_dying = self != nullptr && self->use_count() == 1;
  is_dying ? boxed<&kernels::addmm_to_dying>(call) : boxed<&kernels::addmm>(call);
}

constexpr auto kRows = std::to_array<OpRow>({
    // Of products, passes make this one.
    {"aten::matmul(Tensor self, Tensor other) -> Tensor", boxed<&kernels::matmul>, ir::kNoEffect,
     &shapes::matmul,
     facts(Role::kMatmul, Fits::kMatmul, Work::kProduct, OpKind::kMatmul, ProductKind::kAny)},
    {"aten::matmul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::matmul>, ir::kNoEffect, nullptr, facts(Work::kProduct)},
    {"aten::mm(Tensor self, Tensor mat2) -> Tensor", boxed<&kernels::mm>, ir::kNoEffect,
     &shapes::matrix_product,
     facts(Role::kMatmul, Fits::kMatrixProduct, Work::kProduct, ProductKind::kMatrices)},
    {"aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::mm>, ir::kNoEffect, nullptr, facts(Work::kProduct)},
    {"aten::bmm(Tensor self, Tensor mat2) -> Tensor", boxed<&kernels::bmm>, ir::kNoEffect,
     &shapes::batch_product,
     facts(Fits::kBatchProduct, Work::kProduct, OpKind::kBatchMatmul, ProductKind::kMatrices)},
    {"aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::bmm>, ir::kNoEffect, nullptr, facts(Work::kProduct)},
    {"aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
     "ScalarType? out_dtype=None) -> Tensor",
     boxed<&kernels::grouped_mm>},
    // The transformers library's own operator for the same, in what it exports.
    {"transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
     boxed<&kernels::grouped_mm_rows>},
    other_name("aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", "aten::matmul"),
    other_name(
        "aten::linalg_matmul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::matmul.out"),
    {"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     boxed<&kernels::linear>, ir::kNoEffect, &shapes::linear,
     facts(Role::kLinear, Fits::kLinear, Work::kProduct, OpKind::kLinear, ProductKind::kLinear)},
    {"aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::linear>, ir::kNoEffect, nullptr, facts(Work::kProduct)},
    {"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     addmm, ir::kNoEffect, &shapes::added_product,
     facts(Work::kAddedProduct, OpKind::kAddmm, ProductKind::kAdded)},
    {"aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::addmm>, ir::kNoEffect, nullptr, facts(Work::kAddedProduct)},
    {"aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor(a!)",
     inplace<&kernels::addmm>, ir::kNoEffect, nullptr, facts(OpKind::kAddmm)},
    {"aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     boxed<&kernels::addbmm>},
    {"aten::addbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
     "alpha=1, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::addbmm>},
    {"aten::addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
     "alpha=1) -> Tensor(a!)",
     &addbmm_inplace, ir::kNoEffect, nullptr, facts(Geometry::kChanged)},
    {"aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) "
     "-> Tensor",
     boxed<&kernels::baddbmm>, ir::kNoEffect, &shapes::added_batch_product,
     facts(Work::kAddedProduct, ProductKind::kAdded)},
    {"aten::baddbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
     "alpha=1, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::baddbmm>, ir::kNoEffect, nullptr, facts(Work::kAddedProduct)},
    {"aten::baddbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
     "alpha=1) -> Tensor(a!)",
     inplace<&kernels::baddbmm>},
    {"aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     boxed<&kernels::addmv>, ir::kNoEffect, nullptr, facts(Work::kAddedProduct)},
    {"aten::addmv.out(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::addmv>, ir::kNoEffect, nullptr, facts(Work::kAddedProduct)},
    {"aten::addmv_(Tensor(a!) self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor(a!)",
     inplace<&kernels::addmv>},
    {"aten::mv(Tensor self, Tensor vec) -> Tensor", boxed<&kernels::mv>, ir::kNoEffect,
     &shapes::matmul, facts(Work::kProduct, ProductKind::kVector)},
    {"aten::mv.out(Tensor self, Tensor vec, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::mv>, ir::kNoEffect, nullptr, facts(Work::kProduct)},
    {"aten::dot(Tensor self, Tensor tensor) -> Tensor", boxed<&kernels::dot>, ir::kNoEffect,
     &shapes::matmul, facts(ProductKind::kDot)},
    {"aten::dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::dot>},
    {"aten::vdot(Tensor self, Tensor other) -> Tensor", boxed<&kernels::vdot>},
    {"aten::vdot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::vdot>},
    {"aten::inner(Tensor self, Tensor other) -> Tensor", boxed<&kernels::inner>},
    {"aten::inner.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::inner>},
    {"aten::outer(Tensor self, Tensor vec2) -> Tensor", boxed<&kernels::outer>},
    {"aten::outer.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::outer>},
    other_name("aten::ger(Tensor self, Tensor vec2) -> Tensor", "aten::outer"),
    other_name("aten::ger.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)",
               "aten::outer.out"),
    {"aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     boxed<&kernels::addr>},
    {"aten::addr.out(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::addr>},
    {"aten::addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor(a!)",
     inplace<&kernels::addr>},
    {"aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
     boxed<&kernels::tensordot>},
    {"aten::tensordot.out(Tensor self, Tensor other, int[] dims_self, int[] dims_other, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::tensordot>},
    {"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
     boxed<&kernels::einsum>, ir::kNoEffect, &shapes::einsum, facts(Role::kEinsum)},
    {"aten::kron(Tensor self, Tensor other) -> Tensor", boxed<&kernels::kron>},
    {"aten::kron.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::kron>},
    {"aten::chain_matmul(Tensor[] matrices) -> Tensor", boxed<&kernels::chain_matmul>},
    {"aten::chain_matmul.out(Tensor[] matrices, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::chain_matmul>},
    {"aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", boxed<&kernels::multi_dot>},
    {"aten::linalg_multi_dot.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::multi_dot>},
    {"aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", boxed<&kernels::vecdot>},
    {"aten::linalg_vecdot.out(Tensor x, Tensor y, *, int dim=-1, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::vecdot>},
    {"aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
     boxed<&kernels::bilinear>},
    {"aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] "
     "expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     boxed<&kernels::trilinear>},
});

}  // namespace

std::span<const OpRow> matmul_rows() { return kRows; }

}  // namespace tierup::ops
