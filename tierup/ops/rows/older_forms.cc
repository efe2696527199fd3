// Operators that older archives, traces and functionalised programs have where others have the
// usual ones.
#include <algorithm>
#include <array>

#include "tierup/kernels/convolution/convolution.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/indexing/embedding.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/shape/cat.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/factory_arguments.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

template <ScalarType kType>
Tensor cast_to(const Tensor& self, bool) {
  return k::convert_to(self, {kType, {}, {}, false});
}

Tensor relu_of_sum(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return k::evaluate(k::clamp(k::evaluate(k::add(self, other, alpha)), Scalar(0), std::nullopt));
}
Tensor relu_of_sum_number(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return k::evaluate(k::clamp(k::evaluate(k::add(self, other, alpha)), Scalar(0), std::nullopt));
}
Tensor activated_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                       const Scalar& beta, const Scalar& alpha, bool use_gelu) {
  const Tensor product = k::addmm(self, mat1, mat2, beta, alpha);
  if (use_gelu) return k::evaluate(k::gelu(product, "none"));
  return k::evaluate(k::clamp(product, Scalar(0), std::nullopt));
}

Tensor positions(const Tensor& like, int64_t dim) {
  const Tensor out = Tensor::empty(IntVector{like.size(dim)}, ScalarType::kLong);
  for (int64_t i = 0; i < out.numel(); ++i) out.data<int64_t>()[i] = i;
  return out;
}
Tensor flattened(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> flat;
  for (const Tensor& tensor : tensors) flat.push_back(k::reshape(tensor, IntVector{-1}));
  return k::cat(flat, 0);
}
std::vector<Tensor> unflattened(const Tensor& flat, const std::vector<Tensor>& tensors) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    parts.push_back(k::view(k::narrow(flat, 0, start, tensor.numel()),
                            IntVector(tensor.sizes().begin(), tensor.sizes().end())));
    start += tensor.numel();
  }
  return parts;
}
Tensor reshaped_by(const Tensor& self, const Tensor& shape) {
  const Tensor sizes = k::contiguous(k::to_dtype(shape, ScalarType::kLong));
  const int64_t* data = sizes.data<int64_t>();
  return k::reshape(self, IntVector(data, data + sizes.numel()));
}
Tensor with_trailing_ones(const Tensor& self, int64_t rank) {
  require(rank >= 2 && rank <= 64 && self.dim() == 1, ErrorCode::kInvalidArgument,
          "_ncf_unsqueeze: expected a vector and 2 to 64 dimensions");
  IntVector sizes(static_cast<size_t>(rank), 1);
  sizes[1] = self.size(0);
  return k::view(self, sizes);
}

// The same elements as far as there are any, in the new shape.
Tensor resize_(RunContext& context, const Tensor& self, const IntVector& size, Format format) {
  const bool is_recorded = context.tape != nullptr && context.policy.grad_mode;
  require(!(is_recorded && self.requires_grad()), ErrorCode::kInvalidArgument,
          "cannot resize variables that require grad");
  const MemoryFormat wanted = format.value_or(MemoryFormat::kContiguous);
  require(wanted != MemoryFormat::kPreserve, ErrorCode::kUnsupported,
          "Unsupported memory format preserve_format");
  const int64_t count = numel_of(size) + self.offset();
  const size_t bytes = static_cast<size_t>(count) * self.item_size();
  if (self.storage()->bytes() < bytes) self.storage()->resize(bytes);
  const IntVector strides = strides_for(size, wanted);
  self.set_geometry(size, strides, self.offset());
  self.bump_version();
  return self;
}
Tensor resize_as_(RunContext& context, const Tensor& self, const Tensor& other, Format format) {
  if (format == MemoryFormat::kPreserve) format = other.suggest_memory_format();
  return resize_(context, self, IntVector(other.sizes().begin(), other.sizes().end()), format);
}

// Convolutions named after the algorithm that once ran them.
Tensor plain_convolution(const Tensor& self, const Tensor& weight, const IntVector&,
                         const Tensor& bias, const IntVector& stride, const IntVector& padding) {
  return k::conv(self, weight, bias, stride, padding, IntVector{1}, 1);
}
Tensor dilated_convolution(const Tensor& self, const Tensor& weight, const IntVector&,
                           const Tensor& bias, const IntVector& stride, const IntVector& padding,
                           const IntVector& dilation) {
  return k::conv(self, weight, bias, stride, padding, dilation, 1);
}
Tensor depthwise_convolution(const Tensor& self, const Tensor& weight, const IntVector&,
                             const Tensor& bias, const IntVector& stride, const IntVector& padding,
                             const IntVector& dilation) {
  return k::conv(self, weight, bias, stride, padding, dilation, weight.size(0));
}
Tensor transposed_convolution(const Tensor& self, const Tensor& weight, const IntVector&,
                              const Tensor& bias, const IntVector& stride, const IntVector& padding,
                              const IntVector& output_padding, const IntVector& dilation) {
  return k::conv_transpose(self, weight, bias, stride, padding, output_padding, 1, dilation);
}

Tensor fill_number(const Tensor& self, double value) { return k::fill_(self, Scalar(value)); }
Tensor fill_zero(const Tensor& self) { return k::fill_(self, Scalar(0)); }
Tensor itself(const Tensor& self) { return self; }

#define TIERUP_CAST(name, type)                                             \
  {                                                                         \
    "aten::_cast_" name "(Tensor self, bool non_blocking=False) -> Tensor", \
        boxed<&cast_to<ScalarType::type>>                                   \
  }
#define TIERUP_SLOW_CONVOLUTION(name, n, kernel)                  \
  {                                                               \
    "aten::" name "(Tensor self, Tensor weight, SymInt[" n        \
    "] kernel_size, Tensor? bias=None, "                          \
    "SymInt[" n "] stride=1, SymInt[" n "] padding=0) -> Tensor", \
        boxed<&kernel>                                            \
  }
#define TIERUP_DILATED_CONVOLUTION(name, n)                                                 \
  {                                                                                         \
    "aten::" name "(Tensor self, Tensor weight, SymInt[" n                                  \
    "] kernel_size, Tensor? bias=None, "                                                    \
    "SymInt[" n "] stride=1, SymInt[" n "] padding=0, SymInt[" n "] dilation=1) -> Tensor", \
        boxed<&dilated_convolution>                                                         \
  }
#define TIERUP_TRANSPOSED_CONVOLUTION(name, n)                                                   \
  {                                                                                              \
    "aten::" name "(Tensor self, Tensor weight, SymInt[" n                                       \
    "] kernel_size, Tensor? bias=None, "                                                         \
    "SymInt[" n "] stride=1, SymInt[" n "] padding=0, SymInt[" n "] output_padding=0, SymInt[" n \
    "] dilation=1) -> Tensor",                                                                   \
        boxed<&transposed_convolution>                                                           \
  }
#define TIERUP_DEPTHWISE_CONVOLUTION(name, n)                                             \
  {                                                                                       \
    "aten::" name "(Tensor self, Tensor weight, SymInt[" n                                \
    "] kernel_size, Tensor? bias, SymInt[" n "] stride, SymInt[" n "] padding, SymInt[" n \
    "] dilation) -> Tensor",                                                              \
        boxed<&depthwise_convolution>                                                     \
  }

constexpr auto kRows = std::to_array<OpRow>({
    TIERUP_CAST("Byte", kByte),
    TIERUP_CAST("Char", kChar),
    TIERUP_CAST("Double", kDouble),
    TIERUP_CAST("Float", kFloat),
    TIERUP_CAST("Half", kHalf),
    TIERUP_CAST("Int", kInt),
    TIERUP_CAST("Long", kLong),
    TIERUP_CAST("Short", kShort),
    TIERUP_SLOW_CONVOLUTION("thnn_conv2d", "2", plain_convolution),
    TIERUP_SLOW_CONVOLUTION("slow_conv3d", "3", plain_convolution),
    TIERUP_DILATED_CONVOLUTION("slow_conv_dilated2d", "2"),
    TIERUP_DILATED_CONVOLUTION("slow_conv_dilated3d", "3"),
    TIERUP_TRANSPOSED_CONVOLUTION("slow_conv_transpose2d", "2"),
    TIERUP_TRANSPOSED_CONVOLUTION("slow_conv_transpose3d", "3"),
    TIERUP_DEPTHWISE_CONVOLUTION("_conv_depthwise2d", "2"),
    TIERUP_DEPTHWISE_CONVOLUTION("conv_depthwise3d", "3"),
    {"aten::_slow_conv2d_forward(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, "
     "SymInt[2] stride, SymInt[2] padding) -> Tensor",
     boxed<&plain_convolution>},
    {"aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     boxed<&relu_of_sum>},
    {"aten::_add_relu.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&relu_of_sum>},
    {"aten::_add_relu_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
     inplace<&relu_of_sum>},
    {"aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     boxed<&relu_of_sum_number>},
    {"aten::_add_relu_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
     inplace<&relu_of_sum_number>},
    {"aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
     "alpha=1, bool use_gelu=False) -> Tensor",
     boxed<&activated_addmm>},
    {"aten::_dim_arange(Tensor like, int dim) -> Tensor", boxed<&positions>},
    {"aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", boxed<&k::stack>},
    {"aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor", boxed<&flattened>},
    {"aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]",
     boxed<&unflattened>},
    {"aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor", boxed<&reshaped_by>},
    {"aten::_ncf_unsqueeze(Tensor(a) self, int ndim) -> Tensor(a)", boxed<&with_trailing_ones>},
    {"aten::_no_grad_fill_(Tensor(a!) tensor, float val) -> Tensor(a!)", boxed<&fill_number>},
    {"aten::_no_grad_zero_(Tensor(a!) tensor) -> Tensor(a!)", boxed<&fill_zero>},
    {"aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> "
     "Tensor",
     boxed<&k::embedding_renorm>},
    {"aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
     "Tensor(a!)",
     boxed<&resize_>, ir::kNoEffect, nullptr, facts(Geometry::kChanged)},
    {"aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) "
     "-> Tensor(a!)",
     boxed<&resize_as_>, ir::kNoEffect, nullptr, facts(Geometry::kChanged)},
    {"aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", boxed<&itself>},
});

}  // namespace

std::span<const OpRow> older_forms_rows() { return kRows; }

}  // namespace tierup::ops
