// Matrix products, and what hangs on them and on convolutions.
#include <fmt/format.h>

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/post_operations.h"
#include "tierup/kernels/net/weight_factors.h"
#include "tierup/kernels/onednn/onednn_engine.h"

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

std::vector<float> Emitter::grouped_bias(const Layer& layer) const {
  std::vector<float> bias = folded_bias(layer);
  bias.resize(static_cast<size_t>(grouped_channels(static_cast<int64_t>(bias.size()))), 0);
  return bias;
}

// The buffer that the result goes to: the summand's own, or one that the summand was copied to.
BufferLayout Emitter::result_place(const Layer& layer, const memory::desc& layout) {
  for (const Epilogue& e : layer.epilogue) {
    if (e.summand < 0) continue;
    const BufferLayout summand = place_in(e.summand, layout);
    const bool is_read_too = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int input) {
      return root_[static_cast<size_t>(input)] == root_[static_cast<size_t>(e.summand)];
    });
    if (!is_read_too && may_overwrite(e.summand, summand)) return summand;
    const BufferLayout own = fresh(layout);
    copy(summand, own);
    return own;
  }
  return fresh(layout);
}

Tensor Emitter::scaled_weight(const Layer& layer) {
  if (layer.scale.empty()) return layer.weight;
  const Tensor weight = clone(layer.weight, MemoryFormat::kContiguous);
  const auto columns = static_cast<int64_t>(layer.scale.size());
  multiply_panel(weight.data<float>(), weight.numel() / columns, columns, layer.scale.data(),
                 columns);
  return weight;
}

PanelConvolution Emitter::product_problem(const Layer& layer) const {
  const int64_t k = layer.weight.size(0);
  return panel_product_problem(numel_of(value(layer.inputs[0]).sizes) / k, k, layer.weight.size(1));
}

bool Emitter::has_choice(const Layer& layer) const {
  return !is_outer_product(layer) && !is_row_product(layer) &&
         (!is_single_row(layer) || may_stay_in_place(layer));
}

void Emitter::product(const Layer& layer) {
  if (is_outer_product(layer)) return outer_product(layer);
  if (is_row_product(layer)) return row_product(layer);
  if (!has_choice(layer)) return single_row(layer);
  switch (product_algorithm(layer)) {
    case Algorithm::kPanels: return panel_product(layer);
    case Algorithm::kRowPanels: return single_row(layer);
    case Algorithm::kInPlace: return product_in_place(layer);
    default: return onednn_product(layer);
  }
}

// The first is taken where nothing is measured.
std::vector<Algorithm> Emitter::product_algorithms(const Layer& layer) const {
  const PanelConvolution problem = product_problem(layer);
  std::vector<Algorithm> result;
  if (may_stay_in_place(layer)) result.push_back(Algorithm::kInPlace);
  if (is_single_row(layer)) {
    result.push_back(Algorithm::kRowPanels);
  } else if (store_steps(layer)) {
    const std::vector<Algorithm> direct = panels_and_onednn(problem.out_channels);
    result.insert(result.end(), direct.begin(), direct.end());
  }
  return result;
}

// One copy of the weights serves all sizes, so their first net decides.
std::optional<Algorithm> Emitter::only_product_algorithm(const Layer& layer) const {
  const std::vector<Algorithm> candidates = product_algorithms(layer);
  if (candidates.empty()) return Algorithm::kOneDnn;
  // Packed for one number of rows, weights serve all; in place they serve each as it is measured.
  const auto serves = [&](Algorithm known) {
    return known == Algorithm::kPanels || known == Algorithm::kOneDnn ||
           (known == Algorithm::kRowPanels && is_single_row(layer));
  };
  if (const auto known = weights_.algorithm(layer.weights_id); known && serves(*known))
    return *known;
  if (options_.measures) return std::nullopt;
  return candidates.front() == Algorithm::kInPlace ? candidates.front() : Algorithm::kOneDnn;
}

Algorithm Emitter::product_algorithm(const Layer& layer) {
  if (const auto only = only_product_algorithm(layer)) return *only;
  const Algorithm chosen = measured(product_choice(layer));
  weights_.set_algorithm(layer.weights_id, chosen);
  return chosen;
}

void Emitter::panel_product(const Layer& layer) {
  const PanelConvolution problem = product_problem(layer);
  const ConvolutionPlan plan = plan_convolution(problem, intra_op_threads());
  const memory::desc packed_as = row_major(IntVector{convolution_weight_count(problem)});
  const BufferLayout source = place_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  auto fill = [layer, problem](char* to) {
    const Tensor weight = scaled_weight(layer);
    pack_product_weight(problem, weight.data<float>(), weight.stride(0), weight.stride(1),
                        reinterpret_cast<float*>(to));
    return give_back_pages(layer.weight);
  };
  const BufferLayout weights =
      stored(layer.weights_id * 2, packed_as,
             packed_name(layer, PackedForm::kPanels, packed_as, {problem.panel}), std::move(fill));
  const BufferLayout bias = vector_of(layer.weights_id * 2 + 1, grouped_bias(layer));
  const BufferLayout target = result_place(layer, row_major(value(layer.output).sizes));
  const BufferLayout room = fresh(row_major(IntVector{plan.scratch()}));
  act_panels(layer, problem, plan, {source, weights, bias, target, room});
  settle(layer.output, target);
}

// With weights as they were packed before, if they were.
dnnl::matmul::primitive_desc Emitter::describe_product(
    const Layer& layer, const PanelConvolution& p,
    const std::optional<memory::desc>& packed_as) const {
  const memory::desc weights =
      packed_as ? *packed_as : any_layout(IntVector{p.depth(), p.out_channels});
  return dnnl::matmul::primitive_desc(
      {row_major(IntVector{p.rows(), p.depth()}), weights, row_major(IntVector{1, p.out_channels}),
       row_major(IntVector{p.rows(), p.out_channels})},
      attributes(layer), onednn_engine());
}

void Emitter::onednn_product(const Layer& layer) {
  const auto known = weights_.known_layout(layer.weights_id * 2);
  const PanelConvolution problem = product_problem(layer);
  dnnl::matmul::primitive_desc pd;
  try {
    pd = describe_product(layer, problem, known);
  } catch (const dnnl::error&) {
    if (!known) throw;
    pd = describe_product(layer, problem, std::nullopt);
  }
  BufferLayout source = place_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  source.layout = pd.src_desc();
  const Tensor& given = layer.weight;
  const memory::desc outer =
      layer.scale.empty() ? strided(given.sizes(), given.strides()) : row_major(given.sizes());
  const BufferLayout weights = packed(
      layer.weights_id * 2, layer, [layer] { return scaled_weight(layer); }, pd.weights_desc(),
      outer);
  BufferLayout bias = vector_of(layer.weights_id * 2 + 1, folded_bias(layer));
  bias.layout = pd.bias_desc();
  const BufferLayout result = result_place(layer, row_major(value(layer.output).sizes));
  BufferLayout target = result;
  target.layout = pd.dst_desc();
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
    const BufferLayout place = plain_place(id);
    const IntVector strides = strides_of(place.layout);
    const size_t rank = strides.size();
    const bool is_readable = strides[rank - 1] == 1 || strides[rank - 2] == 1;
    return is_readable ? place : place_in(id, row_major(value(id).sizes));
  };
  const BufferLayout left = operand(layer.inputs[0]);
  const BufferLayout right = operand(layer.inputs[1]);
  const BufferLayout target = fresh(row_major(value(layer.output).sizes));
  const dnnl::matmul::primitive_desc pd({left.layout, right.layout, target.layout},
                                        attributes(layer), onednn_engine());
  act(dnnl::matmul(pd), {{DNNL_ARG_SRC, left},
                         {DNNL_ARG_WEIGHTS, right},
                         {DNNL_ARG_DST, target},
                         scratch(pd.scratchpad_desc())});
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
