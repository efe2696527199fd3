// The one table of what operators are to compiled nets, sorted by name.
#include <algorithm>
#include <string>

#include "tierup/ops/regions/neural_net.h"

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::ops {
namespace {

using kernels::net::OpKind;

struct NamedKind {
  std::string_view name;
  OpKind kind;
};
constexpr auto kKinds = std::to_array<NamedKind>({
    {"aten::Int.Tensor", OpKind::kSame},
    {"aten::_convolution", OpKind::kConvolution},
    {"aten::_native_multi_head_attention", OpKind::kMultiHead},
    {"aten::_softmax", OpKind::kSoftmax},
    {"aten::_transformer_encoder_layer_fwd", OpKind::kEncoderLayer},
    {"aten::adaptive_avg_pool1d", OpKind::kAdaptivePool1d},
    {"aten::adaptive_avg_pool2d", OpKind::kAdaptivePool},
    {"aten::adaptive_max_pool1d", OpKind::kAdaptiveMax},
    {"aten::adaptive_max_pool2d", OpKind::kAdaptiveMax},
    {"aten::add.Scalar", OpKind::kAdd},
    {"aten::add.Tensor", OpKind::kAdd},
    {"aten::add.int", OpKind::kIntAdd},
    {"aten::addmm", OpKind::kAddmm},
    {"aten::amax", OpKind::kLargest},
    {"aten::avg_pool1d", OpKind::kAvgPool1d},
    {"aten::avg_pool2d", OpKind::kAvgPool},
    {"aten::batch_norm", OpKind::kBatchNorm},
    {"aten::bmm", OpKind::kBatchMatmul},
    {"aten::cat", OpKind::kCat},
    {"aten::chunk", OpKind::kChunk},
    {"aten::clamp", OpKind::kClamp},
    {"aten::contiguous", OpKind::kContiguous},
    {"aten::conv1d", OpKind::kConv},
    {"aten::conv1d.padding", OpKind::kConv},
    {"aten::conv2d", OpKind::kConv},
    {"aten::conv2d.padding", OpKind::kConv},
    {"aten::conv3d", OpKind::kConv},
    {"aten::conv3d.padding", OpKind::kConv},
    {"aten::conv_transpose1d", OpKind::kConvTransposed},
    {"aten::conv_transpose2d.input", OpKind::kConvTransposed},
    {"aten::convolution", OpKind::kConvolution},
    {"aten::div.Scalar", OpKind::kDiv},
    {"aten::div.Tensor", OpKind::kDiv},
    {"aten::dropout", OpKind::kDropout},
    {"aten::elu", OpKind::kElu},
    {"aten::expand", OpKind::kExpand},
    {"aten::flatten.using_ints", OpKind::kFlatten},
    {"aten::floor_divide", OpKind::kIntFloorDiv},
    {"aten::floordiv.int", OpKind::kIntFloorDiv},
    {"aten::gelu", OpKind::kGelu},
    {"aten::glu", OpKind::kGlu},
    {"aten::hardsigmoid", OpKind::kHardsigmoid},
    {"aten::hardswish", OpKind::kHardswish},
    {"aten::hardtanh", OpKind::kHardtanh},
    {"aten::layer_norm", OpKind::kLayerNorm},
    {"aten::leaky_relu", OpKind::kLeakyRelu},
    {"aten::linear", OpKind::kLinear},
    {"aten::masked_fill.Scalar", OpKind::kMaskedFill},
    {"aten::matmul", OpKind::kMatmul},
    {"aten::max.dim", OpKind::kLargest},
    {"aten::max_pool1d", OpKind::kMaxPool1d},
    {"aten::max_pool2d", OpKind::kMaxPool},
    {"aten::mean.dim", OpKind::kMean},
    {"aten::mul.Scalar", OpKind::kMul},
    {"aten::mul.Tensor", OpKind::kMul},
    {"aten::mul.int", OpKind::kIntMul},
    {"aten::neg", OpKind::kNeg},
    {"aten::permute", OpKind::kPermute},
    {"aten::pow.Tensor_Scalar", OpKind::kPower},
    {"aten::relu", OpKind::kRelu},
    {"aten::relu6", OpKind::kRelu6},
    {"aten::reshape", OpKind::kView},
    {"aten::rms_norm", OpKind::kRmsNorm},
    {"aten::rsqrt", OpKind::kRsqrt},
    {"aten::scaled_dot_product_attention", OpKind::kAttention},
    {"aten::select.int", OpKind::kSelect},
    {"aten::sigmoid", OpKind::kSigmoid},
    {"aten::silu", OpKind::kSilu},
    {"aten::size.int", OpKind::kSizeOf},
    {"aten::slice.Tensor", OpKind::kSlice},
    {"aten::softmax.int", OpKind::kSoftmax},
    {"aten::split.Tensor", OpKind::kSplit},
    {"aten::split_with_sizes", OpKind::kSplit},
    {"aten::squeeze.dim", OpKind::kSqueeze},
    {"aten::sub.Scalar", OpKind::kSub},
    {"aten::sub.Tensor", OpKind::kSub},
    {"aten::sub.int", OpKind::kIntSub},
    {"aten::tanh", OpKind::kTanh},
    {"aten::to.dtype", OpKind::kTo},
    {"aten::transpose.int", OpKind::kTranspose},
    {"aten::unbind.int", OpKind::kUnbind},
    {"aten::unflatten.int", OpKind::kUnflatten},
    {"aten::unsqueeze", OpKind::kUnsqueeze},
    {"aten::view", OpKind::kView},
    {"prim::NumToTensor.Scalar", OpKind::kSame},
});
static_assert(std::is_sorted(kKinds.begin(), kKinds.end(),
                             [](const NamedKind& a, const NamedKind& b) {
                               return a.name < b.name;
                             }));

constexpr uint32_t bits(std::initializer_list<int> places) {
  uint32_t result = 0;
  for (const int place : places) result |= 1U << static_cast<uint32_t>(place);
  return result;
}

}  // namespace

OpKind net_kind(std::string_view qualified_name) {
  const auto found = std::lower_bound(
      kKinds.begin(), kKinds.end(), qualified_name,
      [](const NamedKind& entry, std::string_view name) { return entry.name < name; });
  return found != kKinds.end() && found->name == qualified_name ? found->kind : OpKind::kNone;
}

std::string_view net_kind_name(OpKind kind) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const NamedKind& entry) { return entry.kind == kind; });
  return found == kKinds.end() ? std::string_view("a number or list") : found->name;
}

std::string_view net_kind_text(OpKind kind) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [&](const NamedKind& entry) { return entry.kind == kind; });
  if (found == kKinds.end()) return "list";
  const std::string_view name = found->name.substr(found->name.find("::") + 2);
  return name.substr(0, name.find('.'));
}

OpKind net_kind_of(const ir::Operator& op) {
  const ir::Schema& schema = op.schema();
  std::string name = schema.name;
  if (name.ends_with('_')) name.pop_back();
  if (!schema.overload.empty()) name += "." + schema.overload;
  return net_kind(name);
}

uint32_t constant_arguments(OpKind kind) {
  switch (kind) {
    case OpKind::kConv: return bits({1, 2, 3, 4, 5, 6});
    case OpKind::kConvolution: return bits({1, 2, 3, 4, 5, 6, 7, 8});
    case OpKind::kConvTransposed: return bits({1, 2, 3, 4, 5, 6, 7});
    case OpKind::kLinear: return bits({1, 2});
    case OpKind::kAddmm: return bits({0, 2, 3, 4});
    case OpKind::kBatchNorm: return bits({1, 2, 3, 4, 5, 6, 7, 8});
    case OpKind::kLayerNorm: return bits({1, 2, 3, 4});
    case OpKind::kMultiHead: return bits({3, 4, 5, 6, 7, 8, 10, 11, 12});
    case OpKind::kEncoderLayer:
      return bits({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19});
    case OpKind::kDropout: return bits({1, 2});
    case OpKind::kElu:
    case OpKind::kRmsNorm:
    case OpKind::kMean: return bits({1, 2, 3});
    case OpKind::kSlice: return bits({1, 4});
    case OpKind::kMaskedFill: return bits({2});
    case OpKind::kTo: return bits({1, 2, 3, 4});
    case OpKind::kLargest:
    case OpKind::kClamp:
    case OpKind::kSoftmax:
    case OpKind::kChunk: return bits({1, 2});
    case OpKind::kCat:
    case OpKind::kDiv:
    case OpKind::kLeakyRelu:
    case OpKind::kPower:
    case OpKind::kGelu: return bits({1});
    default: return 0;
  }
}

bool gives_no_tensor(OpKind kind) {
  switch (kind) {
    case OpKind::kSizeOf:
    case OpKind::kSame:
    case OpKind::kList:
    case OpKind::kIntAdd:
    case OpKind::kIntSub:
    case OpKind::kIntMul:
    case OpKind::kIntFloorDiv:
    case OpKind::kTensors: return true;
    default: return false;
  }
}

bool is_heavy(OpKind kind) {
  switch (kind) {
    case OpKind::kConv:
    case OpKind::kConvolution:
    case OpKind::kConvTransposed:
    case OpKind::kLinear:
    case OpKind::kAddmm:
    case OpKind::kMatmul:
    case OpKind::kMultiHead:
    case OpKind::kEncoderLayer: return true;
    default: return false;
  }
}

bool is_small_product(IntSpan left, IntSpan right) {
  if (left.size() < 2 || right.size() < 2) return false;
  const int64_t rows = left[left.size() - 2];
  return kernels::is_small_product(rows, left.back(), right.back());
}

}  // namespace tierup::ops
