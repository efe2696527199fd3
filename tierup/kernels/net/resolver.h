// Resolver: sizes forward through a program, operator by operator; see layers.h.
#pragma once

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/shape/padding.h"

namespace tierup::kernels::net {

class Resolver {
 public:
  Resolver(const Program& program, std::span<const IValue> inputs);
  LayerNet run();

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
        require_compiled(item.is_int(), NetRefusal::kArguments);
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
    require_compiled(parts_ < kLayersOfOperator, NetRefusal::kArguments);
    Layer layer;
    layer.kind = kind;
    layer.id = static_cast<int>(&*op_ - program_.ops.data()) * kLayersOfOperator + parts_++;
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
  // Of traced programs, also a tensor without dimensions.
  int64_t number_int(size_t i) const {
    const IValue& v = plain(i);
    if (v.is_tensor() && v.to_tensor().dim() == 0 && is_integral(v.to_tensor().dtype(), false))
      return v.to_scalar().to_int();
    require_compiled(v.is_int(), NetRefusal::kArguments);
    return v.to_int();
  }

  // Each takes the operator at hand; false: its arguments are not compiled.
  bool visit();
  bool know(const IValue& number);
  bool size_of();
  bool list();
  bool arithmetic();
  bool power();
  ConvGeometry geometry(IntSpan input, IntSpan weight, int64_t groups) const;
  static bool is_line_of_rows(const ConvGeometry& g);
  // The input of such a convolution with its rows as channels; its numbers and weight become those
  // of a convolution of that.
  int line_of_rows(int input, ConvGeometry& g, Tensor& weight);
  bool convolution(size_t groups);
  // Where dilation, output padding and groups stand.
  bool transposed_convolution(size_t dilation, size_t output_padding, size_t groups);
  bool transposed_volumes(int input, const ConvGeometry& g, const Tensor& weight,
                          const Tensor& bias);
  // input [*, K] x weight [K, N].
  int product(int input, const Tensor& weight, const Tensor& bias);
  bool linear();
  bool addmm();
  bool matmul();
  bool batch_matmul();
  bool affine(int input, size_t axis, std::vector<float> scale, std::vector<float> shift);
  bool batch_norm();
  // Of a tensor with one dimension that is not 1.
  static double element(const Tensor& t, size_t i);
  bool layer_norm();
  // Over the last dimension; -1 if weight or bias do not fit it.
  int normalized(int input, const Tensor& weight, const Tensor& bias, double eps);
  bool activate(Activation activation);
  bool hardsigmoid();
  static bool is_float_code(const IValue& dtype);
  bool prelu();
  bool elu();
  // Between the numbers of these arguments; kNoArgument, or one that is None: without that end.
  static constexpr size_t kNoArgument = SIZE_MAX;
  bool clamp(size_t low, size_t high);
  bool softmax();
  bool binary(bool multiplies);
  bool subtract();
  bool reverse_subtract();
  bool divide();
  // The constant times a number.
  static Tensor scaled(const Tensor& tensor, float factor);
  int combine(int a, int b, bool multiplies);
  bool is_no_larger(IntSpan out) const;
  // The value before entries of it were repeated.
  int before_repeats(int id) const;
  bool with_constant(int input, const IValue& other, bool multiplies);
  int activated(int input, Activation activation);
  bool activate_value(int input, Activation activation);
  // A tensor of these sizes without data, for functions that only look at sizes.
  static Tensor shell(IntSpan sizes);
  bool pool(const PoolWindow& window, bool is_max, bool counts_padding);
  bool max_pool(int rank);
  bool avg_pool(int rank);
  bool adaptive_pool(int rank);
  bool adaptive_max();
  // All dimensions from `first` on, which is a spatial one.
  int over_points(int input, Reduction reduction, size_t first, bool keep);
  std::optional<size_t> first_of_points(int input, const IntVector& dims) const;
  // Over one dimension, with that as the last one.
  int over_row(int input, Reduction reduction, size_t dim, bool keep);
  // Over dimensions, in order, that are no row and no points.
  int over_dims(int input, Reduction reduction, const IntVector& dims, bool keep);
  // Over any dimensions; -1 if it is not compiled.
  int reduced(int input, Reduction reduction, IntVector dims, bool keep);
  bool reduce(Reduction reduction);
  bool norm();
  // The value with its dimension as the last one, or back.
  int turned(int id, size_t dim, bool back);
  int function(int input, Body body);
  // The operands of kPointwise: values, or numbers. None: one is neither.
  std::optional<std::vector<std::variant<int, float>>> operands();
  bool pointwise();
  bool roll();
  bool rms_norm();
  // Over groups of channels; 0: each channel by itself.
  bool grouped_norm(int64_t groups, size_t weight, double eps);
  bool instance_norm();
  // A layer that reads points where `sources`, of a spatial dimension of this size, says.
  using Sources = std::function<std::vector<int64_t>(size_t spatial, int64_t size)>;
  bool points(const Sources& sources, double fill);
  bool constant_pad(const IntVector& pad, double fill);
  bool border_pad(const IntVector& pad, Border border);
  bool pad();
  // What resampling to the sizes of an argument, or else by factors, makes of the spatial
  // dimensions; none for arguments that fit no rank.
  using Factors = std::vector<std::optional<double>>;
  std::vector<ResampleDimension> resampled(size_t size, const Factors& factors) const;
  // A factor for each spatial dimension: the arguments from this one on, or a list of them.
  Factors factors_from(size_t first) const;
  Factors factors_in(size_t list) const;
  bool nearest(const std::vector<ResampleDimension>& dimensions);
  bool linear_resample(const std::vector<ResampleDimension>& dimensions);
  // The input as `parts`, their order changed, and as `out`.
  bool rearranged(const IntVector& parts, const IntVector& order, const IntVector& out);
  bool pixel_shuffle();
  bool pixel_unshuffle();
  bool channel_shuffle();
  bool slice_of();
  // Of a constant, which is another one.
  bool constant_view();
  // The value with these sizes, -1 for those of its own; -1 if it has others.
  int expanded(int input, const IntVector& wanted);
  bool expand(const IntVector& wanted);
  // Of the second argument, a value or a constant; none if it is neither.
  std::optional<IntVector> sizes_of_other() const;
  bool expand_as();
  // The one entry of a dimension, `count` times.
  int repeat_entry(int input, size_t axis, int64_t count);
  bool view(IntVector wanted);
  bool flatten();
  bool unsqueeze();
  bool squeeze(bool all);
  bool unflatten();
  // Entry `index` of a dimension, which goes.
  int entry_of(int input, size_t axis, int64_t index);
  bool select();
  bool unbind();
  bool glu();
  bool masked_fill();
  bool permute(IntVector order);
  bool transpose(int64_t a, int64_t b);
  int slice(int input, size_t axis, int64_t first, int64_t count, int64_t step = 1);
  bool split();
  bool chunk();
  bool tensors();
  bool cat();
  // Null: the first argument is no list of the program.
  const std::vector<int>* list_of_tensors() const;
  bool join(const std::vector<int>& items, size_t axis);
  bool stack_along(int64_t dim);
  bool stack_columns();
  bool stack_rows();
  bool like();
  bool move_dims();
  bool turn_matrices();
  bool turn_matrix();
  bool narrow();
  bool view_as();
  // The whole value, `count` times one behind the other.
  int copies_along(int input, size_t axis, int64_t count);
  bool repeat(bool is_tile);
  bool repeat_each();
  bool flip();
  int attend(int query, int key, int value, int mask, double scale, bool is_causal);
  bool attention();
  // Attention of a sequence [batch, length, width] to itself; -1 if it is not compiled. The mask,
  // an argument of the operator, hides where it is true, or is added.
  struct HeadArguments {
    size_t embed, heads, qkv_weight, qkv_bias, out_weight, out_bias, mask, mask_type;
  };
  int self_attention(int input, const HeadArguments& at);
  bool multi_head();
  bool encoder_layer();
  void count_uses();
  void find_constants();

  const Program& program_;
  const Op* op_ = nullptr;
  int parts_ = 0;
  std::vector<IValue> known_;
  std::vector<int> ids_;
  std::unordered_map<int, std::vector<int>> lists_;  // Of tensors, by the program's value.
  LayerNet net_;
};

}  // namespace tierup::kernels::net
