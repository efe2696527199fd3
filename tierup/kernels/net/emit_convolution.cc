// Convolutions: by oneDNN, or by algorithms of our own where these measure faster.
#include <algorithm>
#include <string_view>

#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/kernels/net/channel_convolution.h"
#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/finished_rows.h"
#include "tierup/kernels/net/post_operations.h"
#include "tierup/kernels/net/step_loops.h"
#include "tierup/kernels/net/weight_factors.h"
#include "tierup/kernels/onednn/onednn_engine.h"

namespace tierup::kernels::net {
namespace {

using dnnl::convolution_forward;

memory::dims last(const ConvGeometry::Triple& triple, int rank, int64_t subtract = 0) {
  memory::dims result;
  for (int i = 3 - rank; i < 3; ++i) result.push_back(triple[static_cast<size_t>(i)] - subtract);
  return result;
}

IntVector weight_sizes(const ConvGeometry& g) {
  IntVector sizes;
  if (g.groups > 1) sizes.push_back(g.groups);
  sizes.push_back(g.out_channels / g.groups);
  sizes.push_back(g.in_channels / g.groups);
  for (const int64_t k : last(g.kernel, g.rank)) sizes.push_back(k);
  return sizes;
}

}  // namespace

bool Emitter::has_epilogue(const convolution_forward::primitive_desc& pd) {
  return pd.get_primitive_attr().get_post_ops().len() > 0;
}

bool Emitter::is_by_small_products(const convolution_forward::primitive_desc& pd) {
  return std::string_view(pd.impl_info_str()).starts_with("brg");
}

// Channels last wherever oneDNN has more than reference code for that.
convolution_forward::primitive_desc Emitter::describe(const Layer& layer) const {
  const ConvGeometry& g = layer.conv;
  const IntVector in = image_sizes(g, g.in_channels, g.in);
  const IntVector out = image_sizes(g, g.out_channels, g.out);
  const memory::desc bias({g.out_channels}, memory::data_type::f32, memory::format_tag::x);
  const memory::desc weight = any_layout(weight_sizes(g));
  const auto make = [&](const memory::desc& source, const memory::desc& target) {
    return convolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source, weight,
         bias, target, last(g.stride, g.rank), last(g.dilation, g.rank, 1), last(g.padding, g.rank),
         last(g.padding_after, g.rank)},
        attributes(layer), onednn_engine());
  };
  const auto pd = make(channels_last(in), channels_last(out));
  if (!is_reference(pd)) return pd;
  return make(any_layout(in), any_layout(out));
}

// oneDNN has but reference code for some epilogues, hundreds of times as slow: at one level a sum
// behind another step.
convolution_forward::primitive_desc Emitter::describe_apart(const Layer& layer) const {
  auto pd = describe(layer);
  if (!is_reference(pd) || layer.epilogue.empty() || !store_steps(layer)) return pd;
  Layer alone = layer;
  alone.epilogue.clear();
  auto plain = describe(alone);
  const ConvGeometry& g = layer.conv;
  const auto bytes = static_cast<size_t>(g.batch * g.out_channels * g.out_points()) * sizeof(float);
  return plain.dst_desc().get_size() == bytes ? plain : pd;
}

Tensor Emitter::dense_weight(const Layer& layer) {
  const Tensor given = contiguous(layer.weight);
  if (layer.scale.empty()) return given;
  Tensor weight = Tensor::empty(given.sizes(), ScalarType::kFloat);
  const int64_t each = given.numel() / layer.conv.out_channels;
  const auto* from = given.data<float>();
  auto* to = weight.data<float>();
  parallel_for(0, layer.conv.out_channels, grain_of(each), [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) {
      const float factor = layer.scale[static_cast<size_t>(channel)];
      multiply_weights(from + channel * each, factor, each, to + channel * each);
    }
  });
  return weight;
}

void Emitter::convolution(const Layer& layer) {
  const Algorithm algorithm = algorithm_for(layer);
  switch (algorithm) {
    case Algorithm::kOneDnn: return onednn_convolution(layer);
    case Algorithm::kPanels: return panels(layer);
    case Algorithm::kPlanes: return planes(layer);
    case Algorithm::kChannels: return channels(layer);
    case Algorithm::kWinograd2:
    case Algorithm::kWinograd4:
    case Algorithm::kWinogradFew: return winograd(layer, algorithm);
    case Algorithm::kInPlace:
    case Algorithm::kRowPanels: break;  // Of products.
  }
}

void Emitter::onednn_convolution(const Layer& given) {
  const bool swishes = ends_with_large_swish(given);
  const Layer layer = swishes ? without_swish(given) : given;
  const auto pd = describe_apart(layer);
  if (!has_epilogue(pd) && !layer.epilogue.empty()) return onednn_convolution_alone(given, pd);
  const BufferLayout target =
      act_convolution(layer, pd, [&] { return result_place(layer, pd.dst_desc()); });
  if (swishes) {
    // Padding of channels, if there is any, takes part.
    const auto count = static_cast<int64_t>(pd.dst_desc().get_size() / sizeof(float));
    act([=](Bases bases) { swish_in_place(at(bases, target), count); }, {target});
  }
  settle(layer.output, target);
}

// The epilogue in a pass of its own.
void Emitter::onednn_convolution_alone(const Layer& layer,
                                       const convolution_forward::primitive_desc& pd) {
  const BufferLayout result = act_convolution(layer, pd, [&] { return fresh(pd.dst_desc()); });
  const FinishedRows finish = finished_in_place(layer, result);
  const auto count = static_cast<int64_t>(pd.dst_desc().get_size() / sizeof(float));
  act([=](Bases bases) { finish.run(bases, count, 1, [](int64_t, int64_t, float*) {}); },
      {finish.summand, finish.target});
  settle(layer.output, finish.target);
}

BufferLayout Emitter::act_convolution(const Layer& layer,
                                      const convolution_forward::primitive_desc& pd,
                                      const std::function<BufferLayout()>& place_result) {
  const BufferLayout source = place_in(layer.inputs[0], pd.src_desc());
  const BufferLayout weights = packed(
      layer.id * 2, layer, [layer] { return dense_weight(layer); }, pd.weights_desc(),
      row_major(weight_sizes(layer.conv)));
  const BufferLayout bias = vector_of(layer.id * 2 + 1, folded_bias(layer));
  const BufferLayout target = place_result();
  act(convolution_forward(pd), {{DNNL_ARG_SRC, source},
                                {DNNL_ARG_WEIGHTS, weights},
                                {DNNL_ARG_BIAS, bias},
                                {DNNL_ARG_DST, target},
                                scratch(pd.scratchpad_desc())});
  return target;
}

BufferLayout Emitter::own_weights(const Layer& layer, const OwnWeights& own) {
  auto fill = [layer, own](char* to) {
    const bool multiplies = own.multiplies && !layer.scale.empty();
    const Tensor weight = multiplies ? contiguous(layer.weight) : dense_weight(layer);
    const float* factors = multiplies ? layer.scale.data() : nullptr;
    own.pack(weight.data<float>(), factors, reinterpret_cast<float*>(to));
    return give_back_pages(layer.weight);
  };
  return stored(layer.id * 2, own.layout, packed_name(layer, own.form, own.layout, own.numbers),
                std::move(fill));
}

Emitter::OwnHomes Emitter::own_homes(const Layer& layer, const memory::desc& source_as,
                                     const OwnWeights& own, int64_t room) {
  const BufferLayout source = place_in(layer.inputs[0], source_as);
  const BufferLayout weights = own_weights(layer, own);
  const BufferLayout bias = vector_of(layer.id * 2 + 1, grouped_bias(layer));
  const BufferLayout target = result_place(layer, channels_last(value(layer.output).sizes));
  return {source, weights, bias, target, fresh(row_major(IntVector{room}))};
}

void Emitter::winograd(const Layer& layer, Algorithm algorithm) {
  out_.spreads_nans = true;
  const Winograd problem = winograd_problem(layer.conv, algorithm);
  const WinogradPlan plan = plan_winograd(problem, intra_op_threads());
  const int64_t panel = winograd_panel(problem) * 9;
  const OwnHomes h = own_homes(layer, channels_last(value(layer.inputs[0]).sizes),
                               {PackedForm::kWinograd,
                                {winograd_panel(problem)},
                                row_major(IntVector{winograd_weight_count(problem) / panel, panel}),
                                [problem](const float* weight, const float* factors, float* to) {
                                  pack_winograd_weight(problem, weight, factors, to);
                                },
                                true},
                               plan.scratch());
  act(
      [=, steps = *store_steps(layer)](Bases bases) {
        run_winograd(problem, plan, at(bases, h.source), at(bases, h.weights), at(bases, h.bias),
                     steps, at(bases, h.target), at(bases, h.room));
      },
      {h.source, h.weights, h.bias, h.target, h.room});
  settle(layer.output, h.target);
}

// An image that comes as planes is read so.
PanelConvolution Emitter::panels_of(const Layer& layer) {
  PanelConvolution problem = panel_problem(layer.conv);
  const int input = layer.inputs[0];
  problem.is_planar = layer.conv.rank <= 2 && problem.in_channels < kConvolutionRun &&
                      same_layout(any_place(input).layout, row_major(value(input).sizes));
  return problem;
}

void Emitter::act_panels(const Layer& layer, const PanelConvolution& problem,
                         const ConvolutionPlan& plan, const OwnHomes& h) {
  act(
      [=, steps = *store_steps(layer)](Bases bases) {
        run_convolution(problem, plan, at(bases, h.source), at(bases, h.weights), at(bases, h.bias),
                        steps, at(bases, h.target), at(bases, h.room));
      },
      {h.source, h.weights, h.bias, h.target, h.room});
}

void Emitter::panels(const Layer& layer) {
  const PanelConvolution problem = panels_of(layer);
  const ConvolutionPlan plan = plan_convolution(problem, intra_op_threads());
  const OwnHomes h = own_homes(layer,
                               problem.is_planar ? row_major(value(layer.inputs[0]).sizes)
                                                 : channels_last(value(layer.inputs[0]).sizes),
                               {PackedForm::kPanels,
                                {problem.panel},
                                row_major(IntVector{convolution_weight_count(problem)}),
                                [problem](const float* weight, const float* factors, float* to) {
                                  pack_convolution_weight(problem, weight, factors, to);
                                },
                                true},
                               plan.scratch());
  act_panels(layer, problem, plan, h);
  settle(layer.output, h.target);
}

bool Emitter::is_for_planes(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  const bool is_stencil = g.groups > 1 && g.in_channels == g.groups && g.out_channels == g.groups;
  if (!is_stencil || !can_convolve_planes(g)) return false;
  const int input = layer.inputs[0];
  if (!same_layout(any_place(input).layout, row_major(value(input).sizes))) return false;
  const bool leaves =
      value(layer.output).uses == 1 && std::ranges::count(net_.outputs, layer.output) == 1;
  const bool is_quick = g.rank == 2 && g.stride[1] <= 2 && g.stride[2] <= 2;
  return (leaves && is_quick) || is_stencil_of_planes(g.in_channels, g.out_channels, g.groups);
}

void Emitter::planes(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  const BufferLayout source = place_in(layer.inputs[0], row_major(value(layer.inputs[0]).sizes));
  const BufferLayout weights =
      own_weights(layer, {PackedForm::kPlanes,
                          {},
                          row_major(weight_sizes(g)),
                          [g](const float* weight, const float* /*factors*/, float* to) {
                            std::copy_n(weight, g.weights(), to);
                          }});
  const BufferLayout bias = vector_of(layer.id * 2 + 1, folded_bias(layer));
  const FinishedRows finish = finished_in_place(layer, fresh(row_major(value(layer.output).sizes)));
  act(
      [=](Bases bases) {
        const StepLoops loops = step_loops();
        const float* summand = at(bases, finish.summand);
        float* target = at(bases, finish.target);
        convolve_as_planes(g, at(bases, source), at(bases, weights), at(bases, bias), target,
                           [&](int64_t first, int64_t count) {
                             apply_steps(loops, finish.steps, summand + first, count,
                                         target + first);
                           });
      },
      {source, weights, bias, finish.summand, finish.target});
  settle(layer.output, finish.target);
}

void Emitter::channels(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  const BufferLayout source =
      place_in(layer.inputs[0], channels_last(value(layer.inputs[0]).sizes));
  const memory::desc weights_as = row_major(IntVector{g.kernel_points(), g.out_channels});
  const BufferLayout weights =
      own_weights(layer, {PackedForm::kChannels,
                          {},
                          weights_as,
                          [g](const float* weight, const float* /*factors*/, float* to) {
                            pack_channel_weight(g, weight, to);
                          }});
  const BufferLayout bias = vector_of(layer.id * 2 + 1, folded_bias(layer));
  const FinishedRows finish =
      finished_in_place(layer, fresh(channels_last(value(layer.output).sizes)));
  act(
      [=](Bases bases) {
        finish.run(bases, g.batch * g.out_points(), g.out_channels,
                   [&](int64_t first, int64_t count, float* to) {
                     convolve_channels(g, at(bases, source), at(bases, weights), at(bases, bias),
                                       first, count, to);
                   });
      },
      {source, weights, bias, finish.summand, finish.target});
  settle(layer.output, finish.target);
}

}  // namespace tierup::kernels::net
