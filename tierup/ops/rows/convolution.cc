// Rows of convolutions.
#include "tierup/kernels/convolution/convolution.h"

#include <array>

#include "tierup/kernels/convolution/im2col.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] "
     "padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
     boxed<&kernels::conv>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConv)},
    {"aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
     "str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
     boxed<&kernels::conv_mode>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConv)},
    {"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
     "SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
     boxed<&kernels::conv>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConv)},
    {"aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, "
     "1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
     boxed<&kernels::conv_mode>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConv)},
    {"aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
     "SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
     boxed<&kernels::conv>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConv)},
    {"aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, "
     "1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
     boxed<&kernels::conv_mode>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConv)},
    {"aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
     "SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] "
     "dilation=[1]) -> Tensor",
     boxed<&kernels::conv_transpose>, ir::kNoEffect, &shapes::convolution,
     facts(OpKind::kConvTransposed)},
    {"aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
     "stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, "
     "SymInt[2] dilation=[1, 1]) -> Tensor",
     boxed<&kernels::conv_transpose>, ir::kNoEffect, &shapes::convolution,
     facts(OpKind::kConvTransposed)},
    {"aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
     "stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt "
     "groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor",
     boxed<&kernels::conv_transpose>, ir::kNoEffect, &shapes::convolution,
     facts(OpKind::kConvTransposed)},
    {"aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
     boxed<&kernels::conv_tbc>},
    {"aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
     "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> "
     "Tensor",
     boxed<&kernels::convolution>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConvolution)},
    {"aten::convolution.out(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
     "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::convolution>, ir::kNoEffect, nullptr, facts(Work::kConvolution)},
    {"aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
     "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool "
     "benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
     boxed<&kernels::convolution>, ir::kNoEffect, &shapes::convolution,
     facts(Work::kConvolution, OpKind::kConvolution)},
    {"aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
     "SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, "
     "bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor",
     boxed<&kernels::convolution>, ir::kNoEffect, nullptr, facts(Work::kConvolution)},
    {"aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str "
     "padding, SymInt[] dilation, SymInt groups) -> Tensor",
     boxed<&kernels::conv_mode>},
    {"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
     "stride) -> Tensor",
     boxed<&kernels::im2col>},
    {"aten::im2col.out(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
     "stride, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::im2col>},
    {"aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
     "padding, int[2] stride) -> Tensor",
     boxed<&kernels::col2im>},
    {"aten::col2im.out(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, "
     "int[2] padding, int[2] stride, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::col2im>},
});

}  // namespace

std::span<const OpRow> convolution_rows() { return kRows; }

}  // namespace tierup::ops
