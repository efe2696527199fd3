// Conversions: to, copies, fills, numbers, complex parts, lazy bits.
#include "tierup/kernels/shape/conversion.h"

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/factory_arguments.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

Tensor to_device(const Tensor& self, Device device, ScalarType dtype, bool, bool copy,
                 Format format) {
  return k::convert_to(self, {dtype, device, format, copy});
}
Tensor to_dtype(const Tensor& self, ScalarType dtype, bool, bool copy, Format format) {
  return k::convert_to(self, {dtype, {}, format, copy});
}
Tensor to_other(const Tensor& self, const Tensor& other, bool, bool copy, Format format) {
  return k::convert_to(self, {other.dtype(), other.device(), format, copy});
}
Tensor to_dtype_layout(const Tensor& self, Dtype dtype, const IValue& layout, OptionalDevice device,
                       Pin, bool, bool copy, Format format) {
  check_layout(layout);
  return k::convert_to(self, {dtype, device, format, copy});
}
Tensor to_prim_device(const Tensor& self, OptionalDevice device, Dtype dtype, bool, bool copy) {
  return k::convert_to(self, {dtype, device, {}, copy});
}
Tensor to_prim_dtype(const Tensor& self, Dtype dtype, bool, bool copy) {
  return k::convert_to(self, {dtype, {}, {}, copy});
}
Tensor to_prim_other(const Tensor& self, bool, bool copy) {
  return k::convert_to(self, {{}, {}, {}, copy});
}
Tensor to_copy(const Tensor& self, Dtype dtype, const IValue& layout, OptionalDevice device, Pin,
               bool, Format format) {
  check_layout(layout);
  return k::convert_to(self, {dtype, device, format, true});
}
Tensor to_copy_out(const Tensor& self, bool, Format) { return self; }
Tensor cpu(const Tensor& self) { return k::convert_to(self, {{}, Device{}, {}, false}); }
Tensor type_as(const Tensor& self, const Tensor& other) {
  return k::convert_to(self, {other.dtype(), {}, {}, false});
}
Tensor contiguous(const Tensor& self, MemoryFormat format) { return k::contiguous(self, format); }
Tensor clone(const Tensor& self, Format format) {
  return k::convert_to(self, {{}, {}, format, true});
}
Tensor copy_(const Tensor& self, const Tensor& src, bool) { return k::copy_(self, src); }
Tensor copy_other(const Tensor& self, const Tensor& src) { return k::copy_(self, src); }
Tensor copy(const Tensor& self, const Tensor& src, bool) { return k::copy_functional(self, src); }
Tensor fill(const Tensor& self, const Scalar& value) {
  return k::fill_(k::empty_like(self, self.dtype()), value);
}
Tensor fill_tensor(const Tensor& self, const Tensor& value) {
  return k::fill_from(k::empty_like(self, self.dtype()), value);
}
Tensor zero_(const Tensor& self) { return k::fill_(self, 0); }
Tensor zero(const Tensor& self) { return fill(self, 0); }
Tensor detach(const Tensor& self) { return self.detach(); }
Tensor itself(const Tensor& self) { return self; }
Tensor fresh_copy(const Tensor& self) { return k::clone(self); }
Tensor positive(const Tensor& self) {
  require(self.dtype() != ScalarType::kBool, ErrorCode::kUnsupported,
          "The `+` operator, on a bool tensor is not supported.");
  return self;
}
Tensor conj_physical_copy(const Tensor& self) {
  const Tensor result = k::conj_physical(self);
  return result.is_same(self) ? k::clone(self) : result;
}
// What these operators look at: the tensors are on the CPU.
Tensor autocast_full(const Tensor& self, bool, bool cpu_enabled) {
  const bool is_reduced =
      self.dtype() == ScalarType::kHalf || self.dtype() == ScalarType::kBFloat16;
  return cpu_enabled && is_reduced ? k::convert_to(self, {ScalarType::kFloat}) : self;
}
Tensor autocast_reduced(const Tensor& self, bool, bool cpu_enabled, ScalarType,
                        ScalarType cpu_dtype) {
  return cpu_enabled && self.dtype() == ScalarType::kFloat ? k::convert_to(self, {cpu_dtype})
                                                           : self;
}

// f16, bf16 and f32 become `dtype`; everything else stays.
Tensor autocast(const Tensor& self, ScalarType dtype) {
  const bool eligible =
      self.defined() && is_floating(self.dtype()) && self.dtype() != ScalarType::kDouble;
  return eligible ? k::convert_to(self, {dtype, {}, {}, false}) : self;
}

// A conversion per element, into another dtype: to the same one, a tensor stays itself.
kernels::PointwiseCall converted(const Tensor& self, ScalarType dtype, Format format) {
  require(self.dtype() != dtype, ErrorCode::kInvalidArgument, "to {} is itself",
          scalar_type_name(dtype));
  require(format.value_or(MemoryFormat::kPreserve) == MemoryFormat::kPreserve,
          ErrorCode::kInvalidArgument, "a layout is asked for");
  kernels::PointwiseOp op{Body::kIdentity};
  op.common = dtype;
  return {op, {self}};
}
kernels::PointwiseCall describe_to_dtype(const Tensor& self, ScalarType dtype, bool, bool,
                                         Format format) {
  return converted(self, dtype, format);
}
kernels::PointwiseCall describe_to_copy(const Tensor& self, Dtype dtype, const IValue& layout,
                                        OptionalDevice device, Pin, bool, Format format) {
  check_layout(layout);
  require(!device || device->type == DeviceType::kCpu, ErrorCode::kInvalidArgument,
          "to another device");
  return converted(self, dtype.value_or(self.dtype()), format);
}
constexpr OpRow kRows[] = {
    {"tierup::autocast(Tensor(a) self, ScalarType dtype) -> Tensor(a)", boxed<&autocast>},
    {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
     "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     boxed_lazy<&to_device>, ir::kNoEffect, &shapes::same},
    {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     {boxed_lazy<&to_dtype>, &detail::PointwiseRow<&describe_to_dtype>::kBodyOfRow},
     ir::kNoEffect,
     &shapes::same,
     facts(OpKind::kTo)},
    {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     boxed_lazy<&to_other>, ir::kNoEffect, &shapes::same, facts(OpKind::kLike)},
    {"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     boxed_lazy<&to_dtype_layout>, ir::kNoEffect, &shapes::same},
    {"aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool "
     "non_blocking=False, bool copy=False) -> Tensor(b|a)",
     boxed_lazy<&to_prim_device>, ir::kNoEffect, &shapes::same},
    {"aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool "
     "copy=False) -> Tensor(b|a)",
     boxed_lazy<&to_prim_dtype>, ir::kNoEffect, &shapes::same},
    {"aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
     boxed_lazy<&to_prim_other>, ir::kNoEffect, &shapes::same},
    {"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? "
     "memory_format=None) -> Tensor",
     {boxed_lazy<&to_copy>, &detail::PointwiseRow<&describe_to_copy>::kBodyOfRow},
     ir::kNoEffect,
     &shapes::same},
    {"aten::_to_copy.out(Tensor self, *, bool non_blocking=False, MemoryFormat? "
     "memory_format=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&to_copy_out>},
    {"aten::cpu(Tensor(a) self) -> Tensor(b|a)", boxed_lazy<&cpu>, ir::kNoEffect, &shapes::same},
    {"aten::type_as(Tensor self, Tensor other) -> Tensor", boxed_lazy<&type_as>, ir::kNoEffect,
     &shapes::same, facts(OpKind::kLike)},
    {"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
     boxed<&contiguous>, ir::kNoEffect, &shapes::same,
     facts(Role::kContiguous, OpKind::kContiguous)},
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", boxed_lazy<&clone>,
     ir::kNoEffect, &shapes::same, facts(OpKind::kSelf)},
    {"aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&clone>},
    {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
     boxed_lazy<&copy_>},
    {"aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", boxed_lazy<&copy_other>},
    {"aten::copy_.int(Tensor(a!) self, int other) -> Tensor(a!)", boxed_lazy<&copy_other>},
    {"aten::copy_.float(Tensor(a!) self, float other) -> Tensor(a!)", boxed_lazy<&copy_other>},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", boxed<&copy>,
     ir::kNoEffect, &shapes::same},
    {"aten::copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&copy>},
    {"aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", boxed_lazy<&k::fill_>},
    {"aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", boxed_lazy<&k::fill_from>},
    {"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", boxed<&fill>, ir::kNoEffect,
     &shapes::same},
    {"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", boxed<&fill_tensor>, ir::kNoEffect,
     &shapes::same},
    {"aten::fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&fill>},
    {"aten::fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&fill_tensor>},
    {"aten::zero_(Tensor(a!) self) -> Tensor(a!)", boxed_lazy<&zero_>},
    {"aten::zero(Tensor self) -> Tensor", boxed<&zero>},
    {"aten::zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&zero>},
    {"aten::detach(Tensor(a) self) -> Tensor(a)", boxed_lazy<&detach>, ir::kNoEffect, &shapes::same,
     facts(OpKind::kSelf)},
    {"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", boxed_lazy<&itself>, ir::kNoEffect,
     &shapes::same, facts(OpKind::kSelf)},
    {"aten::lift_fresh_copy(Tensor self) -> Tensor", boxed_lazy<&fresh_copy>, ir::kNoEffect,
     &shapes::same},
    {"aten::lift_fresh_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&fresh_copy>},
    {"aten::item(Tensor self) -> Scalar", boxed<&k::item>},
    {"aten::_local_scalar_dense(Tensor self) -> Scalar", boxed<&k::item>},
    {"aten::real(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::real>},
    {"aten::imag(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::imag>},
    {"aten::view_as_real(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::view_as_real>},
    {"aten::view_as_complex(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::view_as_complex>},
    {"aten::complex(Tensor real, Tensor imag) -> Tensor", boxed<&k::complex_of>},
    {"aten::complex.out(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::complex_of>},
    {"aten::polar(Tensor abs, Tensor angle) -> Tensor", boxed<&k::polar>},
    {"aten::polar.out(Tensor abs, Tensor angle, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::polar>},
    {"aten::conj(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::conj>},
    {"aten::_conj(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::conj>},
    {"aten::conj_physical(Tensor self) -> Tensor", boxed<&k::conj_physical>},
    {"aten::conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::conj_physical>},
    {"aten::conj_physical_(Tensor(a!) self) -> Tensor(a!)", inplace<&k::conj_physical>},
    {"aten::_conj_physical(Tensor self) -> Tensor", boxed<&conj_physical_copy>},
    {"aten::_conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&conj_physical_copy>},
    {"aten::resolve_conj(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::resolve_conj>},
    {"aten::resolve_neg(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::resolve_neg>},
    {"aten::_neg_view(Tensor(a) self) -> Tensor(a)", boxed_lazy<&k::neg_view>},
    {"aten::positive(Tensor(a) self) -> Tensor(a)", boxed_lazy<&positive>},
    {"aten::isreal(Tensor self) -> Tensor", boxed<&k::isreal>},
    {"aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> "
     "Tensor(a)",
     boxed_lazy<&autocast_full>},
    {"aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, "
     "ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a)",
     boxed_lazy<&autocast_reduced>},
};

}  // namespace

std::span<const OpRow> conversion_rows() { return kRows; }

}  // namespace tierup::ops
