// OpKind: what an operator is to compiled nets; rows of the operator table name it.
#pragma once

#include <cstdint>

namespace tierup::kernels::net {

// What an operator of a program is; the comment gives the schema's arguments.
enum class OpKind : uint8_t {
  kNone,
  kConv,            // (input, weight, bias, stride, padding: numbers or a name, dilation, groups)
  kConvolution,     // (input, weight, bias, stride, padding, dilation, transposed, _, groups, ...)
  kConvTransposed,  // (input, weight, bias, stride, padding, output_padding, groups, dilation)
  kLinear,          // (input, weight, bias)
  kAddmm,           // (self, mat1, mat2, beta, alpha)
  kMatmul,          // (self, other)
  kBatchMatmul,     // (self, mat2)
  kBatchNorm,       // (input, weight, bias, mean, var, training, momentum, eps, _)
  kLayerNorm,       // (input, shape, weight, bias, eps, _)
  kRelu,            // (self)
  kRelu6,           // (self)
  kHardtanh,        // (self, low, high)
  kHardswish,       // (self)
  kHardsigmoid,     // (self)
  kSilu,            // (self)
  kSigmoid,         // (self)
  kTanh,            // (self)
  kGelu,            // (self, approximate)
  kLeakyRelu,       // (self, slope)
  kPrelu,           // (self, weight)
  kElu,             // (self, alpha, scale, input_scale)
  kClamp,           // (self, min, max)
  kClampMin,        // (self, min)
  kClampMax,        // (self, max)
  kSoftmax,         // (self, dim, dtype)
  kAdd,             // (self, other, alpha)
  kSub,             // (self, other, alpha)
  kRsub,            // (self, other, alpha): other - self
  kMul,             // (self, other)
  kDiv,             // (self, other)
  kGroupNorm,       // (input, groups, weight, bias, eps, _)
  kInstanceNorm,    // (input, weight, bias, mean, var, use_input_stats, momentum, eps, _)
  kPad,             // (self, pad, mode, value)
  kConstantPad,     // (self, pad, value)
  kReflectionPad,   // (self, padding)
  kReplicationPad,  // (self, padding)
  kNearest,         // (input, output_size, factors)
  kLinearResample,  // (input, output_size, align_corners, factors)
  kNearestSized,    // (input, output_size, factor of each dimension...)
  kLinearSized,     // (input, output_size, align_corners, factor of each dimension...)
  kPixelShuffle,    // (self, factor)
  kPixelUnshuffle,  // (self, factor)
  kChannelShuffle,  // (self, groups)
  kMaxPool,         // (self, kernel, stride, padding, dilation, ceil_mode)
  kMaxPool1d,
  kMaxPool3d,
  kAvgPool,  // (self, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
  kAvgPool1d,
  kAvgPool3d,
  kAdaptivePool,  // (self, output_size)
  kAdaptivePool1d,
  kAdaptivePool3d,
  kAdaptiveMax,  // (self, output_size); the places are not asked for.
  kMean,         // (self, dims, keepdim, dtype)
  kNorm,         // (self, order, dims, keepdim, dtype): of vectors.
  kLargest,      // (self, dims, keepdim); the place is not asked for.
  kRsqrt,        // (self), as the next three
  kSqrt,
  kReciprocal,
  kMish,
  kNeg,         // (self)
  kRmsNorm,     // (input, shape, weight, eps)
  kFlatten,     // (self, start, end)
  kView,        // (self, sizes)
  kPermute,     // (self, dims)
  kTranspose,   // (self, dim0, dim1)
  kUnsqueeze,   // (self, dim)
  kSqueeze,     // (self, dim or dims)
  kUnflatten,   // (self, dim, sizes)
  kSlice,       // (self, dim, start, end, step)
  kSelect,      // (self, dim, index)
  kExpand,      // (self, sizes, _)
  kExpandAs,    // (self, other)
  kContiguous,  // (self, memory_format)
  kTo,          // (self, dtype, non_blocking, copy, memory_format)
  kDropout,     // (self, p, train)
  kAttention,   // (query, key, value, mask, dropout_p, is_causal, scale, enable_gqa)
  kMultiHead,   // (query, key, value, embed, heads, qkv_w, qkv_b, proj_w, proj_b, mask, ...)
  // (src, embed, heads, qkv_w, qkv_b, proj_w, proj_b, use_gelu, norm_first, eps, weight and bias of
  // the norms and of the linear layers, mask, mask_type)
  kEncoderLayer,
  kSplit,       // (self, sizes, dim): one output per item of a list that is unpacked.
  kChunk,       // (self, chunks, dim): as kSplit.
  kUnbind,      // (self, dim): as kSplit, without the dimension.
  kGlu,         // (self, dim)
  kMaskedFill,  // (self, mask, value)
  kCat,         // (tensors, dim)
  kRoll,        // (self, shifts, dims)
  kPower,       // (self, exponent)
  // Other forms of the same.
  kSelf,          // (self, memory_format): the tensor itself.
  kLike,          // (self, other, non_blocking, copy, memory_format): of the other's dtype.
  kMovedim,       // (self, source, destination)
  kTurnMatrix,    // (self)
  kTurnMatrices,  // (self)
  kNarrow,        // (self, dim, start, length)
  kViewAs,        // (self, other)
  kRavel,         // (self)
  kSqueezeAll,    // (self)
  kStack,         // (tensors, dim)
  kStackColumns,  // (tensors)
  kStackRows,     // (tensors)
  kRepeat,        // (self, counts)
  kTile,          // (self, counts)
  kRepeatEach,    // (self, count, dim, output_size)
  kFlip,          // (self, dims)
  kSum,           // (self, dims, keepdim, dtype)
  kPointwise,     // Any other body of float32: see Op::pointwise, which others may have, too.
  // Numbers that follow from sizes; known when a program is compiled, computed by the twin.
  kSizeOf,  // (self, dim)
  kSame,    // (number): the number itself, as tensor or back.
  kList,    // (numbers...): a list of them.
  kIntAdd,  // (int, int), as the next three.
  kIntSub,
  kIntMul,
  kIntFloorDiv,
  // (tensors...): a list of them, which members alone read.
  kTensors,
};

}  // namespace tierup::kernels::net
