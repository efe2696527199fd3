// Activations.
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

constexpr OpRow kRows[] = {
    TIERUP_NET_ROWS(kRelu, "relu", Body::kRelu),
    TIERUP_NET_ROWS(kSilu, "silu", Body::kSilu),
    TIERUP_NET_ROWS(kMish, "mish", Body::kMish),
    TIERUP_NET_ROWS(kHardswish, "hardswish", Body::kHardswish),
    TIERUP_NET_ROWS(kHardsigmoid, "hardsigmoid", Body::kHardsigmoid),
    TIERUP_FUNCTION_ROWS("log_sigmoid", Body::kLogSigmoid),
    {"aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
     boxed<&k::log_sigmoid_forward>},
    {"aten::log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> "
     "(Tensor(a!), Tensor(b!))",
     out_variant<&k::log_sigmoid_forward>},
    {"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", pointwise_row<&k::gelu>,
     ir::kNoEffect, nullptr, facts(OpKind::kGelu)},
    {"aten::gelu.out(Tensor self, *, str approximate=\"none\", Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::gelu>},
    {"aten::gelu_(Tensor(a!) self, *, str approximate=\"none\") -> Tensor(a!)",
     pointwise_inplace<&k::gelu>, ir::kNoEffect, nullptr, facts(OpKind::kGelu)},
    {"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     body_row<Body::kElu, Promote::kSame, 1>, ir::kNoEffect, nullptr, facts(OpKind::kElu)},
    {"aten::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kElu, Promote::kSame, 1>},
    {"aten::elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> "
     "Tensor(a!)",
     body_inplace<Body::kElu, Promote::kSame, 1>, ir::kNoEffect, nullptr, facts(OpKind::kElu)},
    {"aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", pointwise_row<&k::celu>},
    {"aten::celu.out(Tensor self, Scalar alpha=1., *, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::celu>},
    {"aten::celu_(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)", pointwise_inplace<&k::celu>},
    {"aten::selu(Tensor self) -> Tensor", pointwise_row<&k::selu>},
    {"aten::selu_(Tensor(a!) self) -> Tensor(a!)", pointwise_inplace<&k::selu>},
    {"aten::relu6(Tensor self) -> Tensor", pointwise_row<&k::relu6>, ir::kNoEffect, nullptr,
     facts(OpKind::kRelu6)},
    {"aten::relu6_(Tensor(a!) self) -> Tensor(a!)", pointwise_inplace<&k::relu6>, ir::kNoEffect,
     nullptr, facts(OpKind::kRelu6)},
    {"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     pointwise_row<&k::hardtanh>, ir::kNoEffect, nullptr, facts(OpKind::kHardtanh)},
    {"aten::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     pointwise_out<&k::hardtanh>},
    {"aten::hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)",
     pointwise_inplace<&k::hardtanh>, ir::kNoEffect, nullptr, facts(OpKind::kHardtanh)},
    {"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
     body_row<Body::kLeakyRelu, Promote::kSame, 1>, ir::kNoEffect, nullptr,
     facts(OpKind::kLeakyRelu)},
    {"aten::leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kLeakyRelu, Promote::kSame, 1>},
    {"aten::leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)",
     body_inplace<Body::kLeakyRelu, Promote::kSame, 1>, ir::kNoEffect, nullptr,
     facts(OpKind::kLeakyRelu)},
    {"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     body_row<Body::kSoftplus, Promote::kSame, 1>},
    {"aten::softplus.out(Tensor self, Scalar beta=1, Scalar threshold=20, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kSoftplus, Promote::kSame, 1>},
    {"aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", pointwise_row<&k::softshrink>},
    {"aten::softshrink.out(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::softshrink>},
    {"aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
     body_row<Body::kHardshrink, Promote::kSame, 1>},
    {"aten::hardshrink.out(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kHardshrink, Promote::kSame, 1>},
    {"aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
     body_row<Body::kThreshold, Promote::kSame, 1>},
    {"aten::threshold.out(Tensor self, Scalar threshold, Scalar value, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kThreshold, Promote::kSame, 1>},
    {"aten::threshold_(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)",
     body_inplace<Body::kThreshold, Promote::kSame, 1>},
    {"aten::prelu(Tensor self, Tensor weight) -> Tensor", pointwise_row<&k::prelu>, ir::kNoEffect,
     &shapes::same, facts(OpKind::kPrelu)},
    {"aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", pointwise_row<&k::prelu_kernel>,
     ir::kNoEffect, &shapes::broadcast},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", pointwise_row<&k::glu>, ir::kNoEffect,
     &shapes::glue, facts(OpKind::kGlu)},
    {"aten::glu.out(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::glu>},
};

}  // namespace

std::span<const OpRow> activation_rows() { return kRows; }

}  // namespace tierup::ops
