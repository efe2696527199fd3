// Rows of pooling over windows.
#include <array>

#include "tierup/kernels/pooling/avg_pool.h"
#include "tierup/kernels/pooling/max_pool.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

constexpr auto kRows = std::to_array<OpRow>({
    {"aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
     "int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
     boxed<&kernels::max_pool<1>>, ir::kNoEffect, &shapes::pool, facts(OpKind::kMaxPool1d)},
    {"aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
     "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
     boxed<&kernels::max_pool_with_indices<1>>, ir::kNoEffect, &shapes::pool},
    {"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
     "dilation=1, bool ceil_mode=False) -> Tensor",
     boxed<&kernels::max_pool<2>>, ir::kNoEffect, &shapes::pool, facts(OpKind::kMaxPool)},
    {"aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
     "padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     boxed<&kernels::max_pool_with_indices<2>>, ir::kNoEffect, &shapes::pool},
    {"aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
     "padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) "
     "-> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::max_pool_with_indices<2>>},
    {"aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
     "int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
     boxed<&kernels::max_pool2d_backward>},
    {"aten::max_pool2d_with_indices_backward.grad_input(Tensor grad_output, Tensor self, int[2] "
     "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices, "
     "*, Tensor(a!) grad_input) -> Tensor(a!)",
     out_variant<&kernels::max_pool2d_backward>},
    {"aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
     "dilation=1, bool ceil_mode=False) -> Tensor",
     boxed<&kernels::max_pool<3>>, ir::kNoEffect, &shapes::pool, facts(OpKind::kMaxPool3d)},
    {"aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
     "padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     boxed<&kernels::max_pool_with_indices<3>>, ir::kNoEffect, &shapes::pool},
    {"aten::max_pool3d_with_indices.out(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
     "padding=0, int[3] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) "
     "-> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::max_pool_with_indices<3>>},
    {"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool "
     "ceil_mode=False, bool count_include_pad=True) -> Tensor",
     boxed<&kernels::avg_pool1d>, ir::kNoEffect, &shapes::pool, facts(OpKind::kAvgPool1d)},
    {"aten::avg_pool1d.out(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
     "bool ceil_mode=False, bool count_include_pad=True, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::avg_pool1d>},
    {"aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     boxed<&kernels::avg_pool<2>>, ir::kNoEffect, &shapes::pool, facts(OpKind::kAvgPool)},
    {"aten::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&kernels::avg_pool<2>>},
    {"aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     boxed<&kernels::avg_pool<3>>, ir::kNoEffect, &shapes::pool, facts(OpKind::kAvgPool3d)},
    {"aten::avg_pool3d.out(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&kernels::avg_pool<3>>},
    {"aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     boxed<&kernels::adaptive_avg_pool_or_mean<1>>, ir::kNoEffect, &shapes::adaptive_pool,
     facts(OpKind::kAdaptivePool1d)},
    {"aten::adaptive_avg_pool1d.out(Tensor self, int[1] output_size, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::adaptive_avg_pool<1>>},
    {"aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     boxed<&kernels::adaptive_avg_pool_or_mean<2>>, ir::kNoEffect, &shapes::adaptive_pool,
     facts(OpKind::kAdaptivePool)},
    {"aten::adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::adaptive_avg_pool<2>>},
    {"aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     boxed<&kernels::adaptive_avg_pool<2>>, ir::kNoEffect, &shapes::adaptive_pool},
    {"aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::adaptive_avg_pool<2>>},
    {"aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     boxed<&kernels::adaptive_avg_pool_or_mean<3>>, ir::kNoEffect, &shapes::adaptive_pool,
     facts(OpKind::kAdaptivePool3d)},
    {"aten::adaptive_avg_pool3d.out(Tensor self, SymInt[3] output_size, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::adaptive_avg_pool<3>>},
    {"aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     boxed<&kernels::adaptive_avg_pool<3>>, ir::kNoEffect, &shapes::adaptive_pool},
    {"aten::_adaptive_avg_pool3d.out(Tensor self, SymInt[3] output_size, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&kernels::adaptive_avg_pool<3>>},
    {"aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
     boxed<&kernels::adaptive_max_pool<1>>, ir::kNoEffect, &shapes::adaptive_pool,
     facts(OpKind::kAdaptiveMax)},
    {"aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     boxed<&kernels::adaptive_max_pool<2>>, ir::kNoEffect, &shapes::adaptive_pool,
     facts(OpKind::kAdaptiveMax)},
    {"aten::adaptive_max_pool2d.out(Tensor self, int[2] output_size, *, Tensor(a!) out, Tensor(b!) "
     "indices) -> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::adaptive_max_pool<2>>},
    {"aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     boxed<&kernels::adaptive_max_pool<3>>, ir::kNoEffect, &shapes::adaptive_pool},
    {"aten::adaptive_max_pool3d.out(Tensor self, int[3] output_size, *, Tensor(a!) out, Tensor(b!) "
     "indices) -> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::adaptive_max_pool<3>>},
    {"aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor "
     "random_samples) -> (Tensor, Tensor)",
     boxed<&kernels::fractional_max_pool<2>>},
    {"aten::fractional_max_pool2d.output(Tensor self, int[2] kernel_size, int[2] output_size, "
     "Tensor random_samples, *, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::fractional_max_pool<2>>},
    {"aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor "
     "random_samples) -> (Tensor, Tensor)",
     boxed<&kernels::fractional_max_pool<3>>},
    {"aten::fractional_max_pool3d.output(Tensor self, int[3] kernel_size, int[3] output_size, "
     "Tensor random_samples, *, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
     out_variant<&kernels::fractional_max_pool<3>>},
    {"aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
     boxed<&kernels::max_unpool2d>},
    {"aten::max_unpool2d.out(Tensor self, Tensor indices, SymInt[2] output_size, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&kernels::max_unpool2d>},
    {"aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] "
     "padding) -> Tensor",
     boxed<&kernels::max_unpool3d>},
    {"aten::max_unpool3d.out(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "
     "int[3] padding, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&kernels::max_unpool3d>},
});

}  // namespace

std::span<const OpRow> pooling_rows() { return kRows; }

}  // namespace tierup::ops
