// Program: a straight line of tensor operators that is to be compiled as a whole.
//
// A pass (passes/fuse/neural_regions.cc) cuts such lines out of a graph: convolutions, linear
// layers and what stands between them. Operators keep their arguments as the schema orders them;
// each is a value of the line or a constant. Everything here is pure: what was in place in the
// graph has a new value here. A program is constant after it was made.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/kernels/net/net_refusal.h"
#include "tierup/tensor/ivalue.h"

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
  kElu,             // (self, alpha, scale, input_scale)
  kClamp,           // (self, min, max)
  kSoftmax,         // (self, dim, dtype)
  kAdd,             // (self, other, alpha)
  kSub,             // (self, other, alpha)
  kMul,             // (self, other)
  kDiv,             // (self, other)
  kMaxPool,         // (self, kernel, stride, padding, dilation, ceil_mode)
  kMaxPool1d,
  kAvgPool,  // (self, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
  kAvgPool1d,
  kAdaptivePool,  // (self, output_size)
  kAdaptivePool1d,
  kAdaptiveMax,  // (self, output_size); the places are not asked for.
  kMean,         // (self, dims, keepdim, dtype)
  kLargest,      // (self, dims, keepdim); the place is not asked for.
  kRsqrt,        // (self)
  kNeg,          // (self)
  kRmsNorm,      // (input, shape, weight, eps)
  kFlatten,      // (self, start, end)
  kView,         // (self, sizes)
  kPermute,      // (self, dims)
  kTranspose,    // (self, dim0, dim1)
  kUnsqueeze,    // (self, dim)
  kSqueeze,      // (self, dim)
  kUnflatten,    // (self, dim, sizes)
  kSlice,        // (self, dim, start, end, step)
  kSelect,       // (self, dim, index)
  kExpand,       // (self, sizes, _)
  kContiguous,   // (self, memory_format)
  kTo,           // (self, dtype, non_blocking, copy, memory_format)
  kDropout,      // (self, p, train)
  kAttention,    // (query, key, value, mask, dropout_p, is_causal, scale, enable_gqa)
  kMultiHead,    // (query, key, value, embed, heads, qkv_w, qkv_b, proj_w, proj_b, mask, ...)
  // (src, embed, heads, qkv_w, qkv_b, proj_w, proj_b, use_gelu, norm_first, eps, weight and bias of
  // the norms and of the linear layers, mask, mask_type)
  kEncoderLayer,
  kSplit,       // (self, sizes, dim): one output per item of a list that is unpacked.
  kChunk,       // (self, chunks, dim): as kSplit.
  kUnbind,      // (self, dim): as kSplit, without the dimension.
  kGlu,         // (self, dim)
  kMaskedFill,  // (self, mask, value)
  kCat,         // (tensors, dim)
  kPower,       // (self, exponent)
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

struct Arg {
  int value = -1;  // A value of the program; negative: the constant.
  IValue constant;
  bool is_value() const { return value >= 0; }
};

struct Op {
  OpKind kind = OpKind::kNone;
  bool keeps_shape = false;  // Was in place: the result must have the first argument's geometry.
  std::vector<Arg> args;
  size_t result_count = 1;  // Of the operator's schema.
  std::vector<int> outputs;
  std::vector<int> last_reads;  // Values that no later operator reads and that are no outputs.
};

// Something that no net does.
class NotCompiled final : public Error {
 public:
  explicit NotCompiled(NetRefusal reason)
      : Error(ErrorCode::kUnsupported, std::string(refusal_text(reason))), reason_(reason) {}
  NetRefusal reason() const { return reason_; }

 private:
  NetRefusal reason_;
};
inline void require_compiled(bool condition, NetRefusal reason) {
  if (!condition) throw NotCompiled(reason);
}

// Why a program is not compiled for some inputs, and the operator of it that is at fault.
class Refused final : public Error {
 public:
  Refused(size_t operation, NetRefusal reason, std::string detail = {})
      : Error(ErrorCode::kUnsupported,
              fmt::format("operator {} of the line: {}", operation, refusal_text(reason))),
        operation_(operation),
        reason_(reason),
        detail_(std::move(detail)) {}
  size_t operation() const { return operation_; }
  NetRefusal reason() const { return reason_; }
  // What is particular to the case; may be empty.
  const std::string& detail() const { return detail_; }

 private:
  size_t operation_;
  NetRefusal reason_;
  std::string detail_;
};

// Inputs may be tensors, or numbers and lists that sizes depend on; outputs are tensors.
struct Program {
  int value_count = 0;
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<Op> ops;
};

}  // namespace tierup::kernels::net
