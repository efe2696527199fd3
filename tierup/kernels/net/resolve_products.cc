// Convolutions, products, attention and normalisations; see resolver.h.
#include <cmath>
#include <limits>
#include <utility>

#include "tierup/kernels/convolution/convolution_geometry.h"
#include "tierup/kernels/net/resolver.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels::net {

// Of strides, padding (numbers, or a name for them) and dilation.
ConvGeometry Resolver::geometry(IntSpan input, IntSpan weight, int64_t groups) const {
  const IValue& padding = plain(4);
  if (padding.is_str() && padding.to_str() == "same")
    return conv_geometry_same(input, weight, ints(3), ints(5), groups);
  const IntVector given = padding.is_str() ? IntVector{0} : ints(4);
  require_compiled(!padding.is_str() || padding.to_str() == "valid", NetRefusal::kPadding);
  return conv_geometry(input, weight, ints(3), given, ints(5), false, {}, groups);
}

// Windows as wide as an image of one channel move along one line. What stands in a row of the image
// takes the channels' place: there is nothing else to sum in long runs.
bool Resolver::is_line_of_rows(const ConvGeometry& g) {
  return g.rank == 2 && g.in_channels == 1 && g.in[2] > 1 && g.kernel[2] == g.in[2] &&
         g.out[2] == 1 && g.padding[2] == 0 && g.dilation[2] == 1;
}

int Resolver::line_of_rows(int input, ConvGeometry& g, Tensor& weight) {
  const IntVector order{0, 3, 2, 1};
  g.in_channels = std::exchange(g.in[2], 1);
  g.kernel[2] = g.stride[2] = 1;
  g.padding_after[2] = 0;
  weight = kernels::permute(weight, order);
  Layer& turned = add(LayerKind::kPermute, {input}, IntVector{g.batch, g.in_channels, g.in[1], 1});
  turned.order = order;
  return turned.output;
}

bool Resolver::convolution(size_t groups) {
  int input = value(0);
  Tensor weight = constant(1);
  const Tensor bias = constant(2);
  if (!is_dense_float(weight) || (!bias.defined() && !plain(2).is_none()) || is_value(2) ||
      (bias.defined() && bias.dtype() != ScalarType::kFloat) ||
      sizes(input).size() != static_cast<size_t>(weight.dim()) || weight.dim() < 3 ||
      weight.dim() > 5) {
    return false;
  }
  ConvGeometry g = geometry(sizes(input), weight.sizes(), number_int(groups));
  if (is_line_of_rows(g)) input = line_of_rows(input, g, weight);
  IntVector out{g.batch, g.out_channels};
  for (int i = 3 - g.rank; i < 3; ++i) out.push_back(g.out[static_cast<size_t>(i)]);
  const bool is_product =
      g.groups == 1 && g.in_points() == 1 && g.kernel_points() == 1 && g.out_points() == 1;
  Layer& layer = add(is_product ? LayerKind::kGemm : LayerKind::kConv, {input}, out);
  layer.conv = g;
  layer.axis = 1;
  layer.weight = is_product ? kernels::transpose(
                                  reshape(weight, IntVector{g.out_channels, g.in_channels}), 0, 1)
                            : weight;
  layer.bias = bias;
  return set(layer.output);
}

int Resolver::product(int input, const Tensor& weight, const Tensor& bias) {
  IntVector out(sizes(input).begin(), sizes(input).end());
  require_compiled(!out.empty() && weight.dim() == 2 && is_dense_float(weight) &&
                       out.back() == weight.size(0) && is_float(input) &&
                       (!bias.defined() || (is_dense_float(bias) && bias.dim() == 1 &&
                                            bias.size(0) == weight.size(1))),
                   NetRefusal::kFactors);
  out.back() = weight.size(1);
  Layer& layer = add(LayerKind::kGemm, {input}, out);
  layer.axis = out.size() - 1;
  layer.weight = weight;
  layer.bias = bias;
  return layer.output;
}

bool Resolver::linear() {
  const Tensor weight = constant(1);
  if (!weight.defined() || weight.dim() != 2 || is_value(2)) return false;
  return set(product(value(0), kernels::transpose(weight, 0, 1), constant(2)));
}

bool Resolver::addmm() {
  if (!is_value(1) || is_value(0) || is_value(2) || number(3, 1) != 1 || number(4, 1) != 1) {
    return false;
  }
  return set(product(value(1), constant(2), constant(0)));
}

bool Resolver::matmul() {
  if (is_value(1) || (constant(1).defined() && constant(1).dim() > 2)) return batch_matmul();
  return set(product(value(0), constant(1), Tensor()));
}

// Of factors of which one has a single matrix where the other has several (heads that share keys),
// that one is repeated.
bool Resolver::batch_matmul() {
  const size_t rank = sizes(value(0)).size();
  if (!is_value(1) && !constant(1).defined()) return false;
  int factors[] = {value(0), is_value(1) ? value(1) : add_constant(constant(1))};
  if (rank < 3 || sizes(factors[1]).size() != rank || !is_float(factors[1]) ||
      sizes(factors[0])[rank - 1] != sizes(factors[1])[rank - 2]) {
    return false;
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    for (int side = 0; side < 2; ++side) {
      const int64_t other = sizes(factors[1 - side])[d];
      if (sizes(factors[side])[d] == other) continue;
      if (sizes(factors[side])[d] != 1 && other != 1) return false;
      if (sizes(factors[side])[d] == 1) factors[side] = repeat_entry(factors[side], d, other);
    }
  }
  IntVector out(sizes(factors[0]).begin(), sizes(factors[0]).end());
  out.back() = sizes(factors[1])[rank - 1];
  return set(add(LayerKind::kBatchGemm, {factors[0], factors[1]}, out).output);
}

bool Resolver::affine(int input, size_t axis, std::vector<float> scale, std::vector<float> shift) {
  Layer& layer =
      add(LayerKind::kAffine, {input}, IntVector(net_.values[static_cast<size_t>(input)].sizes));
  layer.axis = axis;
  layer.scale = std::move(scale);
  layer.shift = std::move(shift);
  return set(layer.output);
}

bool Resolver::batch_norm() {
  const int input = value(0);
  const Tensor mean = constant(3);
  const Tensor variance = constant(4);
  if (flag(5) || !is_dense_float(mean) || !is_dense_float(variance) || sizes(input).size() < 2 ||
      mean.numel() != sizes(input)[1] || variance.numel() != mean.numel()) {
    return false;
  }
  const auto channels = static_cast<size_t>(mean.numel());
  std::vector<float> scale(channels);
  std::vector<float> shift(channels);
  const Tensor weight = constant(1);
  const Tensor bias = constant(2);
  for (const Tensor* t : {&weight, &bias}) {
    if (t->defined() && (!is_dense_float(*t) || t->numel() != mean.numel())) return false;
  }
  const double eps = number(7, 1e-5);
  for (size_t c = 0; c < channels; ++c) {
    const double factor =
        (weight.defined() ? element(weight, c) : 1.0) / std::sqrt(element(variance, c) + eps);
    scale[c] = static_cast<float>(factor);
    shift[c] =
        static_cast<float>((bias.defined() ? element(bias, c) : 0.0) - element(mean, c) * factor);
  }
  return affine(input, 1, std::move(scale), std::move(shift));
}

int Resolver::normalized(int input, const Tensor& weight, const Tensor& bias, double eps) {
  const IntVector shape(sizes(input).begin(), sizes(input).end());
  for (const Tensor* t : {&weight, &bias}) {
    if (t->defined() && (!is_dense_float(*t) || shape.empty() || t->numel() != shape.back() ||
                         !t->is_contiguous())) {
      return -1;
    }
  }
  Layer& layer = add(LayerKind::kLayerNorm, {input}, shape);
  layer.weight = weight;
  layer.bias = bias;
  layer.eps = eps;
  return layer.output;
}

bool Resolver::layer_norm() {
  const IntSpan input = sizes(value(0));
  const IntVector shape = ints(1);
  if (shape.size() != 1 || input.empty() || input.back() != shape[0]) return false;
  const int result = normalized(value(0), constant(2), constant(3), number(4, 1e-5));
  return result >= 0 && set(result);
}

int Resolver::attend(int query, int key, int value, int mask, double scale, bool is_causal) {
  const IntSpan q = sizes(query);
  const IntSpan k = sizes(key);
  const IntSpan v = sizes(value);
  require_compiled(q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] &&
                       q[0] == v[0] && k[1] > 0 && q[1] % k[1] == 0 && v[1] == k[1] &&
                       q[3] == k[3] && k[2] == v[2] && is_float(key) && is_float(value) &&
                       k[2] > 0 && q[3] > 0 && numel_of(q) > 0,
                   NetRefusal::kAttentionShapes);
  const IntVector out{q[0], q[1], q[2], v[3]};
  Layer& layer = add(LayerKind::kAttention, {query, key, value}, out);
  if (mask >= 0) {
    layer.inputs.push_back(mask);
    layer.masks.emplace_back();
  }
  layer.attention_scale = scale;
  layer.is_causal = is_causal;
  return layer.output;
}

bool Resolver::attention() {
  if (!is_value(1) || !is_value(2) || number(4, 0) != 0) return false;
  // Heads that share keys say so.
  if (!flag(7) && sizes(value(0)).size() == 4 && sizes(value(1)).size() == 4 &&
      sizes(value(0))[1] != sizes(value(1))[1]) {
    return false;
  }
  int mask = -1;
  if (is_value(3)) {
    mask = value(3);
  } else if (!plain(3).is_none()) {
    if (!plain(3).is_tensor()) return false;
    mask = add_constant(constant(3));
  }
  if (mask >= 0) {
    const ScalarType dtype = net_.values[static_cast<size_t>(mask)].dtype;
    if ((dtype != ScalarType::kBool && dtype != ScalarType::kFloat) || flag(5)) return false;
  }
  const IntSpan q = sizes(value(0));
  const double scale =
      number(6, 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, q.empty() ? 1 : q.back()))));
  return set(attend(value(0), value(1), value(2), mask, scale, flag(5)));
}

// A part of attention that is written out; see recognize_attention.cc.
bool Resolver::masked_fill() {
  if (!is_value(1) && !plain(1).is_tensor()) return false;
  const int mask = is_value(1) ? value(1) : add_constant(constant(1));
  if (net_.values[static_cast<size_t>(mask)].dtype != ScalarType::kBool) return false;
  const IntVector out(sizes(value(0)).begin(), sizes(value(0)).end());
  Layer& layer = add(LayerKind::kFill, {value(0), mask}, out);
  layer.fill = number(2, 0);
  return set(layer.output);
}

int Resolver::self_attention(int input, const HeadArguments& at) {
  const int64_t embed = number_int(at.embed);
  const int64_t heads = number_int(at.heads);
  const IntVector in(sizes(input).begin(), sizes(input).end());
  const Tensor qkv = constant(at.qkv_weight);
  const Tensor out = constant(at.out_weight);
  if (in.size() != 3 || !qkv.defined() || !out.defined() || heads <= 0 || embed % heads != 0 ||
      in[2] != embed || qkv.dim() != 2 || out.dim() != 2 || qkv.size(0) != 3 * embed) {
    return -1;
  }
  int mask = -1;
  if (is_value(at.mask)) {
    mask = value(at.mask);
  } else if (!plain(at.mask).is_none()) {
    if (!plain(at.mask).is_tensor()) return -1;
    mask = add_constant(constant(at.mask));
  }
  const int packed = product(input, kernels::transpose(qkv, 0, 1), constant(at.qkv_bias));
  const int64_t depth = embed / heads;
  const int parts =
      add(LayerKind::kView, {packed}, IntVector{in[0], in[1], 3, heads, depth}).output;
  int part[3];
  for (int i = 0; i < 3; ++i) {
    const int one = slice(parts, 2, i, 1);
    const int rows = add(LayerKind::kView, {one}, IntVector{in[0], in[1], heads, depth}).output;
    Layer& layer = add(LayerKind::kPermute, {rows}, IntVector{in[0], heads, in[1], depth});
    layer.order = {0, 2, 1, 3};
    part[i] = layer.output;
  }
  const int mixed =
      attend(part[0], part[1], part[2], mask, 1 / std::sqrt(static_cast<double>(depth)), false);
  if (mask >= 0) {
    const Value& given = net_.values[static_cast<size_t>(mask)];
    if (given.dtype != ScalarType::kBool && given.dtype != ScalarType::kFloat) return -1;
    LayerMask& use = net_.layers.back().masks[0];
    use.fills = given.dtype == ScalarType::kBool;
    use.fill = -std::numeric_limits<double>::infinity();
    const bool is_of_keys = plain(at.mask_type).is_int() && number_int(at.mask_type) == 1;
    use.is_of_keys = is_of_keys && given.sizes.size() == 2;
  }
  Layer& back = add(LayerKind::kPermute, {mixed}, IntVector{in[0], in[1], heads, depth});
  back.order = {0, 2, 1, 3};
  const int back_value = back.output;
  const int joined = add(LayerKind::kView, {back_value}, in).output;
  return product(joined, kernels::transpose(out, 0, 1), constant(at.out_bias));
}

bool Resolver::multi_head() {
  const int input = value(0);
  if (!is_value(1) || !is_value(2) || value(1) != input || value(2) != input || flag(10)) {
    return false;
  }
  const int result = self_attention(input, {3, 4, 5, 6, 7, 8, 9, 12});
  return result >= 0 && set(result);
}

bool Resolver::encoder_layer() {
  const int src = value(0);
  const bool norm_first = flag(8);
  const auto norm = [&](int input, size_t weight) {
    return normalized(input, constant(weight), constant(weight + 1), number(9, 1e-5));
  };
  const auto linear = [&](int input, size_t weight) {
    return product(input, kernels::transpose(constant(weight), 0, 1), constant(weight + 1));
  };
  if (constant(14).dim() != 2 || constant(16).dim() != 2) return false;
  const int first = norm_first ? norm(src, 10) : src;
  const int attended = first < 0 ? -1 : self_attention(first, {1, 2, 3, 4, 5, 6, 18, 19});
  if (attended < 0) return false;
  int x = combine(attended, src, false);
  if (!norm_first) x = norm(x, 10);
  const int second = norm_first && x >= 0 ? norm(x, 12) : x;
  if (second < 0) return false;
  const Activation activation{flag(7) ? Function::kGeluErf : Function::kRelu};
  x = combine(linear(activated(linear(second, 14), activation), 16), x, false);
  const int result = norm_first ? x : norm(x, 12);
  return result >= 0 && set(result);
}

}  // namespace tierup::kernels::net
