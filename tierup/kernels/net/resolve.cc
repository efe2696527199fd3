// Sizes forward through a program; see layers.h.
#include <algorithm>
#include <cmath>

#include "tierup/kernels/convolution.h"
#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/view.h"

namespace tierup::kernels::net {
namespace {

constexpr auto kRefused = ErrorCode::kUnsupported;

class Resolver {
 public:
  Resolver(const Program& program, std::span<const IValue> inputs) : program_(program) {
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

  LayerNet run() {
    for (const Op& op : program_.ops) {
      op_ = &op;
      require(visit(), kRefused, "operator {} of the line has arguments that are not compiled",
              &op - program_.ops.data());
    }
    for (const int output : program_.outputs) {
      const int id = ids_[static_cast<size_t>(output)];
      require(id >= 0, kRefused, "an output is not a tensor of the line");
      net_.outputs.push_back(id);
    }
    count_uses();
    return std::move(net_);
  }

 private:
  // Arguments of the operator at hand.
  const IValue& plain(size_t i) const {
    static const IValue none;
    if (i >= op_->args.size()) return none;
    const Arg& arg = op_->args[i];
    return arg.is_value() ? known_[static_cast<size_t>(arg.value)] : arg.constant;
  }
  int value(size_t i) const {
    const Arg& arg = op_->args[i];
    return arg.is_value() ? ids_[static_cast<size_t>(arg.value)] : -1;
  }
  bool is_value(size_t i) const { return i < op_->args.size() && value(i) >= 0; }
  Tensor constant(size_t i) const {
    const IValue& v = plain(i);
    return v.is_tensor() ? v.to_tensor() : Tensor();
  }
  IntVector ints(size_t i) const {
    IntVector result;
    const IValue& v = plain(i);
    if (v.is_int()) result.push_back(v.to_int());
    if (v.is_list()) {
      for (const IValue& item : v.to_list().items) {
        require(item.is_int(), kRefused, "a list of sizes holds something else");
        result.push_back(item.to_int());
      }
    }
    return result;
  }
  bool flag(size_t i) const { return plain(i).is_bool() && plain(i).to_bool(); }
  double number(size_t i, double otherwise) const {
    const IValue& v = plain(i);
    return v.is_number() ? v.to_scalar().to_double() : otherwise;
  }
  IntSpan sizes(int id) const {
    const IntVector& s = net_.values[static_cast<size_t>(id)].sizes;
    return {s.data(), s.size()};
  }
  bool is_float(int id) const {
    return net_.values[static_cast<size_t>(id)].dtype == ScalarType::kFloat;
  }
  static bool is_dense_float(const Tensor& t) {
    return t.defined() && t.dtype() == ScalarType::kFloat;
  }

  int add_value(IntSpan sizes, ScalarType dtype = ScalarType::kFloat) {
    Value value;
    value.sizes.assign(sizes.begin(), sizes.end());
    value.dtype = dtype;
    net_.values.push_back(std::move(value));
    return static_cast<int>(net_.values.size()) - 1;
  }
  int add_constant(const Tensor& tensor) {
    const int id = add_value(tensor.sizes(), tensor.dtype());
    net_.values.back().constant = tensor;
    return id;
  }
  // Appends a layer of this kind; its result is a new value.
  Layer& add(LayerKind kind, std::vector<int> inputs, IntSpan sizes) {
    Layer layer;
    layer.kind = kind;
    layer.id = static_cast<int>(&*op_ - program_.ops.data()) * 16 + parts_++;
    layer.inputs = std::move(inputs);
    layer.output = add_value(sizes);
    net_.layers.push_back(std::move(layer));
    return net_.layers.back();
  }
  bool set(int id, size_t output = 0) {
    if (op_->keeps_shape) {
      const IntSpan before = sizes(value(0));
      if (!std::equal(before.begin(), before.end(), sizes(id).begin(), sizes(id).end())) {
        return false;
      }
    }
    if (output < op_->outputs.size()) ids_[static_cast<size_t>(op_->outputs[output])] = id;
    return true;
  }

  bool visit() {
    parts_ = 0;
    if (!is_value(0) && op_->kind != OpKind::kAddmm && op_->kind != OpKind::kAdd &&
        op_->kind != OpKind::kMul) {
      return false;
    }
    if (is_value(0) && !is_float(value(0))) return false;
    switch (op_->kind) {
      case OpKind::kConv: return convolution(6);
      case OpKind::kConvolution: return !flag(6) && convolution(8);
      case OpKind::kLinear: return linear();
      case OpKind::kAddmm: return addmm();
      case OpKind::kMatmul: return matmul();
      case OpKind::kBatchNorm: return batch_norm();
      case OpKind::kLayerNorm: return layer_norm();
      case OpKind::kRelu: return activate({Function::kRelu});
      case OpKind::kRelu6: return activate({Function::kClip, 0, 6});
      case OpKind::kHardtanh:
        return activate({Function::kClip, static_cast<float>(number(1, -1)),
                         static_cast<float>(number(2, 1))});
      case OpKind::kHardswish: return activate({Function::kHardswish});
      case OpKind::kHardsigmoid: return hardsigmoid();
      case OpKind::kSilu: return activate({Function::kSwish, 1});
      case OpKind::kSigmoid: return activate({Function::kSigmoid});
      case OpKind::kTanh: return activate({Function::kTanh});
      case OpKind::kGelu:
        return activate({plain(1).is_str() && plain(1).to_str() == "tanh" ? Function::kGeluTanh
                                                                         : Function::kGeluErf});
      case OpKind::kAdd: return binary(false);
      case OpKind::kMul: return binary(true);
      case OpKind::kMaxPool: return max_pool();
      case OpKind::kAvgPool: return avg_pool();
      case OpKind::kAdaptivePool: return adaptive_pool();
      case OpKind::kMean: return mean();
      case OpKind::kFlatten: return flatten();
      case OpKind::kView: return view(ints(1));
      case OpKind::kPermute: return permute(ints(1));
      case OpKind::kTranspose: return transpose(number_int(1), number_int(2));
      case OpKind::kUnsqueeze: return unsqueeze();
      case OpKind::kContiguous:
        return (plain(1).is_none() || number_int(1) == 0) && set(value(0));
      case OpKind::kDropout: return plain(2).is_bool() && !flag(2) && set(value(0));
      case OpKind::kAttention: return attention();
      case OpKind::kMultiHead: return multi_head();
      case OpKind::kSplit: return split();
      case OpKind::kNone: return false;
    }
    return false;
  }
  int64_t number_int(size_t i) const {
    require(plain(i).is_int(), kRefused, "an argument is not a number");
    return plain(i).to_int();
  }

  bool convolution(size_t groups) {
    const int input = value(0);
    const Tensor weight = constant(1);
    const Tensor bias = constant(2);
    if (!is_dense_float(weight) || (!bias.defined() && !plain(2).is_none()) || is_value(2) ||
        (bias.defined() && bias.dtype() != ScalarType::kFloat) ||
        sizes(input).size() != static_cast<size_t>(weight.dim()) || weight.dim() != 4) {
      return false;
    }
    const IntVector stride = ints(3);
    const IntVector padding = ints(4);
    const IntVector dilation = ints(5);
    const ConvGeometry g = conv_geometry(sizes(input), weight.sizes(), stride, padding, dilation,
                                         false, {}, number_int(groups));
    IntVector out{g.batch, g.out_channels};
    for (int i = 3 - g.rank; i < 3; ++i) out.push_back(g.out[static_cast<size_t>(i)]);
    const bool is_product = g.groups == 1 && g.in_points() == 1 && g.kernel_points() == 1 &&
                            g.out_points() == 1;
    Layer& layer = add(is_product ? LayerKind::kGemm : LayerKind::kConv, {input}, out);
    layer.conv = g;
    layer.axis = 1;
    layer.weight = is_product ? kernels::transpose(
                                    reshape(weight, IntVector{g.out_channels, g.in_channels}), 0, 1)
                              : weight;
    layer.bias = bias;
    return set(layer.output);
  }

  // input [*, K] x weight [K, N].
  int product(int input, const Tensor& weight, const Tensor& bias) {
    IntVector out(sizes(input).begin(), sizes(input).end());
    require(!out.empty() && weight.dim() == 2 && is_dense_float(weight) &&
                out.back() == weight.size(0) && is_float(input) &&
                (!bias.defined() || (is_dense_float(bias) && bias.dim() == 1 &&
                                     bias.size(0) == weight.size(1))),
            kRefused, "a product with other operands");
    out.back() = weight.size(1);
    Layer& layer = add(LayerKind::kGemm, {input}, out);
    layer.axis = out.size() - 1;
    layer.weight = weight;
    layer.bias = bias;
    return layer.output;
  }
  bool linear() {
    const Tensor weight = constant(1);
    if (!weight.defined() || weight.dim() != 2 || is_value(2)) return false;
    return set(product(value(0), kernels::transpose(weight, 0, 1), constant(2)));
  }
  bool addmm() {
    if (!is_value(1) || is_value(0) || is_value(2) || number(3, 1) != 1 || number(4, 1) != 1) {
      return false;
    }
    return set(product(value(1), constant(2), constant(0)));
  }
  bool matmul() {
    if (is_value(1)) return false;
    return set(product(value(0), constant(1), Tensor()));
  }

  bool affine(int input, size_t axis, std::vector<float> scale, std::vector<float> shift) {
    Layer& layer = add(LayerKind::kAffine, {input}, IntVector(net_.values[static_cast<size_t>(input)].sizes));
    layer.axis = axis;
    layer.scale = std::move(scale);
    layer.shift = std::move(shift);
    return set(layer.output);
  }
  bool batch_norm() {
    const int input = value(0);
    const Tensor mean = constant(3);
    const Tensor variance = constant(4);
    if (flag(5) || !is_dense_float(mean) || !is_dense_float(variance) ||
        sizes(input).size() < 2 || mean.numel() != sizes(input)[1] ||
        variance.numel() != mean.numel()) {
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
      const double factor = (weight.defined() ? element(weight, c) : 1.0) /
                            std::sqrt(element(variance, c) + eps);
      scale[c] = static_cast<float>(factor);
      shift[c] = static_cast<float>((bias.defined() ? element(bias, c) : 0.0) -
                                    element(mean, c) * factor);
    }
    return affine(input, 1, std::move(scale), std::move(shift));
  }
  // Of a tensor with one dimension that is not 1.
  static double element(const Tensor& t, size_t i) {
    int64_t stride = 1;
    for (int64_t d = 0; d < t.dim(); ++d) {
      if (t.size(d) != 1) stride = t.stride(d);
    }
    return t.data<float>()[static_cast<int64_t>(i) * stride];
  }

  bool layer_norm() {
    const int input = value(0);
    const IntVector shape = ints(1);
    const Tensor weight = constant(2);
    const Tensor bias = constant(3);
    if (shape.size() != 1 || sizes(input).empty() || sizes(input).back() != shape[0]) return false;
    for (const Tensor* t : {&weight, &bias}) {
      if (t->defined() && (!is_dense_float(*t) || t->numel() != shape[0] || !t->is_contiguous()))
        return false;
    }
    Layer& layer = add(LayerKind::kLayerNorm, {input}, IntVector(net_.values[static_cast<size_t>(input)].sizes));
    layer.weight = weight;
    layer.bias = bias;
    layer.eps = number(4, 1e-5);
    return set(layer.output);
  }

  bool activate(Activation activation) {
    Layer& layer = add(LayerKind::kActivate, {value(0)}, IntVector(net_.values[static_cast<size_t>(value(0))].sizes));
    layer.activation = activation;
    return set(layer.output);
  }
  bool hardsigmoid() {
    Layer& line = add(LayerKind::kActivate, {value(0)}, IntVector(net_.values[static_cast<size_t>(value(0))].sizes));
    line.activation = {Function::kLinear, 1.0F / 6, 0.5F};
    const int middle = line.output;
    Layer& clip = add(LayerKind::kActivate, {middle}, IntVector(net_.values[static_cast<size_t>(middle)].sizes));
    clip.activation = {Function::kClip, 0, 1};
    return set(clip.output);
  }

  bool binary(bool multiplies) {
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
  int combine(int a, int b, bool multiplies) {
    const IntVector out = broadcast_shapes(sizes(a), sizes(b));
    if (!std::equal(out.begin(), out.end(), sizes(a).begin(), sizes(a).end())) std::swap(a, b);
    require(std::equal(out.begin(), out.end(), sizes(a).begin(), sizes(a).end()), kRefused,
            "operands that both broadcast");
    Layer& layer = add(LayerKind::kBinary, {a, b}, out);
    layer.multiplies = multiplies;
    return layer.output;
  }
  bool with_constant(int input, const IValue& other, bool multiplies) {
    if (other.is_number() && !other.is_complex()) {
      const auto x = static_cast<float>(other.to_scalar().to_double());
      return activate_value(input, {Function::kLinear, multiplies ? x : 1, multiplies ? 0 : x});
    }
    if (!other.is_tensor()) return false;
    const Tensor tensor = other.to_tensor();
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
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(element(tensor, i));
      std::vector<float> rest(numbers.size(), multiplies ? 0.0F : 1.0F);
      return multiplies ? affine(input, static_cast<size_t>(axis), numbers, rest)
                        : affine(input, static_cast<size_t>(axis), rest, numbers);
    }
    return set(combine(input, add_constant(tensor), multiplies));
  }
  bool activate_value(int input, Activation activation) {
    Layer& layer = add(LayerKind::kActivate, {input}, IntVector(net_.values[static_cast<size_t>(input)].sizes));
    layer.activation = activation;
    return set(layer.output);
  }

  // A tensor of these sizes without data, for functions that only look at sizes.
  static Tensor shell(IntSpan sizes) {
    return Tensor::from_storage(Storage::borrow(nullptr, 0, nullptr, Device{DeviceType::kMeta}),
                                ScalarType::kFloat, sizes, contiguous_strides(sizes), 0);
  }
  bool pool(const PoolWindow& window, bool is_max, bool counts_padding) {
    const int input = value(0);
    IntVector out{sizes(input)[0], sizes(input)[1]};
    for (int i = 3 - window.rank; i < 3; ++i) out.push_back(window.out[static_cast<size_t>(i)]);
    Layer& layer = add(LayerKind::kPool, {input}, out);
    layer.pool = window;
    layer.is_max = is_max;
    layer.counts_padding = counts_padding;
    return set(layer.output);
  }
  bool max_pool() {
    if (sizes(value(0)).size() != 4) return false;
    const IntVector dilation = ints(4);
    if (std::any_of(dilation.begin(), dilation.end(), [](int64_t d) { return d != 1; })) {
      return false;
    }
    return pool(pool_window(shell(sizes(value(0))), 2, ints(1), ints(2), ints(3), dilation, flag(5)),
                true, true);
  }
  bool avg_pool() {
    // Windows that reach over the padded end divide by other numbers than oneDNN's.
    if (sizes(value(0)).size() != 4 || flag(4) || !plain(6).is_none()) return false;
    return pool(
        pool_window(shell(sizes(value(0))), 2, ints(1), ints(2), ints(3), IntVector{1, 1}, false),
        false, flag(5));
  }
  bool adaptive_pool() {
    const IntVector wanted = ints(1);
    const IntSpan in = sizes(value(0));
    if (in.size() != 4 || wanted.size() != 2) return false;
    if (wanted[0] == 1 && wanted[1] == 1) return spatial_mean(true);
    if (wanted[0] <= 0 || wanted[1] <= 0 || in[2] % wanted[0] != 0 || in[3] % wanted[1] != 0) {
      return false;
    }
    const IntVector kernel{in[2] / wanted[0], in[3] / wanted[1]};
    return pool(pool_window(shell(in), 2, kernel, kernel, IntVector{0, 0}, IntVector{1, 1}, false),
                false, true);
  }
  bool spatial_mean(bool keep) {
    const IntSpan in = sizes(value(0));
    IntVector out{in[0], in[1]};
    if (keep) out.insert(out.end(), {1, 1});
    if (in[2] * in[3] == 0) return false;
    return set(add(LayerKind::kMean, {value(0)}, out).output);
  }
  bool mean() {
    IntVector dims = ints(1);
    const auto rank = static_cast<int64_t>(sizes(value(0)).size());
    if (rank != 4 || dims.size() != 2 || !plain(3).is_none()) return false;
    for (int64_t& d : dims) d = wrap_dim(d, rank);
    std::sort(dims.begin(), dims.end());
    return dims[0] == 2 && dims[1] == 3 && spatial_mean(flag(2));
  }

  bool view(IntVector wanted) {
    const int input = value(0);
    int64_t known = 1;
    int64_t* open = nullptr;
    for (int64_t& size : wanted) {
      if (size == -1) {
        if (open != nullptr) return false;
        open = &size;
      } else {
        known *= size;
      }
    }
    const int64_t count = numel_of(sizes(input));
    if (open != nullptr) {
      if (known <= 0 || count % known != 0) return false;
      *open = count / known;
      known *= *open;
    }
    if (known != count) return false;
    return set(add(LayerKind::kView, {input}, wanted).output);
  }
  bool flatten() {
    const IntSpan in = sizes(value(0));
    const auto rank = static_cast<int64_t>(in.size());
    if (rank == 0) return false;
    const int64_t start = wrap_dim(number_int(1), rank);
    const int64_t end = wrap_dim(number_int(2), rank);
    if (start > end) return false;
    IntVector out;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t size = in[static_cast<size_t>(d)];
      if (d > start && d <= end) {
        out.back() *= size;
      } else {
        out.push_back(size);
      }
    }
    return view(out);
  }
  bool unsqueeze() {
    IntVector out(sizes(value(0)).begin(), sizes(value(0)).end());
    const int64_t at = wrap_dim(number_int(1), static_cast<int64_t>(out.size()) + 1);
    out.insert(out.begin() + at, 1);
    return set(add(LayerKind::kView, {value(0)}, out).output);
  }
  bool permute(IntVector order) {
    const IntSpan in = sizes(value(0));
    if (order.size() != in.size()) return false;
    IntVector out;
    for (int64_t& d : order) {
      d = wrap_dim(d, static_cast<int64_t>(in.size()));
      out.push_back(in[static_cast<size_t>(d)]);
    }
    Layer& layer = add(LayerKind::kPermute, {value(0)}, out);
    layer.order = order;
    return set(layer.output);
  }
  bool transpose(int64_t a, int64_t b) {
    const auto rank = static_cast<int64_t>(sizes(value(0)).size());
    IntVector order;
    for (int64_t d = 0; d < rank; ++d) order.push_back(d);
    std::swap(order[static_cast<size_t>(wrap_dim(a, rank))],
              order[static_cast<size_t>(wrap_dim(b, rank))]);
    return permute(order);
  }
  int slice(int input, size_t axis, int64_t first, int64_t count) {
    IntVector out(sizes(input).begin(), sizes(input).end());
    out[axis] = count;
    Layer& layer = add(LayerKind::kSlice, {input}, out);
    layer.axis = axis;
    layer.first = first;
    return layer.output;
  }
  bool split() {
    const IntSpan in = sizes(value(0));
    const auto axis =
        static_cast<size_t>(wrap_dim(number_int(2), static_cast<int64_t>(in.size())));
    const int64_t total = in[axis];
    IntVector counts = ints(1);
    if (plain(1).is_int()) {
      if (counts[0] <= 0 || total % counts[0] != 0) return false;
      counts.assign(static_cast<size_t>(total / counts[0]), counts[0]);
    }
    if (counts.size() != op_->outputs.size()) return false;
    int64_t first = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (first + counts[i] > total || counts[i] < 0) return false;
      set(slice(value(0), axis, first, counts[i]), i);
      first += counts[i];
    }
    return first == total;
  }

  int attend(int query, int key, int value, int mask, double scale, bool is_causal) {
    const IntSpan q = sizes(query);
    const IntSpan k = sizes(key);
    const IntSpan v = sizes(value);
    require(q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] && q[0] == v[0] &&
                q[1] == k[1] && q[1] == v[1] && q[3] == k[3] && k[2] == v[2] && is_float(key) &&
                is_float(value) && k[2] > 0 && q[3] > 0 && numel_of(q) > 0,
            kRefused, "attention over other shapes");
    const IntVector out{q[0], q[1], q[2], v[3]};
    Layer& layer = add(LayerKind::kAttention, {query, key, value}, out);
    if (mask >= 0) layer.inputs.push_back(mask);
    layer.attention_scale = scale;
    layer.is_causal = is_causal;
    return layer.output;
  }
  bool attention() {
    if (!is_value(1) || !is_value(2) || number(4, 0) != 0 || flag(7)) return false;
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
  bool multi_head() {
    const int input = value(0);
    if (!is_value(1) || !is_value(2) || value(1) != input || value(2) != input ||
        !plain(9).is_none() || is_value(9) || flag(10) || sizes(input).size() != 3) {
      return false;
    }
    const int64_t embed = number_int(3);
    const int64_t heads = number_int(4);
    const IntVector in(sizes(input).begin(), sizes(input).end());
    const Tensor qkv = constant(5);
    const Tensor out = constant(7);
    if (!qkv.defined() || !out.defined() || heads <= 0 || embed % heads != 0 || in[2] != embed ||
        qkv.dim() != 2 || out.dim() != 2 || qkv.size(0) != 3 * embed) {
      return false;
    }
    const int packed = product(input, kernels::transpose(qkv, 0, 1), constant(6));
    const int64_t depth = embed / heads;
    const int parts = add(LayerKind::kView, {packed}, IntVector{in[0], in[1], 3, heads, depth}).output;
    int part[3];
    for (int i = 0; i < 3; ++i) {
      const int one = slice(parts, 2, i, 1);
      const int rows = add(LayerKind::kView, {one}, IntVector{in[0], in[1], heads, depth}).output;
      Layer& layer = add(LayerKind::kPermute, {rows}, IntVector{in[0], heads, in[1], depth});
      layer.order = {0, 2, 1, 3};
      part[i] = layer.output;
    }
    const int mixed = attend(part[0], part[1], part[2], -1,
                             1 / std::sqrt(static_cast<double>(depth)), false);
    Layer& back = add(LayerKind::kPermute, {mixed}, IntVector{in[0], in[1], heads, depth});
    back.order = {0, 2, 1, 3};
    const int back_value = back.output;
    const int joined = add(LayerKind::kView, {back_value}, in).output;
    return set(product(joined, kernels::transpose(out, 0, 1), constant(8)));
  }

  void count_uses() {
    for (const Layer& layer : net_.layers) {
      for (const int input : layer.inputs) ++net_.values[static_cast<size_t>(input)].uses;
    }
    for (const int output : net_.outputs) ++net_.values[static_cast<size_t>(output)].uses;
  }

  const Program& program_;
  const Op* op_ = nullptr;
  int parts_ = 0;
  std::vector<IValue> known_;
  std::vector<int> ids_;
  LayerNet net_;
};

}  // namespace

LayerNet resolve(const Program& program, std::span<const IValue> inputs) {
  return Resolver(program, inputs).run();
}

}  // namespace tierup::kernels::net
