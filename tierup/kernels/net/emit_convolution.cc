// Convolutions: by oneDNN, or by Winograd's algorithm of our own where that measures faster.
#include <fmt/format.h>
#include <time.h>

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

// The best of a few runs.
template <typename Run>
double best_time(const Run& run) {
  double best = 1e30;
  double spent = 0;
  for (int i = 0; i < 2 || (i < 6 && spent < 10); ++i) {
    const double begin = thread_time();
    run();
    const double time = thread_time() - begin;
    spent += time;
    if (i > 0) best = std::min(best, time);
  }
  return best;
}

std::shared_ptr<char[]> zeros(size_t bytes) {
  std::shared_ptr<char[]> block = aligned_block(bytes);
  std::fill_n(block.get(), bytes, '\0');
  return block;
}

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
    blocks.push_back(zeros(desc.get_size()));
    arguments.emplace(name, memory(desc, engine, blocks.back().get()));
  }
  const convolution_forward primitive(pd);
  return best_time([&] {
    primitive.execute(onednn_stream(), arguments);
    onednn_stream().wait();
  });
}

std::shared_ptr<char[]> zero_floats(int64_t count) {
  return zeros(static_cast<size_t>(count) * sizeof(float));
}
float* floats(const std::shared_ptr<char[]>& block) {
  return reinterpret_cast<float*>(block.get());
}

double time_winograd(const Winograd& problem, const std::vector<StoreStep>& steps) {
  const WinogradPlan plan = plan_winograd(problem, 1);
  const auto source = zero_floats(problem.source_count());
  const auto target = zero_floats(problem.target_count());
  const auto weights =
      zero_floats(winograd_weight_count(problem.in_channels, problem.out_channels));
  const auto bias = zero_floats(problem.out_channels);
  const auto scratch = zero_floats(plan.parts() * plan.scratch_of_part);
  return best_time([&] {
    run_winograd(problem, plan, floats(source), floats(weights), floats(bias), steps,
                 floats(target), floats(scratch));
  });
}

IntVector geometry_key(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  IntVector key{g.batch, g.in_channels, g.out_channels,
                static_cast<int64_t>(layer.epilogue.size())};
  for (const auto* triple : {&g.in, &g.kernel, &g.padding})
    key.insert(key.end(), triple->begin(), triple->end());
  return key;
}

Winograd winograd_problem(const ConvGeometry& g, int tile) {
  return {g.batch,  g.in[1],        g.in[2],      g.in_channels, g.out[1],
          g.out[2], g.out_channels, g.padding[1], g.padding[2],  tile};
}

// The epilogue, if our own loops have all of it.
std::optional<std::vector<StoreStep>> store_steps(const Layer& layer) {
  std::vector<StoreStep> steps;
  for (const Epilogue& e : layer.epilogue) {
    const Activation& a = e.activation;
    if (e.summand >= 0) {
      steps.push_back({StoreStep::Kind::kSum});
    } else if (a.function == Function::kRelu && a.alpha == 0) {
      steps.push_back({StoreStep::Kind::kRelu});
    } else if (a.function == Function::kClip) {
      steps.push_back({StoreStep::Kind::kClip, a.alpha, a.beta});
    } else if (a.function == Function::kLinear) {
      steps.push_back({StoreStep::Kind::kLinear, a.alpha, a.beta});
    } else {
      return std::nullopt;
    }
  }
  return steps;
}

}  // namespace

// Channels last wherever oneDNN has more than reference code for that.
convolution_forward::primitive_desc Emitter::describe(const Layer& layer) const {
  const ConvGeometry& g = layer.conv;
  const IntVector& in = value(layer.inputs[0]).sizes;
  const IntVector& out = value(layer.output).sizes;
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
  if (std::string_view(pd.impl_info_str()).find("ref") == std::string_view::npos) return pd;
  return make(any_layout(in), any_layout(out));
}

int Emitter::winograd_tile(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  const ConvGeometry::Triple ones{1, 1, 1};
  const bool fits = g.rank == 2 && g.groups == 1 && g.kernel[1] == 3 && g.kernel[2] == 3 &&
                    g.stride == ones && g.dilation == ones &&
                    g.in_channels % kWinogradChannels == 0 &&
                    g.out_channels % kWinogradChannels == 0;
  if (!fits || !options_.is_fast) return 0;
  const auto steps = store_steps(layer);
  if (!steps) return 0;
  if (!options_.measures) return weights_.winograd_tile(layer.id);
  const IntVector key = geometry_key(layer);
  for (const auto& [known, tile] : measured_) {
    if (std::equal(known.begin(), known.end(), key.begin(), key.end())) return tile;
  }
  const int tile = fastest_tile(layer, *steps);
  measured_.emplace_back(key, tile);
  return tile;
}

// By measurement on one thread.
int Emitter::fastest_tile(const Layer& layer, const std::vector<StoreStep>& steps) {
  const ThreadCountScope one_thread(1);
  const ConvGeometry& g = layer.conv;
  double best = time_convolution(describe(layer));
  int fastest = 0;
  std::string times = fmt::format("direct {:.3f} ms", best);
  for (const int tile : {2, 4}) {
    const double time = time_winograd(winograd_problem(g, tile), steps);
    times += fmt::format(", Winograd by tiles of {} {:.3f} ms", tile, time);
    if (time >= best) continue;
    best = time;
    fastest = tile;
  }
  out_.notes.push_back(fmt::format("convolution {}x{}x{} to {} channels: {} (one thread): {}",
                                   g.in_channels, g.in[1], g.in[2], g.out_channels, times,
                                   fastest == 0 ? "direct" : fmt::format("tiles of {}", fastest)));
  return fastest;
}

Tensor Emitter::dense_weight(const Layer& layer) const {
  if (layer.scale.empty()) {
    return layer.weight.is_contiguous() ? layer.weight
                                        : clone(layer.weight, MemoryFormat::kContiguous);
  }
  const Tensor weight = clone(layer.weight, MemoryFormat::kContiguous);
  auto* numbers = weight.data<float>();
  const int64_t each = weight.numel() / layer.conv.out_channels;
  for (int64_t i = 0; i < weight.numel(); ++i)
    numbers[i] *= layer.scale[static_cast<size_t>(i / each)];
  give_back_pages(layer.weight);
  return weight;
}

void Emitter::convolution(const Layer& layer) {
  if (const int tile = winograd_tile(layer)) return winograd(layer, tile);
  const auto pd = describe(layer);
  const Home source = home_in(layer.inputs[0], pd.src_desc());
  const Home weights = packed(layer.id * 2, dense_weight(layer), pd.weights_desc(),
                              row_major(weight_sizes(layer.conv)));
  const Home bias = vector_of(layer.id * 2 + 1, folded_bias(layer));
  const Home target = result_home(layer, pd.dst_desc());
  act(convolution_forward(pd), {{DNNL_ARG_SRC, source},
                                {DNNL_ARG_WEIGHTS, weights},
                                {DNNL_ARG_BIAS, bias},
                                {DNNL_ARG_DST, target},
                                scratch(pd.scratchpad_desc())});
  settle(layer.output, target);
}

void Emitter::winograd(const Layer& layer, int tile) {
  if (options_.measures) weights_.set_winograd_tile(layer.id, tile);
  out_.spreads_nans = true;
  const ConvGeometry& g = layer.conv;
  const Winograd problem = winograd_problem(g, tile);
  const WinogradPlan plan = plan_winograd(problem, intra_op_threads());
  const std::vector<StoreStep> steps = *store_steps(layer);
  const Home source = home_in(layer.inputs[0], channels_last(value(layer.inputs[0]).sizes));
  const memory::desc packed_layout =
      row_major(IntVector{winograd_weight_count(g.in_channels, g.out_channels)});
  const auto block = weights_.get(layer.id * 2, packed_layout, [&](char* to) {
    const Tensor weight = dense_weight(layer);
    pack_winograd_weight(weight.data<float>(), g.in_channels, g.out_channels,
                         reinterpret_cast<float*>(to));
    give_back_pages(weight);
  });
  out_.blocks.push_back(block);
  const Home weights{packed_layout, constant_buffer(block.get(), packed_layout.get_size()), 0};
  const Home bias = vector_of(layer.id * 2 + 1, folded_bias(layer));
  const Home target = result_home(layer, channels_last(value(layer.output).sizes));
  const Home room = fresh(row_major(IntVector{plan.parts() * plan.scratch_of_part}));
  act(
      [=](Bases bases) {
        run_winograd(problem, plan, at(bases, source), at(bases, weights), at(bases, bias), steps,
                     at(bases, target), at(bases, room));
      },
      {source, weights, bias, target, room});
  settle(layer.output, target);
}

}  // namespace tierup::kernels::net
