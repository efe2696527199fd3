// What is to be known of the kinds of operators in compiled nets.
#include "tierup/ops/regions/neural_net.h"

#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/net/panel_convolution.h"

namespace tierup::ops {
namespace {

using kernels::net::OpKind;

constexpr uint32_t bits(std::initializer_list<int> places) {
  uint32_t result = 0;
  for (const int place : places) result |= 1U << static_cast<uint32_t>(place);
  return result;
}

}  // namespace

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
    case OpKind::kSum:
    case OpKind::kRepeatEach:
    case OpKind::kMean: return bits({1, 2, 3});
    case OpKind::kNorm: return bits({1, 2, 3, 4});
    case OpKind::kSlice: return bits({1, 4});
    case OpKind::kMaskedFill: return bits({2});
    case OpKind::kTo: return bits({1, 2, 3, 4});
    case OpKind::kLike: return bits({2, 3, 4});
    case OpKind::kRsub:
    case OpKind::kMovedim:
    case OpKind::kRoll:
    case OpKind::kLargest:
    case OpKind::kClamp:
    case OpKind::kSoftmax:
    case OpKind::kChunk: return bits({1, 2});
    case OpKind::kGroupNorm: return bits({1, 2, 3, 4});
    case OpKind::kInstanceNorm: return bits({1, 2, 3, 4, 5, 6, 7});
    // What is padded by numbers that follow from sizes is often no plane.
    case OpKind::kPad: return bits({1, 2, 3});
    case OpKind::kLinearResample: return bits({2, 3});
    case OpKind::kNearestSized:
    case OpKind::kLinearSized: return bits({2, 3, 4});
    case OpKind::kConstantPad:
    case OpKind::kNearest: return bits({2});
    case OpKind::kPixelShuffle:
    case OpKind::kPixelUnshuffle:
    case OpKind::kChannelShuffle:
    case OpKind::kCat:
    case OpKind::kStack:
    case OpKind::kSelf:
    case OpKind::kNarrow:
    case OpKind::kFlip:
    case OpKind::kLeakyRelu:
    case OpKind::kClampMin:
    case OpKind::kClampMax:
    case OpKind::kPrelu:
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

bool gives_parts(OpKind kind) {
  return kind == OpKind::kSplit || kind == OpKind::kChunk || kind == OpKind::kUnbind;
}

OpKind net_kind(const Op& op) {
  const bool is_other_body = op.facts().net == OpKind::kNone && op.body() != nullptr;
  return is_other_body ? OpKind::kPointwise : op.facts().net;
}

std::optional<kernels::net::Pointwise> net_pointwise(
    const Op& op, const std::vector<MeaningArgument>& arguments) {
  if (op.body() == nullptr) return std::nullopt;
  const PointwiseMeaning meaning = meaning_of(op, arguments);
  if (meaning.refusal || meaning.common != ScalarType::kFloat || meaning.result != ValueForm{})
    return std::nullopt;
  kernels::net::Pointwise result{meaning.body, {}};
  for (const auto& operand : meaning.operands) {
    if (const auto* index = std::get_if<size_t>(&operand)) {
      result.operands.emplace_back(*index);
    } else {
      result.operands.emplace_back(static_cast<float>(std::get<Scalar>(operand).to_double()));
    }
  }
  return result;
}

bool takes_list(OpKind kind) {
  return kind == OpKind::kCat || kind == OpKind::kStack || kind == OpKind::kStackColumns ||
         kind == OpKind::kStackRows;
}

bool stands_between(OpKind kind) {
  switch (kind) {
    case OpKind::kPointwise:
    case OpKind::kStack:
    case OpKind::kStackColumns:
    case OpKind::kStackRows:
    case OpKind::kRepeat:
    case OpKind::kTile:
    case OpKind::kRepeatEach:
    case OpKind::kFlip:
    case OpKind::kSum: return true;
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

bool is_stencil_of_planes(IntSpan image, IntSpan weight) {
  return image.size() == weight.size() && weight.size() > 2 && weight[1] == 1 &&
         kernels::net::is_stencil_of_planes(image[1], weight[0], image[1]);
}

}  // namespace tierup::ops
