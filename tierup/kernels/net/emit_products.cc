// Matrix products, and what hangs on them and on convolutions.
#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/copy.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/post_operations.h"
#include "tierup/kernels/onednn_engine.h"

namespace tierup::kernels::net {
dnnl::primitive_attr Emitter::attributes(const Layer& layer) const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops operations;
  for (const Epilogue& e : layer.epilogue) {
    if (e.summand >= 0) {
      operations.append_sum(1);
    } else {
      append(operations, e.activation);
    }
  }
  attributes.set_post_ops(operations);
  return attributes;
}

std::vector<float> Emitter::folded_bias(const Layer& layer) const {
  const auto channels = static_cast<size_t>(value(layer.output).sizes[layer.axis]);
  std::vector<float> bias(channels, 0);
  for (size_t c = 0; c < channels; ++c) {
    if (layer.bias.defined()) {
      bias[c] = layer.bias.data<float>()[static_cast<int64_t>(c) * layer.bias.stride(0)];
    }
    if (!layer.scale.empty()) bias[c] = bias[c] * layer.scale[c] + layer.shift[c];
  }
  return bias;
}

// The buffer that the result goes to: the summand's own, or one that the summand was copied to.
Home Emitter::result_home(const Layer& layer, const memory::desc& layout) {
  for (const Epilogue& e : layer.epilogue) {
    if (e.summand < 0) continue;
    const Home summand = home_in(e.summand, layout);
    const bool is_read_too = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int input) {
      return root_[static_cast<size_t>(input)] == root_[static_cast<size_t>(e.summand)];
    });
    if (!is_read_too && may_overwrite(e.summand, summand)) return summand;
    const Home own = fresh(layout);
    copy(summand, own);
    return own;
  }
  return fresh(layout);
}

Tensor Emitter::scaled_weight(const Layer& layer) {
  if (layer.scale.empty()) return layer.weight;
  const Tensor weight = clone(layer.weight, MemoryFormat::kContiguous);
  const auto columns = static_cast<int64_t>(layer.scale.size());
  for (int64_t i = 0; i < weight.numel(); ++i)
    weight.data<float>()[i] *= layer.scale[static_cast<size_t>(i % columns)];
  return weight;
}

void Emitter::product(const Layer& layer) {
  if (is_row_product(layer)) return row_product(layer);
  if (is_single_row(layer)) return single_row(layer);
  const IntVector& in = value(layer.inputs[0]).sizes;
  const IntVector& out = value(layer.output).sizes;
  const int64_t k = layer.weight.size(0);
  const int64_t n = layer.weight.size(1);
  const int64_t m = numel_of(in) / k;
  const IntVector source_sizes{m, k};
  const IntVector target_sizes{m, n};
  const memory::desc bias_layout({1, n}, memory::data_type::f32, memory::format_tag::ab);
  const auto describe_with = [&](const memory::desc& weights) {
    return dnnl::matmul::primitive_desc(
        {row_major(source_sizes), weights, bias_layout, row_major(target_sizes)}, attributes(layer),
        onednn_engine());
  };
  const auto known = weights_.known_layout(layer.weights_id * 2);
  dnnl::matmul::primitive_desc pd;
  try {
    pd = describe_with(known ? *known : any_layout(IntVector{k, n}));
  } catch (const dnnl::error&) {
    if (!known) throw;
    pd = describe_with(any_layout(IntVector{k, n}));
  }
  Home source = home_in(layer.inputs[0], row_major(in));
  source.layout = row_major(source_sizes);
  const Tensor weight = scaled_weight(layer);
  const Home weights = packed(layer.weights_id * 2, weight, pd.weights_desc(),
                              strided(weight.sizes(), weight.strides()));
  Home bias = vector_of(layer.weights_id * 2 + 1, folded_bias(layer));
  bias.layout = bias_layout;
  const Home result = result_home(layer, row_major(out));
  Home target = result;
  target.layout = row_major(target_sizes);
  act(dnnl::matmul(pd), {{DNNL_ARG_SRC, source},
                         {DNNL_ARG_WEIGHTS, weights},
                         {DNNL_ARG_BIAS, bias},
                         {DNNL_ARG_DST, target},
                         scratch(pd.scratchpad_desc())});
  settle(layer.output, result);
}

// Operands are read where they lie if one of their last two dimensions is dense.
void Emitter::batch_product(const Layer& layer) {
  const auto operand = [&](int id) {
    const Home home = plain_home(id);
    const IntVector strides = strides_of(home.layout);
    const size_t rank = strides.size();
    const bool is_readable = strides[rank - 1] == 1 || strides[rank - 2] == 1;
    return is_readable ? home : home_in(id, row_major(value(id).sizes));
  };
  const Home left = operand(layer.inputs[0]);
  const Home right = operand(layer.inputs[1]);
  const Home target = fresh(row_major(value(layer.output).sizes));
  const dnnl::matmul::primitive_desc pd({left.layout, right.layout, target.layout},
                                        attributes(layer), onednn_engine());
  act(dnnl::matmul(pd), {{DNNL_ARG_SRC, left},
                         {DNNL_ARG_WEIGHTS, right},
                         {DNNL_ARG_DST, target},
                         scratch(pd.scratchpad_desc())});
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
