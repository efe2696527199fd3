// Queries: operators that read a tensor's metadata (and is_nonzero, which reads its one element).
#include <algorithm>

#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/gradients.h"

namespace tierup::ops {
namespace {

IntVector copy_of(IntSpan values) { return {values.begin(), values.end()}; }

IntVector size(const Tensor& self) { return copy_of(self.sizes()); }
int64_t size_int(const Tensor& self, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kOutOfRange,
          "Dimension specified as {} but tensor has no dimensions", dim);
  return self.size(dim);
}
IntVector stride(const Tensor& self) { return copy_of(self.strides()); }
int64_t stride_int(const Tensor& self, int64_t dim) {
  require(self.dim() > 0, ErrorCode::kOutOfRange,
          "Dimension specified as {} but tensor has no dimensions", dim);
  return self.stride(dim);
}
int64_t dim(const Tensor& self) { return self.dim(); }
int64_t numel(const Tensor& self) { return self.numel(); }
int64_t len(const Tensor& self) {
  require(self.dim() > 0, ErrorCode::kTypeError, "len() of a 0-d tensor");
  return self.sizes()[0];
}
int64_t storage_offset(const Tensor& self) { return self.offset(); }
int64_t element_size(const Tensor& self) { return static_cast<int64_t>(self.item_size()); }
int64_t nbytes(const Tensor& self) { return static_cast<int64_t>(self.bytes()); }
bool is_floating_point(const Tensor& self) { return is_floating(self.dtype()); }
bool is_complex_dtype(const Tensor& self) { return is_complex(self.dtype()); }
bool is_signed(const Tensor& self) {
  const ScalarType t = self.dtype();
  return t != ScalarType::kByte && t != ScalarType::kBool &&
         !(t >= ScalarType::kUInt16 && t <= ScalarType::kUInt64);
}
bool is_contiguous(const Tensor& self) { return self.is_contiguous(); }
bool is_contiguous_format(const Tensor& self, MemoryFormat format) {
  return self.is_contiguous(format);
}
bool is_dense(const Tensor& self) { return self.is_non_overlapping_and_dense(); }
bool same_values(IntSpan a, IntSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
bool is_same_size(const Tensor& self, const Tensor& other) {
  return same_values(self.sizes(), other.sizes());
}
bool is_set_to(const Tensor& self, const Tensor& other) {
  return self.storage() == other.storage() && self.offset() == other.offset() &&
         same_values(self.sizes(), other.sizes()) && same_values(self.strides(), other.strides());
}
bool is_conj(const Tensor& self) { return self.impl()->conjugate; }
bool is_neg(const Tensor& self) { return self.impl()->negative; }
bool never(const Tensor& /*self*/) { return false; }
bool never_pinned(const Tensor& /*self*/, std::optional<Device> /*device*/) { return false; }
int64_t zero(const Tensor& /*self*/) { return 0; }
int64_t get_device(const Tensor& self) {
  return self.device().type == DeviceType::kCpu ? -1 : self.device().index;
}
int64_t version(const Tensor& self) { return self.version(); }
bool requires_grad(const Tensor& self) { return self.requires_grad(); }
Tensor data(const Tensor& self) {
  Tensor hidden = self.detach();
  hidden.impl()->hides_writes = true;
  return hidden;
}
IValue none(const Tensor& /*self*/) { return {}; }

ScalarType dtype(const Tensor& self) { return self.dtype(); }
Device device(const Tensor& self) { return self.device(); }
int64_t layout(const Tensor& /*self*/) { return static_cast<int64_t>(Layout::kStrided); }
bool is_cpu(const Tensor& self) { return self.device().type == DeviceType::kCpu; }
bool is_meta(const Tensor& self) { return self.is_meta(); }
bool is_quantized_dtype(const Tensor& self) { return is_quantized(self.dtype()); }

ScalarType result_type_tensors(const Tensor& a, const Tensor& b) {
  return kernels::result_type(a, b);
}
ScalarType result_type_scalar(const Tensor& a, const Scalar& b) {
  return kernels::result_type(a, b);
}
ScalarType result_type_scalar_tensor(const Scalar& a, const Tensor& b) {
  return kernels::result_type(a, b);
}
ScalarType result_type_scalars(const Scalar& a, const Scalar& b) {
  return kernels::result_type(a, b);
}

bool is_nonzero(const Tensor& self) {
  require(self.numel() != 0, ErrorCode::kInvalidArgument,
          "Boolean value of Tensor with no values is ambiguous");
  require(self.numel() == 1, ErrorCode::kInvalidArgument,
          "Boolean value of Tensor with more than one value is ambiguous");
  return dispatch_all(self.dtype(), "is_nonzero", [&](auto tag) -> bool {
    using T = typename decltype(tag)::type;
    const T value = *self.data<T>();
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return static_cast<float>(value) != 0.0F;
    } else {
      return value != T(0);
    }
  });
}

Tensor shape_as_tensor(const Tensor& self) {
  const int64_t rank = self.dim();
  Tensor result = Tensor::empty(IntSpan(&rank, 1), ScalarType::kLong);
  std::copy(self.sizes().begin(), self.sizes().end(), result.data<int64_t>());
  return result;
}

// Checks what the exporter saw of a tensor: size, stride, dtype and device, where given.
void assert_tensor_metadata(OpCall& call) {
  const Tensor tensor = call.args[0].to_tensor();
  const auto expect = [&](const char* what, const IValue& wanted, const IValue& have) {
    require(wanted.is_none() || values_equal(wanted, have), ErrorCode::kInvalidArgument,
            "Tensor {} mismatch: expected {}, got {}", what, to_text(wanted), to_text(have));
  };
  expect("sizes", call.args[1], make_int_list(tensor.sizes()));
  expect("strides", call.args[2], make_int_list(tensor.strides()));
  expect("dtype", call.args[3], static_cast<int64_t>(tensor.dtype()));
  expect("device", call.args[4], tensor.device());
}

constexpr OpRow kRows[] = {
    {"aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
     "ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
     &assert_tensor_metadata, ir::kMayRaise, nullptr, facts(Role::kMetadataAssert)},
    {"aten::size(Tensor self) -> int[]", boxed_lazy<&size>, ir::kNoEffect, &shapes::sizes,
     facts(Role::kSizes, Fits::kAnyTensor)},
    {"aten::size.int(Tensor self, int dim) -> int", boxed_lazy<&size_int>, ir::kNoEffect,
     &shapes::size, facts(Role::kSize, Fits::kSizeOfDim, OpKind::kSizeOf)},
    {"aten::sym_size(Tensor self) -> SymInt[]", boxed_lazy<&size>, ir::kNoEffect, &shapes::sizes,
     facts(Fits::kAnyTensor)},
    {"aten::sym_size.int(Tensor self, int dim) -> SymInt", boxed_lazy<&size_int>, ir::kNoEffect,
     &shapes::size},
    {"aten::stride(Tensor self) -> int[]", boxed_lazy<&stride>},
    {"aten::stride.int(Tensor self, int dim) -> int", boxed_lazy<&stride_int>},
    {"aten::sym_stride(Tensor self) -> SymInt[]", boxed_lazy<&stride>},
    {"aten::sym_stride.int(Tensor self, int dim) -> SymInt", boxed_lazy<&stride_int>},
    {"aten::dim(Tensor self) -> int", boxed_lazy<&dim>, ir::kNoEffect, &shapes::rank,
     facts(Role::kRank, Fits::kAnyTensor)},
    {"aten::numel(Tensor self) -> int", boxed_lazy<&numel>, ir::kNoEffect, &shapes::element_count,
     facts(Fits::kAnyTensor)},
    {"aten::sym_numel(Tensor self) -> SymInt", boxed_lazy<&numel>, ir::kNoEffect,
     &shapes::element_count, facts(Fits::kAnyTensor)},
    {"aten::len.Tensor(Tensor t) -> int", boxed_lazy<&len>},
    {"aten::storage_offset(Tensor self) -> int", boxed_lazy<&storage_offset>},
    {"aten::sym_storage_offset(Tensor self) -> SymInt", boxed_lazy<&storage_offset>},
    {"aten::element_size(Tensor self) -> int", boxed_lazy<&element_size>},
    {"prim::itemsize(Tensor a) -> int", boxed_lazy<&element_size>},
    {"prim::nbytes(Tensor a) -> int", boxed_lazy<&nbytes>},
    {"aten::is_floating_point(Tensor self) -> bool", boxed_lazy<&is_floating_point>},
    {"aten::is_complex(Tensor self) -> bool", boxed_lazy<&is_complex_dtype>},
    {"aten::is_signed(Tensor self) -> bool", boxed_lazy<&is_signed>},
    {"aten::is_contiguous(Tensor self) -> bool", boxed_lazy<&is_contiguous>},
    {"aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
     boxed_lazy<&is_contiguous_format>},
    {"aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool",
     boxed_lazy<&is_contiguous_format>},
    {"aten::is_non_overlapping_and_dense(Tensor self) -> bool", boxed_lazy<&is_dense>},
    {"aten::is_same_size(Tensor self, Tensor other) -> bool", boxed_lazy<&is_same_size>},
    {"aten::is_set_to(Tensor self, Tensor tensor) -> bool", boxed_lazy<&is_set_to>},
    {"aten::is_nonzero(Tensor self) -> bool", boxed<&is_nonzero>},
    {"aten::is_conj(Tensor self) -> bool", boxed_lazy<&is_conj>},
    {"aten::is_neg(Tensor self) -> bool", boxed_lazy<&is_neg>},
    {"aten::is_inference(Tensor self) -> bool", boxed_lazy<&never>},
    {"aten::is_coalesced(Tensor self) -> bool", boxed_lazy<&never>},
    {"aten::is_distributed(Tensor self) -> bool", boxed_lazy<&never>},
    {"aten::is_pinned(Tensor self, Device? device=None) -> bool", boxed_lazy<&never_pinned>},
    {"aten::_is_zerotensor(Tensor self) -> bool", boxed_lazy<&never>},
    {"aten::get_device(Tensor self) -> int", boxed_lazy<&get_device>},
    {"aten::_version(Tensor self) -> int", boxed_lazy<&version>},
    {"aten::data(Tensor self) -> Tensor", boxed_lazy<&data>},
    {"aten::dense_dim(Tensor self) -> int", boxed_lazy<&dim>},
    {"aten::sparse_dim(Tensor self) -> int", boxed_lazy<&zero>},
    {"aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType",
     boxed_lazy<&result_type_tensors>},
    {"aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType",
     boxed_lazy<&result_type_scalar>},
    {"aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType",
     boxed_lazy<&result_type_scalar_tensor>},
    {"aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType",
     boxed_lazy<&result_type_scalars>},
    {"aten::can_cast(ScalarType from_, ScalarType to) -> bool", boxed<&can_cast>},
    {"aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
     boxed<&promote_types>},
    {"aten::_shape_as_tensor(Tensor self) -> Tensor", boxed_lazy<&shape_as_tensor>},

    {"prim::dtype(Tensor a) -> int", boxed_lazy<&dtype>, ir::kNoEffect, nullptr,
     facts(Role::kElementType, Fits::kAnyTensor)},
    {"prim::device(Tensor a) -> Device", boxed_lazy<&device>},
    {"prim::layout(Tensor a) -> Layout", boxed_lazy<&layout>},
    {"prim::requires_grad(Tensor a) -> bool", boxed_lazy<&requires_grad>},
    {"prim::is_cpu(Tensor a) -> bool", boxed_lazy<&is_cpu>},
    {"prim::is_meta(Tensor a) -> bool", boxed_lazy<&is_meta>},
    {"prim::is_quantized(Tensor a) -> bool", boxed_lazy<&is_quantized_dtype>},
    {"prim::is_cuda(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_sparse(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_sparse_csr(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_nested(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_mkldnn(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_vulkan(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_xla(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_mps(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_ipu(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_xpu(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_maia(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::is_mtia(Tensor a) -> bool", boxed_lazy<&never>},
    {"prim::name(Tensor a) -> str?", boxed_lazy<&none>},
    {"prim::data(Tensor(a) a) -> Tensor(a)", boxed_lazy<&data>},

    {"aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool "
     "create_graph=False) -> ()",
     &gradients::backward, ir::kSideEffect | ir::kReadsPolicy},
    {"aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? "
     "retain_graph=None, bool create_graph=False) -> ()",
     &gradients::backward, ir::kSideEffect | ir::kReadsPolicy},
    {"aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? "
     "retain_graph=None, bool create_graph=False, bool allow_unused=False) -> Tensor?[]",
     &gradients::grad, ir::kSideEffect | ir::kReadsPolicy},
    {"prim::grad(Tensor a) -> Tensor(*)?", boxed_lazy<&gradients::accumulated_grad>,
     ir::kNondeterministic | ir::kReadsPolicy},
    {"aten::retain_grad(Tensor(a!) self) -> ()", boxed_lazy<&gradients::retain_grad>,
     ir::kSideEffect},
    {"aten::retains_grad(Tensor self) -> bool", boxed_lazy<&gradients::retains_grad>,
     ir::kNondeterministic},
    {"aten::output_nr(Tensor self) -> int", boxed_lazy<&gradients::output_number>,
     ir::kNondeterministic},
    {"aten::is_leaf(Tensor self) -> bool", boxed_lazy<&gradients::is_leaf>, ir::kNondeterministic},
    {"aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
     boxed_lazy<&gradients::set_requires_grad>},
    {"aten::detach_(Tensor(a!) self) -> Tensor(a!)", boxed_lazy<&gradients::detach_in_place>},
    {"aten::set_data(Tensor(a!) self, Tensor new_data) -> ()", boxed_lazy<&gradients::set_data>,
     ir::kSideEffect},
};

}  // namespace

std::span<const OpRow> tensor_query_rows() { return kRows; }

}  // namespace tierup::ops
