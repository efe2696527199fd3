// Indexing operators: reading and writing by index tensors and masks.
#include "tierup/kernels/indexing/advanced_index.h"
#include "tierup/kernels/indexing/index_select.h"
#include "tierup/kernels/indexing/scatter.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/masking.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// foo and foo_ from a kernel that writes to its first argument.
template <auto Write>
struct Writer;
template <typename... A, void (*Write)(const Tensor&, A...)>
struct Writer<Write> {
  static Tensor on_copy(const Tensor& self, A... args) {
    Tensor result = k::clone(self);
    Write(result, args...);
    return result;
  }
  static Tensor in_place(const Tensor& self, A... args) {
    Write(self, args...);
    return self;
  }
};
template <auto Write>
inline constexpr KernelFn on_copy = boxed<&Writer<Write>::on_copy>;
template <auto Write>
inline constexpr KernelFn in_place = boxed<&Writer<Write>::in_place>;
template <auto Write>
inline constexpr KernelFn on_copy_out = out_variant<&Writer<Write>::on_copy>;

// _index_put_impl_ has one flag more, which only asks for less checking.
void index_put_impl(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                    bool accumulate, bool /*unsafe*/) {
  k::index_put_(self, indices, values, accumulate);
}

// gather and its kin take flags that only matter to gradients.
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool /*sparse_grad*/) {
  return k::gather(self, dim, index);
}

constexpr OpRow kRows[] = {
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", boxed<&k::index>,
     ir::kNoEffect, nullptr, facts(LookUpKind::kIndex)},
    {"aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::index>},
    {"aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", boxed<&k::index>},
    {"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", boxed<&k::index>,
     ir::kNoEffect, nullptr, facts(LookUpKind::kIndex)},
    {"aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
     boxed<&k::index>},
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
     "Tensor",
     on_copy<&k::index_put_>, ir::kNoEffect, &shapes::same},
    {"aten::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::index_put_>},
    {"aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) "
     "-> Tensor(a!)",
     in_place<&k::index_put_>},
    {"aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor",
     on_copy<&k::index_put_>},
    {"aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor(a!)",
     in_place<&k::index_put_>},
    {"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor",
     on_copy<&k::index_put_>},
    {"aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool "
     "accumulate=False) -> Tensor",
     on_copy<&k::index_put_>},
    {"aten::_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool "
     "accumulate=False, bool unsafe=False) -> Tensor(a!)",
     in_place<&index_put_impl>},
    {"aten::_index_put_impl_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool "
     "accumulate=False, bool unsafe=False) -> Tensor(a!)",
     in_place<&index_put_impl>},
    {"aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> "
     "Tensor",
     boxed<&k::masked_index>},
    {"aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, "
     "Tensor values) -> Tensor",
     boxed<&k::masked_index_put_accumulate>},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", boxed<&k::index_select>,
     ir::kNoEffect, &shapes::index_select, facts(LookUpKind::kIndexSelect)},
    {"aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::index_select>},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     boxed<&gather>, ir::kNoEffect, &shapes::gather, facts(Role::kRowwise, LookUpKind::kGather)},
    {"aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&gather>},
    {"aten::take(Tensor self, Tensor index) -> Tensor", boxed<&k::take>},
    {"aten::take.out(Tensor self, Tensor index, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::take>},
    {"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
     boxed<&k::take_along_dim>},
    {"aten::take_along_dim.out(Tensor self, Tensor indices, int? dim=None, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::take_along_dim>},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
     "Tensor",
     on_copy<&k::index_add_>, ir::kNoEffect, &shapes::same},
    {"aten::index_add.out(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1, "
     "Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::index_add_>},
    {"aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) "
     "-> Tensor(a!)",
     in_place<&k::index_add_>},
    {"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
     on_copy<&k::index_copy_>, ir::kNoEffect, &shapes::same},
    {"aten::index_copy.out(Tensor self, int dim, Tensor index, Tensor source, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     on_copy_out<&k::index_copy_>},
    {"aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
     in_place<&k::index_copy_>},
    {"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
     on_copy<&k::index_fill_tensor_>, ir::kNoEffect, &shapes::same},
    {"aten::index_fill.int_Tensor_out(Tensor self, int dim, Tensor index, Tensor value, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::index_fill_tensor_>},
    {"aten::index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value) -> "
     "Tensor(a!)",
     in_place<&k::index_fill_tensor_>},
    {"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     on_copy<&k::index_fill_scalar_>, ir::kNoEffect, &shapes::same},
    {"aten::index_fill.int_Scalar_out(Tensor self, int dim, Tensor index, Scalar value, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::index_fill_scalar_>},
    {"aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> "
     "Tensor(a!)",
     in_place<&k::index_fill_scalar_>},
    {"aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
     "include_self=True) -> Tensor",
     on_copy<&k::index_reduce_>},
    {"aten::index_reduce.out(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
     "bool include_self=True, Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::index_reduce_>},
    {"aten::index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, "
     "bool include_self=True) -> Tensor(a!)",
     in_place<&k::index_reduce_>},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     on_copy<&k::scatter_value_>, ir::kNoEffect, &shapes::same},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     on_copy<&k::scatter_src_>, ir::kNoEffect, &shapes::same},
    {"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> "
     "Tensor",
     on_copy<&k::scatter_src_reduce_>},
    {"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) "
     "-> Tensor",
     on_copy<&k::scatter_value_reduce_>},
    {"aten::scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     on_copy_out<&k::scatter_src_>},
    {"aten::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     on_copy_out<&k::scatter_value_>},
    {"aten::scatter.reduce_out(Tensor self, int dim, Tensor index, Tensor src, *, str reduce, "
     "Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::scatter_src_reduce_>},
    {"aten::scatter.value_reduce_out(Tensor self, int dim, Tensor index, Scalar value, *, str "
     "reduce, Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::scatter_value_reduce_>},
    {"aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
     in_place<&k::scatter_src_>},
    {"aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
     in_place<&k::scatter_value_>},
    {"aten::scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> "
     "Tensor(a!)",
     in_place<&k::scatter_src_reduce_>},
    {"aten::scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str "
     "reduce) -> Tensor(a!)",
     in_place<&k::scatter_value_reduce_>},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     on_copy<&k::scatter_add_>, ir::kNoEffect, &shapes::same},
    {"aten::scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     on_copy_out<&k::scatter_add_>},
    {"aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
     in_place<&k::scatter_add_>},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
     "include_self=True) -> Tensor",
     on_copy<&k::scatter_reduce_>},
    {"aten::scatter_reduce.two_out(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
     "bool include_self=True, Tensor(a!) out) -> Tensor(a!)",
     on_copy_out<&k::scatter_reduce_>},
    {"aten::scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, "
     "bool include_self=True) -> Tensor(a!)",
     in_place<&k::scatter_reduce_>},
    {"aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
     on_copy<&k::put_>},
    {"aten::put.out(Tensor self, Tensor index, Tensor source, bool accumulate=False, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     on_copy_out<&k::put_>},
    {"aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> "
     "Tensor(a!)",
     in_place<&k::put_>},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", boxed<&k::masked_select>},
    {"aten::masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::masked_select>},
    {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
     boxed<&k::masked_scatter>},
    {"aten::masked_scatter.out(Tensor self, Tensor mask, Tensor source, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::masked_scatter>},
    {"aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
     in_place<&k::masked_scatter_>},
    {"aten::nonzero(Tensor self) -> Tensor", boxed<&k::nonzero>},
    {"aten::nonzero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::nonzero>},
    {"aten::nonzero_numpy(Tensor self) -> Tensor[]", boxed<&k::nonzero_numpy>},
    {"aten::where(Tensor condition) -> Tensor[]", boxed<&k::nonzero_numpy>},
    {"aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
     boxed<&k::nonzero_static>},
    {"aten::nonzero_static.out(Tensor self, *, SymInt size, int fill_value=-1, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::nonzero_static>},
    {"aten::argwhere(Tensor self) -> Tensor", boxed<&k::nonzero>},
    {"aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", boxed<&k::one_hot>},
};

}  // namespace

std::span<const OpRow> indexing_rows() { return kRows; }

}  // namespace tierup::ops
