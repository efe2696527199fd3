// Factory functions: new tensors from sizes, numbers and other tensors' properties.
#include "tierup/kernels/pointwise/creation.h"

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/factory_arguments.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

using Sizes = const IntVector&;

ScalarType or_default(Dtype dtype) { return dtype.value_or(k::kDefaultDtype); }

Tensor empty(Sizes size, Dtype dtype, const IValue& layout, OptionalDevice device, Pin,
             Format format) {
  check_layout(layout);
  return k::empty_on(size, or_default(dtype), device, format.value_or(MemoryFormat::kContiguous));
}
Tensor empty_strided(Sizes size, Sizes stride, Dtype dtype, const IValue& layout, OptionalDevice,
                     Pin) {
  check_layout(layout);
  return Tensor::empty_strided(size, stride, or_default(dtype));
}
// Dimensions from the outermost in memory to the innermost.
Tensor empty_permuted(Sizes size, const IntVector& order, Dtype dtype, const IValue& layout,
                      OptionalDevice device, Pin) {
  IntVector strides(size.size(), 1);
  IntVector seen(size.size(), 0);
  require(order.size() == size.size(), ErrorCode::kInvalidArgument,
          "Number of dimensions in size does not match the length of the physical_layout; i.e. "
          "len(size) = {} is not equal to len(physical_layout) = {}",
          size.size(), order.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(wrap_dim(order[i], static_cast<int64_t>(size.size())));
    require(seen[d]++ == 0, ErrorCode::kInvalidArgument, "Duplicate dim not allowed");
    strides[d] = stride;
    stride *= std::max<int64_t>(size[d], 1);
  }
  return empty_strided(size, strides, dtype, layout, device, {});
}
Tensor zeros(Sizes size, Dtype dtype, const IValue& layout, OptionalDevice device, Pin) {
  check_layout(layout);
  return k::full(size, 0, or_default(dtype), device);
}
Tensor ones(Sizes size, Dtype dtype, const IValue& layout, OptionalDevice device, Pin) {
  check_layout(layout);
  return k::full(size, 1, or_default(dtype), device);
}
Tensor full(Sizes size, const Scalar& value, Dtype dtype, const IValue& layout,
            OptionalDevice device, Pin) {
  check_layout(layout);
  return k::full(size, value, dtype.value_or(k::default_dtype_of(value)), device);
}
Tensor scalar_tensor(const Scalar& value, Dtype dtype, const IValue& layout, OptionalDevice device,
                     Pin) {
  check_layout(layout);
  return k::full({}, value, or_default(dtype), device);
}

// *_like: sizes, dtype and layout of a tensor.
Tensor empty_like(const Tensor& self, Dtype dtype, const IValue& layout, OptionalDevice device, Pin,
                  Format format) {
  check_layout(layout);
  const Device where = device.value_or(self.device());
  const ScalarType type = dtype.value_or(self.dtype());
  if (where.type == DeviceType::kMeta) return k::empty_on(self.sizes(), type, where);
  k::check_device(where);
  return k::empty_like(self, type, format.value_or(MemoryFormat::kPreserve));
}
Tensor full_like(const Tensor& self, const Scalar& value, Dtype dtype, const IValue& layout,
                 OptionalDevice device, Pin pin, Format format) {
  Tensor result = empty_like(self, dtype, layout, device, pin, format);
  if (!result.is_meta()) k::fill(result, value);
  return result;
}
Tensor zeros_like(const Tensor& self, Dtype dtype, const IValue& layout, OptionalDevice device,
                  Pin pin, Format format) {
  return full_like(self, 0, dtype, layout, device, pin, format);
}
Tensor ones_like(const Tensor& self, Dtype dtype, const IValue& layout, OptionalDevice device,
                 Pin pin, Format format) {
  return full_like(self, 1, dtype, layout, device, pin, format);
}

// The number for each element of a tensor, which is not looked at: in a group no memory is filled.
kernels::PointwiseCall describe_full_like(const Tensor& self, const Scalar& value, Dtype dtype,
                                          const IValue& layout, OptionalDevice device, Pin,
                                          Format format) {
  check_layout(layout);
  require(!device || device->type == DeviceType::kCpu, ErrorCode::kInvalidArgument,
          "on another device");
  require(format.value_or(MemoryFormat::kPreserve) == MemoryFormat::kPreserve,
          ErrorCode::kInvalidArgument, "a layout is asked for");
  kernels::PointwiseOp op{Body::kIdentity};
  op.common = dtype.value_or(self.dtype());
  return {op, {value}};
}
kernels::PointwiseCall describe_zeros_like(const Tensor& self, Dtype dtype, const IValue& layout,
                                           OptionalDevice device, Pin pin, Format format) {
  return describe_full_like(self, 0, dtype, layout, device, pin, format);
}
kernels::PointwiseCall describe_ones_like(const Tensor& self, Dtype dtype, const IValue& layout,
                                          OptionalDevice device, Pin pin, Format format) {
  return describe_full_like(self, 1, dtype, layout, device, pin, format);
}

// new_*: dtype of a tensor.
Tensor new_empty(const Tensor& self, Sizes size, Dtype dtype, const IValue& layout,
                 OptionalDevice device, Pin) {
  check_layout(layout);
  return k::empty_on(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_empty_strided(const Tensor& self, Sizes size, Sizes stride, Dtype dtype,
                         const IValue& layout, OptionalDevice, Pin) {
  check_layout(layout);
  return Tensor::empty_strided(size, stride, dtype.value_or(self.dtype()));
}
Tensor new_full(const Tensor& self, Sizes size, const Scalar& value, Dtype dtype,
                const IValue& layout, OptionalDevice device, Pin) {
  check_layout(layout);
  return k::full(size, value, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_zeros(const Tensor& self, Sizes size, Dtype dtype, const IValue& layout,
                 OptionalDevice device, Pin pin) {
  return new_full(self, size, 0, dtype, layout, device, pin);
}
Tensor new_ones(const Tensor& self, Sizes size, Dtype dtype, const IValue& layout,
                OptionalDevice device, Pin pin) {
  return new_full(self, size, 1, dtype, layout, device, pin);
}

Tensor arange(const Scalar& end, Dtype dtype, const IValue& layout, OptionalDevice device, Pin) {
  check_layout(layout);
  return k::convert_to(k::arange(0, end, 1, dtype), {{}, device, {}, false});
}
Tensor arange_start(const Scalar& start, const Scalar& end, Dtype dtype, const IValue& layout,
                    OptionalDevice device, Pin) {
  check_layout(layout);
  return k::convert_to(k::arange(start, end, 1, dtype), {{}, device, {}, false});
}
Tensor arange_step(const Scalar& start, const Scalar& end, const Scalar& step, Dtype dtype,
                   const IValue& layout, OptionalDevice device, Pin) {
  check_layout(layout);
  return k::convert_to(k::arange(start, end, step, dtype), {{}, device, {}, false});
}
Tensor range(const Scalar& start, const Scalar& end, Dtype dtype, const IValue&, OptionalDevice,
             Pin) {
  return k::range_inclusive(start, end, 1, dtype);
}
Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step, Dtype dtype,
                  const IValue&, OptionalDevice, Pin) {
  return k::range_inclusive(start, end, step, dtype);
}
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, Dtype dtype, const IValue&,
                OptionalDevice, Pin) {
  return k::linspace(start, end, steps, dtype);
}
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, Dtype dtype,
                const IValue&, OptionalDevice, Pin) {
  return k::logspace(start, end, steps, base, dtype);
}
Tensor eye(int64_t n, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::eye(n, n, or_default(dtype));
}
Tensor eye_rectangular(int64_t n, int64_t m, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::eye(n, m, or_default(dtype));
}

// out= forms compute in the dtype of `out`, which stands behind the other arguments.
template <typename Make>
void make_out(OpCall& call, const Make& make) {
  IValue out = call.args.back();
  const Tensor target = out.to_tensor();
  require(target.defined(), ErrorCode::kTypeError, "the tensor to write to must not be None");
  detail::write_out(target, make(target.dtype()));
  call.results[0] = std::move(out);
}
template <int kValue>
void filled_out(OpCall& call) {
  make_out(call, [&](ScalarType dtype) {
    return k::full(detail::unbox_ints(call.args[0]), kValue, dtype);
  });
}
void full_out(OpCall& call) {
  make_out(call, [&](ScalarType dtype) {
    return k::full(detail::unbox_ints(call.args[0]), call.args[1].to_scalar(), dtype);
  });
}
void arange_out(OpCall& call) {
  make_out(call,
           [&](ScalarType dtype) { return k::arange(0, call.args[0].to_scalar(), 1, dtype); });
}
void arange_start_out(OpCall& call) {
  make_out(call, [&](ScalarType dtype) {
    return k::arange(call.args[0].to_scalar(), call.args[1].to_scalar(), call.args[2].to_scalar(),
                     dtype);
  });
}
void linspace_out(OpCall& call) {
  make_out(call, [&](ScalarType dtype) {
    return k::linspace(call.args[0].to_scalar(), call.args[1].to_scalar(), call.args[2].to_int(),
                       dtype);
  });
}
void logspace_out(OpCall& call) {
  make_out(call, [&](ScalarType dtype) {
    return k::logspace(call.args[0].to_scalar(), call.args[1].to_scalar(), call.args[2].to_int(),
                       call.args[3].to_float(), dtype);
  });
}
void eye_out(OpCall& call) {
  make_out(call, [&](ScalarType dtype) {
    return k::eye(call.args[0].to_int(), call.args[call.args.size() - 2].to_int(), dtype);
  });
}

constexpr OpRow kRows[] = {
    {"aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     boxed<&empty>, ir::kNoEffect, &shapes::filled},
    {"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, "
     "Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&empty_permuted>},
    {"aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&empty_strided>},
    {"aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&zeros>, ir::kNoEffect, &shapes::filled},
    {"aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", &filled_out<0>},
    {"aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&ones>, ir::kNoEffect, &shapes::filled},
    {"aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", &filled_out<1>},
    {"aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&full>, ir::kNoEffect, &shapes::filled},
    {"aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
     &full_out},
    {"aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&scalar_tensor>},
    {"aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     boxed_lazy<&empty_like>, ir::kNoEffect, &shapes::same},
    {"aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) "
     "-> Tensor",
     {boxed_lazy<&full_like>, &detail::PointwiseRow<&describe_full_like>::kBodyOfRow},
     ir::kNoEffect,
     &shapes::same},
    {"aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     {boxed_lazy<&zeros_like>, &detail::PointwiseRow<&describe_zeros_like>::kBodyOfRow},
     ir::kNoEffect,
     &shapes::same},
    {"aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     {boxed_lazy<&ones_like>, &detail::PointwiseRow<&describe_ones_like>::kBodyOfRow},
     ir::kNoEffect,
     &shapes::same},
    {"aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed_lazy<&new_empty>, ir::kNoEffect, &shapes::filled},
    {"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed_lazy<&new_empty_strided>},
    {"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed_lazy<&new_full>, ir::kNoEffect, &shapes::filled},
    {"aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed_lazy<&new_zeros>, ir::kNoEffect, &shapes::filled},
    {"aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed_lazy<&new_ones>, ir::kNoEffect, &shapes::filled},
    {"aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&arange>, ir::kNoEffect, &shapes::one_dimension},
    {"aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&arange_start>, ir::kNoEffect, &shapes::one_dimension},
    {"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&arange_step>, ir::kNoEffect, &shapes::one_dimension},
    {"aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     &arange_start_out},
    {"aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)", &arange_out},
    {"aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&range_step>},
    {"aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&range>},
    {"aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&linspace>},
    {"aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&linspace>},
    {"aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&linspace>},
    {"aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&linspace>},
    {"aten::linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
     &linspace_out},
    {"aten::linspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     &linspace_out},
    {"aten::linspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     &linspace_out},
    {"aten::linspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     &linspace_out},
    {"aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     boxed<&logspace>},
    {"aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     boxed<&logspace>},
    {"aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     boxed<&logspace>},
    {"aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&logspace>},
    {"aten::logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) out) "
     "-> Tensor(a!)",
     &logspace_out},
    {"aten::logspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, float base=10., *, "
     "Tensor(a!) out) -> Tensor(a!)",
     &logspace_out},
    {"aten::logspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, float base=10., *, "
     "Tensor(a!) out) -> Tensor(a!)",
     &logspace_out},
    {"aten::logspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, float base=10., *, "
     "Tensor(a!) out) -> Tensor(a!)",
     &logspace_out},
    {"aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     boxed<&eye>, ir::kNoEffect, &shapes::square},
    {"aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&eye_rectangular>, ir::kNoEffect, &shapes::square},
    {"aten::eye.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", &eye_out},
    {"aten::eye.m_out(SymInt n, SymInt m, *, Tensor(a!) out) -> Tensor(a!)", &eye_out},
};

}  // namespace

std::span<const OpRow> creation_rows() { return kRows; }

}  // namespace tierup::ops
