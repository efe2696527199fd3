// Layers: a program for inputs of known sizes, in the few kinds of step that the emitter knows.
//
// resolve() works out every size and turns operators into layers; fuse() then joins layers with
// what only they are read by. A program or input that does not fit is Refused; the caller goes on
// with tier 0's operators.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tierup/kernels/convolution/convolution_geometry.h"
#include "tierup/kernels/net/formula.h"
#include "tierup/kernels/net/program.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/pooling/pooling_window.h"
#include "tierup/kernels/vision/resample_taps.h"

namespace tierup::kernels::net {

enum class LayerKind : uint8_t {
  kConv,        // input, weight: [O, I / groups, *] with `conv`
  kWeave,       // results of a transposed convolution: of each place within the stride, or of all
  kGemm,        // input [*, K, 1...], weight [K, N]: the channel axis is `axis`.
  kBatchGemm,   // a [*, M, K] times b [*, K, N], of the same leading sizes
  kAffine,      // input * scale[axis] + shift[axis]
  kPrelu,       // input * scale[axis] below zero, else the input
  kActivate,    // activation(input)
  kBinary,      // a + b or a * b, broadcast
  kPool,        // windows of `pool`
  kOverPoints,  // `reduction` of all spatial points, or the last dimensions of them: 1, or gone
  kOverRows,    // `reduction` of the last axis, which stays as 1
  kFunction,    // `formula` of numbers at the same place of all inputs
  kLayerNorm,   // over the last axis
  kRmsNorm,     // input / sqrt(mean(input^2) + eps) * scale over the last axis; no scale: 1. With
                // `reduction` kNorm: input / max(sqrt(sum(input^2)), eps)
  kSoftmax,     // over the last axis
  kAttention,   // query, key, value, and perhaps a mask
  kFill,        // `fill` where the second input, of bools, is true
  kView,        // the same elements in order, other sizes
  kPermute,     // `order` of dimensions
  kSlice,       // entries of `axis` from `first`, each `step` behind the one before
  kCat,         // inputs one after the other along `axis`
  kGlu,         // the first half of `axis`, or `gated` of it, times the sigmoid of the other half
  kRepeat,      // `axis`, which has one entry, so many times as the output's has
  kGroupNorm,   // [N, C, *] over `groups` of channels and all points; no scale: 1
  kPoints,      // of [N, C, *]: the points named by `from`, or `fill`
  kResample,    // of [N, C, *]: sums of two weighted entries along each spatial dimension
};

enum class Function : uint8_t {
  kRelu,    // alpha x below zero
  kElu,     // alpha (exp(x) - 1) below zero
  kClip,    // to [alpha, beta]
  kLinear,  // alpha x + beta
  kSwish,
  kHardswish,
  kSigmoid,
  kTanh,
  kGeluErf,
  kGeluTanh,
};

enum class Reduction : uint8_t { kSum, kMean, kMeanSquare, kNorm, kLargest };

struct Activation {
  Function function = Function::kRelu;
  float alpha = 0;
  float beta = 0;
};

// What is done to a convolution's or product's result before it is stored: an activation, or the
// sum with another value.
struct Epilogue {
  int summand = -1;  // Negative: an activation.
  Activation activation;
};

// How attention's scores meet a mask.
struct LayerMask {
  bool fills = false;  // Of bools: true where the score is `fill`; else true where it stays.
  double fill = 0;
  bool is_of_keys = false;   // The mask is [batch, keys].
  int64_t batch_period = 0;  // See AttentionMask.
};

struct Layer {
  LayerKind kind;
  int id = 0;  // Of the operator it came from; names packed weights of convolutions.
  // Names packed weights of products: the id of the first one with the same.
  int weights_id = 0;
  std::vector<int> inputs;
  int output = -1;
  Tensor weight, bias;  // Constants.
  ConvGeometry conv;
  PoolWindow pool;
  bool is_max = false;
  bool counts_padding = true;
  bool multiplies = false;      // kBinary.
  bool has_empty_taps = false;  // kWeave: the parts multiply by zero what no window reads.
  Reduction reduction = Reduction::kMean;
  Formula formula;  // kFunction.
  size_t axis = 0;  // The channel's, or kSlice's.
  std::vector<float> scale, shift;
  Activation activation;
  std::optional<Activation> gated;
  IntVector order;
  int64_t first = 0;
  int64_t step = 1;  // kSlice.
  double eps = 0;
  double attention_scale = 1;
  bool is_causal = false;
  bool is_written_out = false;  // kAttention: softmax makes NaN of a query that sees no key.
  double fill = 0;
  std::vector<LayerMask> masks;  // kAttention: of the inputs behind query, key and value.
  int64_t groups = 1;
  // kPoints: for each entry of a spatial dimension, the entry that it is read from; below zero:
  // `fill`.
  std::vector<std::vector<int64_t>> from;
  std::vector<ResampleTaps> taps;  // Of each spatial dimension: two for each entry.
  std::vector<Epilogue> epilogue;
};

// The operator of the program that a layer came from: each may become so many layers.
constexpr int kLayersOfOperator = 32;
inline size_t operation_of(const Layer& layer) {
  return static_cast<size_t>(layer.id / kLayersOfOperator);
}

// Whether the result is the operand's memory in another order, or a part of it.
inline bool is_view(const Layer& layer) {
  return layer.kind == LayerKind::kView || layer.kind == LayerKind::kPermute ||
         layer.kind == LayerKind::kSlice;
}

// Whether a layer is this body of one value.
inline bool is_function(const Layer* layer, Body body) {
  return layer != nullptr && layer->kind == LayerKind::kFunction && layer->formula.size() == 1 &&
         layer->formula[0].body == body && layer->formula[0].operands.size() == 1;
}

// The formula of an activation, or none.
std::optional<Formula> formula_of(const Activation& activation);
// The formula of a point-wise layer, whose inputs are its distinct operands in order; none if there
// is none.
std::optional<Formula> formula_of(const Layer& layer);
// Each value once, in the order in which they come first.
std::vector<int> distinct(std::span<const int> values);

struct Value {
  IntVector sizes;
  ScalarType dtype = ScalarType::kFloat;
  int uses = 0;     // By layers and as outputs.
  Tensor constant;  // Where it is one.
};

struct LayerNet {
  std::vector<Value> values;
  std::vector<Layer> layers;
  // Positions of the tensors among the program's inputs, and their values.
  std::vector<std::pair<size_t, int>> inputs;
  std::vector<int> outputs;
  // Memory of the program's constants, sorted. Weights that lie elsewhere were made for this net.
  std::vector<const Storage*> constants;
};

// `inputs` as the program wants them; of tensors only dtype and sizes matter.
LayerNet resolve(const Program& program, std::span<const IValue> inputs);

// Puts one layer where its formula is written out: gelu, swish, attention, layer and RMS
// normalisation.
void recognize(LayerNet& net);

// Whether a normalisation's factors may go into weights (weight_factors.h): looked at, or taken for
// granted, since packing tells.
enum class FactorCheck : uint8_t { kBeforehand, kWhilePacking };

// Folds normalisations into weights, hangs activations and sums on the layers that feed them, and
// moves views behind element-wise layers where that brings layers together.
void fuse(LayerNet& net, FactorCheck check);

}  // namespace tierup::kernels::net
