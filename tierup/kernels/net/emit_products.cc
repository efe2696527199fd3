// Convolutions and matrix products, with what hangs on them.
#include <time.h>

#include <fmt/format.h>
#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/copy.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/post_operations.h"
#include "tierup/kernels/onednn_engine.h"
#include "tierup/kernels/spare_pages.h"

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

// Milliseconds of this thread's own time: other work on the machine does not count.
double thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// The best of a few runs on one thread, over scratch data.
double time_convolution(const convolution_forward::primitive_desc& pd) {
  const auto& engine = onednn_engine();
  std::vector<std::pair<int, memory::desc>> parts{{DNNL_ARG_SRC, pd.src_desc()},
                                                  {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                                  {DNNL_ARG_BIAS, pd.bias_desc()},
                                                  {DNNL_ARG_DST, pd.dst_desc()},
                                                  {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}};
  std::vector<std::shared_ptr<char[]>> blocks;
  std::unordered_map<int, memory> arguments;
  for (const auto& [name, desc] : parts) {
    blocks.push_back(aligned_block(desc.get_size()));
    std::fill_n(blocks.back().get(), desc.get_size(), '\0');
    arguments.emplace(name, memory(desc, engine, blocks.back().get()));
  }
  const convolution_forward primitive(pd);
  double best = 1e30;
  double spent = 0;
  for (int run = 0; run < 2 || (run < 8 && spent < 20); ++run) {
    const double begin = thread_time();
    primitive.execute(onednn_stream(), arguments);
    onednn_stream().wait();
    const double time = thread_time() - begin;
    spent += time;
    if (run > 0) best = std::min(best, time);
  }
  return best;
}

IntVector geometry_key(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  IntVector key{g.batch, g.in_channels, g.out_channels,
                static_cast<int64_t>(layer.epilogue.size())};
  for (const auto* triple : {&g.in, &g.kernel, &g.padding})
    key.insert(key.end(), triple->begin(), triple->end());
  return key;
}

}  // namespace

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

convolution_forward::primitive_desc Emitter::describe(const Layer& layer, bool is_winograd) const {
  const ConvGeometry& g = layer.conv;
  const IntVector& in = value(layer.inputs[0]).sizes;
  const IntVector& out = value(layer.output).sizes;
  const memory::desc bias({g.out_channels}, memory::data_type::f32, memory::format_tag::x);
  const memory::desc weight = any_layout(weight_sizes(g));
  const auto make = [&](const memory::desc& source, const memory::desc& target) {
    return convolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_inference,
         is_winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct,
         source, weight, bias, target, last(g.stride, g.rank), last(g.dilation, g.rank, 1),
         last(g.padding, g.rank), last(g.padding_after, g.rank)},
        attributes(layer), onednn_engine());
  };
  if (!is_winograd) {
    const auto pd = make(channels_last(in), channels_last(out));
    if (std::string_view(pd.impl_info_str()).find("ref") == std::string_view::npos) return pd;
  }
  return make(any_layout(in), any_layout(out));
}

// By measurement on one thread, with a share of what bringing the operand over costs.
bool Emitter::prefers_winograd(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  const ConvGeometry::Triple ones{1, 1, 1};
  const bool fits = g.rank == 2 && g.groups == 1 && g.kernel[1] == 3 && g.kernel[2] == 3 &&
                    g.stride == ones && g.dilation == ones && g.in_channels >= 16;
  if (!fits || !options_.is_fast) return false;
  if (!options_.measures) return weights_.is_winograd(layer.id);
  const IntVector key = geometry_key(layer);
  for (const auto& [known, choice] : measured_) {
    if (std::equal(known.begin(), known.end(), key.begin(), key.end())) return choice;
  }
  bool choice = false;
  try {
    const ThreadCountScope one_thread(1);
    const auto direct = describe(layer, false);
    const auto winograd = describe(layer, true);
    const double direct_ms = time_convolution(direct);
    const double winograd_ms = time_convolution(winograd);
    const double moved =
        static_cast<double>(winograd.src_desc().get_size() + winograd.dst_desc().get_size());
    choice = winograd_ms + moved / 2 / 10e6 < direct_ms;
    out_.notes.push_back(
        fmt::format("convolution {}x{}x{} to {} channels: direct {:.3f} ms, Winograd {:.3f} ms "
                    "(one thread): {}",
                    g.in_channels, g.in[1], g.in[2], g.out_channels, direct_ms, winograd_ms,
                    choice ? "Winograd" : "direct"));
  } catch (const dnnl::error&) {
    // This processor has no such implementation.
  }
  measured_.emplace_back(key, choice);
  return choice;
}

void Emitter::convolution(const Layer& layer) {
  const bool is_winograd = prefers_winograd(layer);
  if (is_winograd && options_.measures) weights_.set_winograd(layer.id);
  out_.spreads_nans |= is_winograd;
  const auto pd = describe(layer, is_winograd);
  const ConvGeometry& g = layer.conv;
  const Home source = home_in(layer.inputs[0], pd.src_desc());
  Tensor weight = layer.weight;
  if (!layer.scale.empty()) {
    weight = clone(weight, MemoryFormat::kContiguous);
    auto* numbers = weight.data<float>();
    const int64_t each = weight.numel() / g.out_channels;
    for (int64_t i = 0; i < weight.numel(); ++i)
      numbers[i] *= layer.scale[static_cast<size_t>(i / each)];
  }
  if (!layer.scale.empty()) give_back_pages(layer.weight);
  if (!weight.is_contiguous()) weight = clone(weight, MemoryFormat::kContiguous);
  const Home weights = packed(layer.id * 2, weight, pd.weights_desc(), row_major(weight_sizes(g)));
  const Home bias = vector_of(layer.id * 2 + 1, folded_bias(layer));
  const Home target = result_home(layer, pd.dst_desc());
  act(convolution_forward(pd), {{DNNL_ARG_SRC, source},
                                {DNNL_ARG_WEIGHTS, weights},
                                {DNNL_ARG_BIAS, bias},
                                {DNNL_ARG_DST, target},
                                scratch(pd.scratchpad_desc())});
  settle(layer.output, target);
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
