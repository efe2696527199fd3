// Element-wise operators and pools; see resolver.h.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ranges>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/net/resolver.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels::net {
Resolver::Resolver(const Program& program, std::span<const IValue> inputs) : program_(program) {
  known_.resize(static_cast<size_t>(program.value_count));
  ids_.assign(static_cast<size_t>(program.value_count), -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto value = static_cast<size_t>(program.inputs[i]);
    if (!inputs[i].is_tensor()) {
      known_[value] = inputs[i];
      continue;
    }
    const TensorImpl& tensor = *inputs[i].tensor_impl();
    ids_[value] = add_value({tensor.sizes.data(), tensor.sizes.size()}, tensor.dtype);
    net_.inputs.emplace_back(i, ids_[value]);
  }
}

LayerNet Resolver::run() {
  for (const Op& op : program_.ops) {
    op_ = &op;
    const auto index = static_cast<size_t>(&op - program_.ops.data());
    try {
      require_compiled(visit() || pointwise(), NetRefusal::kArguments);
    } catch (const NotCompiled& error) {
      throw Refused(index, error.reason());
    } catch (const Error& error) {
      throw Refused(index, NetRefusal::kNotTaken, error.message());
    }
  }
  for (const int output : program_.outputs) {
    const int id = ids_[static_cast<size_t>(output)];
    require_compiled(id >= 0, NetRefusal::kNoTensor);
    net_.outputs.push_back(id);
  }
  count_uses();
  find_constants();
  return std::move(net_);
}

void Resolver::find_constants() {
  for (const Op& op : program_.ops) {
    for (const Arg& arg : op.args) {
      const bool is_tensor = !arg.is_value() && arg.constant.is_tensor();
      const Tensor tensor = is_tensor ? arg.constant.to_tensor() : Tensor();
      if (tensor.defined()) net_.constants.push_back(tensor.storage().get());
    }
  }
  std::ranges::sort(net_.constants);
}

bool Resolver::visit() {
  parts_ = 0;
  switch (op_->kind) {
    case OpKind::kSizeOf: return size_of();
    case OpKind::kSame: return know(plain(0));
    case OpKind::kList: return list();
    case OpKind::kIntAdd:
    case OpKind::kIntSub:
    case OpKind::kIntMul:
    case OpKind::kIntFloorDiv: return arithmetic();
    case OpKind::kTensors: return tensors();
    case OpKind::kCat: return cat();
    case OpKind::kStack: return stack_along(number_int(1));
    case OpKind::kStackColumns: return stack_columns();
    case OpKind::kStackRows: return stack_rows();
    case OpKind::kPointwise: return pointwise();
    default: break;
  }
  const bool may_start_with_constant = op_->kind == OpKind::kAddmm || op_->kind == OpKind::kAdd ||
                                       op_->kind == OpKind::kSub || op_->kind == OpKind::kMul;
  if (!is_value(0) && !may_start_with_constant) return constant_view();
  if (is_value(0) && !is_float(value(0))) return false;
  switch (op_->kind) {
    case OpKind::kConv: return convolution(6);
    case OpKind::kConvolution: return flag(6) ? transposed_convolution(5, 7, 8) : convolution(8);
    case OpKind::kConvTransposed: return transposed_convolution(7, 5, 6);
    case OpKind::kLinear: return linear();
    case OpKind::kAddmm: return addmm();
    case OpKind::kMatmul: return matmul();
    case OpKind::kBatchMatmul: return batch_matmul();
    case OpKind::kBatchNorm: return batch_norm();
    case OpKind::kLayerNorm: return layer_norm();
    case OpKind::kRelu: return activate({Function::kRelu});
    case OpKind::kRelu6: return activate({Function::kClip, 0, 6});
    case OpKind::kHardtanh:
      return activate(
          {Function::kClip, static_cast<float>(number(1, -1)), static_cast<float>(number(2, 1))});
    case OpKind::kHardswish: return activate({Function::kHardswish});
    case OpKind::kHardsigmoid: return hardsigmoid();
    case OpKind::kSilu: return activate({Function::kSwish, 1});
    case OpKind::kSigmoid: return activate({Function::kSigmoid});
    case OpKind::kTanh: return activate({Function::kTanh});
    case OpKind::kGelu:
      return activate({plain(1).is_str() && plain(1).to_str() == "tanh" ? Function::kGeluTanh
                                                                        : Function::kGeluErf});
    case OpKind::kLeakyRelu:
      return activate({Function::kRelu, static_cast<float>(number(1, 0.01))});
    case OpKind::kPrelu: return prelu();
    case OpKind::kElu: return elu();
    case OpKind::kClamp: return clamp(1, 2);
    case OpKind::kClampMin: return clamp(1, kNoArgument);
    case OpKind::kClampMax: return clamp(kNoArgument, 1);
    case OpKind::kSoftmax: return softmax();
    case OpKind::kAdd: return binary(false);
    case OpKind::kSub: return subtract();
    case OpKind::kRsub: return reverse_subtract();
    case OpKind::kMul: return binary(true);
    case OpKind::kDiv: return divide();
    case OpKind::kGroupNorm: return grouped_norm(number_int(1), 2, number(4, 1e-5));
    case OpKind::kInstanceNorm: return instance_norm();
    case OpKind::kPad: return pad();
    case OpKind::kConstantPad: return constant_pad(ints(1), number(2, 0));
    case OpKind::kReflectionPad: return border_pad(ints(1), Border::kReflect);
    case OpKind::kReplicationPad: return border_pad(ints(1), Border::kReplicate);
    case OpKind::kNearest: return nearest(resampled(1, factors_in(2)));
    case OpKind::kLinearResample: return linear_resample(resampled(1, factors_in(3)));
    case OpKind::kNearestSized: return nearest(resampled(1, factors_from(2)));
    case OpKind::kLinearSized: return linear_resample(resampled(1, factors_from(3)));
    case OpKind::kPixelShuffle: return pixel_shuffle();
    case OpKind::kPixelUnshuffle: return pixel_unshuffle();
    case OpKind::kChannelShuffle: return channel_shuffle();
    case OpKind::kMaxPool: return max_pool(2);
    case OpKind::kMaxPool1d: return max_pool(1);
    case OpKind::kMaxPool3d: return max_pool(3);
    case OpKind::kAvgPool: return avg_pool(2);
    case OpKind::kAvgPool1d: return avg_pool(1);
    case OpKind::kAvgPool3d: return avg_pool(3);
    case OpKind::kAdaptivePool: return adaptive_pool(2);
    case OpKind::kAdaptivePool1d: return adaptive_pool(1);
    case OpKind::kAdaptivePool3d: return adaptive_pool(3);
    case OpKind::kAdaptiveMax: return adaptive_max();
    case OpKind::kMean: return reduce(Reduction::kMean);
    case OpKind::kNorm: return norm();
    case OpKind::kLargest: return reduce(Reduction::kLargest);
    case OpKind::kRsqrt: return set(function(value(0), Body::kRsqrt));
    case OpKind::kSqrt: return set(function(value(0), Body::kSqrt));
    case OpKind::kReciprocal: return set(function(value(0), Body::kReciprocal));
    case OpKind::kMish: return set(function(value(0), Body::kMish));
    case OpKind::kNeg: return activate({Function::kLinear, -1, 0});
    case OpKind::kRmsNorm: return rms_norm();
    case OpKind::kFlatten: return flatten();
    case OpKind::kView: return view(ints(1));
    case OpKind::kPermute: return permute(ints(1));
    case OpKind::kTranspose: return transpose(number_int(1), number_int(2));
    case OpKind::kUnsqueeze: return unsqueeze();
    case OpKind::kSqueeze: return squeeze(false);
    case OpKind::kUnflatten: return unflatten();
    case OpKind::kSlice: return slice_of();
    case OpKind::kRoll: return roll();
    case OpKind::kSelect: return select();
    case OpKind::kExpand: return expand(ints(1));
    case OpKind::kExpandAs: return expand_as();
    case OpKind::kContiguous: return (plain(1).is_none() || number_int(1) == 0) && set(value(0));
    case OpKind::kTo:
      return is_float_code(plain(1)) && !flag(3) && plain(4).is_none() && set(value(0));
    case OpKind::kDropout: return plain(2).is_bool() && !flag(2) && set(value(0));
    case OpKind::kAttention: return attention();
    case OpKind::kMultiHead: return multi_head();
    case OpKind::kEncoderLayer: return encoder_layer();
    case OpKind::kSplit: return split();
    case OpKind::kChunk: return chunk();
    case OpKind::kUnbind: return unbind();
    case OpKind::kGlu: return glu();
    case OpKind::kMaskedFill: return masked_fill();
    case OpKind::kPower: return power();
    case OpKind::kSelf: return (plain(1).is_none() || number_int(1) <= 1) && set(value(0));
    case OpKind::kLike: return like();
    case OpKind::kMovedim: return move_dims();
    case OpKind::kTurnMatrix: return turn_matrix();
    case OpKind::kTurnMatrices: return turn_matrices();
    case OpKind::kNarrow: return narrow();
    case OpKind::kViewAs: return view_as();
    case OpKind::kRavel: return view({-1});
    case OpKind::kSqueezeAll: return squeeze(true);
    case OpKind::kRepeat: return repeat(false);
    case OpKind::kTile: return repeat(true);
    case OpKind::kRepeatEach: return repeat_each();
    case OpKind::kFlip: return flip();
    case OpKind::kSum: return reduce(Reduction::kSum);
    case OpKind::kNone:
    case OpKind::kSizeOf:
    case OpKind::kSame:
    case OpKind::kList:
    case OpKind::kIntAdd:
    case OpKind::kIntSub:
    case OpKind::kIntMul:
    case OpKind::kIntFloorDiv:
    case OpKind::kTensors:
    case OpKind::kStack:
    case OpKind::kStackColumns:
    case OpKind::kStackRows:
    case OpKind::kPointwise:
    case OpKind::kCat: return false;
  }
  return false;
}

double Resolver::element(const Tensor& t, size_t i) {
  int64_t stride = 1;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) != 1) stride = t.stride(d);
  }
  return t.data<float>()[static_cast<int64_t>(i) * stride];
}

bool Resolver::activate(Activation activation) { return activate_value(value(0), activation); }

bool Resolver::hardsigmoid() {
  Layer& line = add(LayerKind::kActivate, {value(0)},
                    IntVector(net_.values[static_cast<size_t>(value(0))].sizes));
  line.activation = {Function::kLinear, 1.0F / 6, 0.5F};
  const int middle = line.output;
  Layer& clip = add(LayerKind::kActivate, {middle},
                    IntVector(net_.values[static_cast<size_t>(middle)].sizes));
  clip.activation = {Function::kClip, 0, 1};
  return set(clip.output);
}

bool Resolver::is_float_code(const IValue& dtype) {
  return dtype.is_int() && dtype.to_int() == static_cast<int64_t>(ScalarType::kFloat);
}

// Of one slope for all, a leaky relu.
bool Resolver::prelu() {
  const Tensor weight = constant(1);
  const IntVector shape(sizes(value(0)).begin(), sizes(value(0)).end());
  if (!is_dense_float(weight)) return false;
  if (weight.numel() == 1)
    return activate({Function::kRelu, static_cast<float>(element(weight, 0))});
  if (shape.size() < 2 || weight.numel() != shape[1]) return false;
  Layer& layer = add(LayerKind::kPrelu, {value(0)}, shape);
  layer.axis = 1;
  for (int64_t c = 0; c < weight.numel(); ++c)
    layer.scale.push_back(static_cast<float>(element(weight, static_cast<size_t>(c))));
  return set(layer.output);
}

bool Resolver::elu() {
  if (number(2, 1) != 1 || number(3, 1) != 1) return false;
  return activate({Function::kElu, static_cast<float>(number(1, 1))});
}

bool Resolver::clamp(size_t low, size_t high) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const size_t i : {low, high})
    if (!plain(i).is_number() && !plain(i).is_none()) return false;
  return activate({Function::kClip, static_cast<float>(number(low, -kInfinity)),
                   static_cast<float>(number(high, kInfinity))});
}

bool Resolver::softmax() {
  const IntSpan in = sizes(value(0));
  const auto rank = static_cast<int64_t>(in.size());
  const bool keeps_type = plain(2).is_none() || is_float_code(plain(2)) ||
                          (plain(2).is_bool() && !flag(2));  // _softmax: of halves to f32.
  if (rank == 0 || !keeps_type || numel_of(in) == 0) return false;
  const auto dim = static_cast<size_t>(wrap_dim(number_int(1), rank));
  const int rows = turned(value(0), dim, false);
  const IntVector out(sizes(rows).begin(), sizes(rows).end());
  return set(turned(add(LayerKind::kSoftmax, {rows}, out).output, dim, true));
}

bool Resolver::know(const IValue& number) {
  if (!number.is_int() && !number.is_list()) return false;
  known_[static_cast<size_t>(op_->outputs[0])] = number;
  return true;
}
bool Resolver::size_of() {
  if (!is_value(0)) return false;
  const IntSpan in = sizes(value(0));
  const int64_t dim = wrap_dim(number_int(1), static_cast<int64_t>(in.size()));
  return know(in[static_cast<size_t>(dim)]);
}
bool Resolver::list() {
  std::vector<IValue> items;
  for (size_t i = 0; i < op_->args.size(); ++i) {
    if (!plain(i).is_int()) return false;
    items.push_back(plain(i));
  }
  return know(make_ref<ListValue>(Type::simple(TypeKind::kInt), std::move(items)));
}

bool Resolver::arithmetic() {
  const int64_t a = number_int(0);
  const int64_t b = number_int(1);
  int64_t result = 0;
  bool overflows = false;
  switch (op_->kind) {
    case OpKind::kIntAdd: overflows = __builtin_add_overflow(a, b, &result); break;
    case OpKind::kIntSub: overflows = __builtin_sub_overflow(a, b, &result); break;
    case OpKind::kIntMul: overflows = __builtin_mul_overflow(a, b, &result); break;
    default:
      if (a < 0 || b <= 0) return false;  // No sizes.
      result = a / b;
  }
  return !overflows && know(result);
}

bool Resolver::power() {
  const double exponent = number(1, 0);
  if (exponent != 2 && exponent != 3) return false;
  const int input = value(0);
  int result = combine(input, input, true);
  if (exponent == 3) result = combine(result, input, true);
  return set(result);
}

bool Resolver::binary(bool multiplies) {
  const bool has_alpha = !multiplies && op_->args.size() > 2;
  if (has_alpha && number(2, 1) != 1) return false;
  if (is_value(0) && is_value(1)) {
    if (!is_float(value(1))) return false;
    return set(combine(value(0), value(1), multiplies));
  }
  const size_t at = is_value(0) ? 0 : 1;
  if (!is_value(at) || !is_float(value(at))) return false;
  return with_constant(value(at), plain(1 - at), multiplies);
}

Tensor Resolver::scaled(const Tensor& tensor, float factor) {
  const Tensor result = clone(tensor, MemoryFormat::kContiguous);
  for (int64_t i = 0; i < result.numel(); ++i) result.data<float>()[i] *= factor;
  return result;
}

// a - b as a + (-1) b.
bool Resolver::subtract() {
  if (op_->args.size() > 2 && number(2, 1) != 1) return false;
  if (!is_value(1)) {
    const IValue& other = plain(1);
    if (!is_value(0)) return false;
    if (other.is_number() && !other.is_complex())
      return with_constant(value(0), IValue(-other.to_scalar().to_double()), false);
    const Tensor tensor = constant(1);
    return is_dense_float(tensor) && with_constant(value(0), scaled(tensor, -1), false);
  }
  if (!is_float(value(1))) return false;
  Layer& turned = add(LayerKind::kActivate, {value(1)},
                      IntVector(net_.values[static_cast<size_t>(value(1))].sizes));
  turned.activation = {Function::kLinear, -1, 0};
  const int negative = turned.output;
  if (is_value(0)) return set(combine(value(0), negative, false));
  return with_constant(negative, plain(0), false);
}

// other - self, by a number.
bool Resolver::reverse_subtract() {
  const IValue& other = plain(1);
  if (number(2, 1) != 1 || is_value(1) || !other.is_number() || other.is_complex()) return false;
  return activate({Function::kLinear, -1, static_cast<float>(other.to_scalar().to_double())});
}

// Times the inverse.
bool Resolver::divide() {
  if (is_value(1)) {
    if (!is_value(0) || !is_float(value(1))) return false;
    const int once = before_repeats(value(1));
    const bool spreads_alike = broadcast_shapes(sizes(value(0)), sizes(once)) ==
                               broadcast_shapes(sizes(value(0)), sizes(value(1)));
    const int divisor = spreads_alike ? once : value(1);
    return set(combine(value(0), function(divisor, Body::kReciprocal), true));
  }
  const IValue& other = plain(1);
  if (other.is_number() && !other.is_complex())
    return with_constant(value(0), IValue(1 / other.to_scalar().to_double()), true);
  const Tensor tensor = constant(1);
  if (!tensor.defined() || tensor.dim() != 0 || is_complex(tensor.dtype())) return false;
  return with_constant(value(0), IValue(1 / other.to_scalar().to_double()), true);
}

int Resolver::before_repeats(int id) const {
  for (auto layer = net_.layers.rbegin(); layer != net_.layers.rend(); ++layer) {
    if (layer->output != id) continue;
    if (layer->kind != LayerKind::kRepeat) return id;
    id = layer->inputs[0];
  }
  return id;
}

// What two operands span is left to others where it would be the largest value so far: a fused
// group has no need of it in memory.
bool Resolver::is_no_larger(IntSpan out) const {
  return std::ranges::any_of(
      net_.values, [&](const Value& value) { return numel_of(value.sizes) >= numel_of(out); });
}

// Of a whole operand and a repeated one: what was repeated is broadcast.
int Resolver::combine(int a, int b, bool multiplies) {
  const IntVector out = broadcast_shapes(sizes(a), sizes(b));
  if (std::ranges::equal(sizes(a), sizes(b))) {
    if (const int once = before_repeats(b); once != b) {
      b = once;
    } else {
      a = before_repeats(a);
    }
  }
  const auto is_whole = [&](int id) { return std::ranges::equal(out, sizes(id)); };
  if (!is_whole(a) && (is_whole(b) || numel_of(sizes(a)) < numel_of(sizes(b)))) std::swap(a, b);
  if (!is_whole(a)) {
    require_compiled(is_no_larger(out), NetRefusal::kBothBroadcast);
    a = expanded(a, out);
    require_compiled(a >= 0, NetRefusal::kNoElements);
  }
  Layer& layer = add(LayerKind::kBinary, {a, b}, out);
  layer.multiplies = multiplies;
  return layer.output;
}

bool Resolver::with_constant(int input, const IValue& other, bool multiplies) {
  if (other.is_number() && !other.is_complex()) {
    const auto x = static_cast<float>(other.to_scalar().to_double());
    return activate_value(input, {Function::kLinear, multiplies ? x : 1, multiplies ? 0 : x});
  }
  if (!other.is_tensor()) return false;
  const Tensor tensor = other.to_tensor();
  // A number in a tensor without dimensions does not change the result's dtype.
  if (tensor.dim() == 0 && !is_complex(tensor.dtype())) {
    return with_constant(input, IValue(other.to_scalar()), multiplies);
  }
  if (!is_dense_float(tensor)) return false;
  const auto rank = static_cast<int64_t>(sizes(input).size());
  // One dimension that is not 1: a factor or summand per channel.
  int64_t axis = -1;
  int wide = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) != 1) {
      axis = d + rank - tensor.dim();
      ++wide;
    }
  }
  if (tensor.dim() <= rank && wide == 1 && axis >= 0 &&
      sizes(input)[static_cast<size_t>(axis)] == tensor.numel()) {
    std::vector<float> numbers(static_cast<size_t>(tensor.numel()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(element(tensor, i));
    std::vector<float> rest(numbers.size(), multiplies ? 0.0F : 1.0F);
    return multiplies ? affine(input, static_cast<size_t>(axis), numbers, rest)
                      : affine(input, static_cast<size_t>(axis), rest, numbers);
  }
  return set(combine(input, add_constant(tensor), multiplies));
}

int Resolver::activated(int input, Activation activation) {
  Layer& layer =
      add(LayerKind::kActivate, {input}, IntVector(net_.values[static_cast<size_t>(input)].sizes));
  layer.activation = activation;
  return layer.output;
}

bool Resolver::activate_value(int input, Activation activation) {
  return set(activated(input, activation));
}

void Resolver::count_uses() {
  const auto uses = [&](int id) -> int& { return net_.values[static_cast<size_t>(id)].uses; };
  for (const int output : net_.outputs) ++uses(output);
  std::vector<Layer> read;
  for (Layer& layer : std::ranges::reverse_view(net_.layers)) {
    if (uses(layer.output) == 0) continue;
    for (const int input : layer.inputs) ++uses(input);
    read.push_back(std::move(layer));
  }
  std::ranges::reverse(read);
  net_.layers = std::move(read);
}

LayerNet resolve(const Program& program, std::span<const IValue> inputs) {
  return Resolver(program, inputs).run();
}

}  // namespace tierup::kernels::net
