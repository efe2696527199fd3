// Convolutions: by oneDNN, or by Winograd's algorithm of our own where that measures faster.
#include <emmintrin.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/copy.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/post_operations.h"
#include "tierup/kernels/net/swish.h"
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

// Puts memory out of the processor's caches.
void leave_cache(const char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) _mm_clflush(data + i);
  _mm_mfence();
}

std::shared_ptr<char[]> zeros(size_t bytes) {
  std::shared_ptr<char[]> block = aligned_block(bytes);
  std::fill_n(block.get(), bytes, '\0');
  return block;
}

// What a convolution reads and writes while it is timed.
struct Trial {
  std::shared_ptr<char[]> source, weights, bias, target, room;
  size_t weight_bytes;
  bool stays_cached;  // Where not, its weights come from memory, as they will between other layers.
};

float* floats(const std::shared_ptr<char[]>& block) {
  return reinterpret_cast<float*>(block.get());
}

// The second of two runs, or better ones of short layers; a candidate that is far behind runs once.
template <typename Run>
double best_time(const Trial& trial, double time_to_beat, const Run& run) {
  constexpr size_t kCold = size_t{1} << 20;  // Fewer bytes come from memory in no time.
  constexpr double kShort = 0.5;
  constexpr double kFarBehind = 4;  // First runs are slow.
  const bool is_cold = !trial.stays_cached && trial.weight_bytes > kCold;
  double best = 1e30;
  for (int i = 0; i < 2 || (i < 4 && !is_cold && best < kShort); ++i) {
    if (i > 0 && is_cold) leave_cache(trial.weights.get(), trial.weight_bytes);
    const double begin = thread_time();
    run();
    const double time = thread_time() - begin;
    if (time > kFarBehind * time_to_beat) return time;
    if (i > 0) best = std::min(best, time);
  }
  return best;
}

double time_convolution(const convolution_forward::primitive_desc& pd, bool stays_cached,
                        double time_to_beat) {
  const auto& engine = onednn_engine();
  const Trial t{zeros(pd.src_desc().get_size()),
                zeros(pd.weights_desc().get_size()),
                zeros(pd.bias_desc().get_size()),
                zeros(pd.dst_desc().get_size()),
                zeros(pd.scratchpad_desc().get_size()),
                pd.weights_desc().get_size(),
                stays_cached};
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, memory(pd.src_desc(), engine, t.source.get())},
      {DNNL_ARG_WEIGHTS, memory(pd.weights_desc(), engine, t.weights.get())},
      {DNNL_ARG_BIAS, memory(pd.bias_desc(), engine, t.bias.get())},
      {DNNL_ARG_DST, memory(pd.dst_desc(), engine, t.target.get())},
      {DNNL_ARG_SCRATCHPAD, memory(pd.scratchpad_desc(), engine, t.room.get())}};
  const convolution_forward primitive(pd);
  return best_time(t, time_to_beat, [&] {
    primitive.execute(onednn_stream(), arguments);
    onednn_stream().wait();
  });
}

template <typename Problem>
Trial trial_of(const Problem& problem, int64_t weights, int64_t room, bool stays_cached) {
  const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
  return {zeros(bytes(problem.source_count())),
          zeros(bytes(weights)),
          zeros(bytes(problem.out_channels)),
          zeros(bytes(problem.target_count())),
          zeros(bytes(room)),
          bytes(weights),
          stays_cached};
}

double time_winograd(const Winograd& problem, const std::vector<StoreStep>& steps,
                     bool stays_cached, double time_to_beat) {
  const WinogradPlan plan = plan_winograd(problem, 1);
  const Trial t =
      trial_of(problem, winograd_weight_count(problem.in_channels, problem.out_channels),
               plan.parts() * plan.scratch_of_part, stays_cached);
  return best_time(t, time_to_beat, [&] {
    run_winograd(problem, plan, floats(t.source), floats(t.weights), floats(t.bias), steps,
                 floats(t.target), floats(t.room));
  });
}

double time_panels(const PanelConvolution& problem, const std::vector<StoreStep>& steps,
                   bool stays_cached, double time_to_beat) {
  const ConvolutionPlan plan = plan_convolution(problem, 1);
  const Trial t = trial_of(problem, convolution_weight_count(problem),
                           plan.parts() * plan.scratch_of_part, stays_cached);
  return best_time(t, time_to_beat, [&] {
    run_convolution(problem, plan, floats(t.source), floats(t.weights), floats(t.bias), steps,
                    floats(t.target), floats(t.room));
  });
}

IntVector geometry_key(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  IntVector key{g.batch, g.in_channels, g.out_channels,
                static_cast<int64_t>(layer.epilogue.size())};
  for (const auto* triple : {&g.in, &g.out, &g.kernel, &g.stride, &g.dilation, &g.padding})
    key.insert(key.end(), triple->begin(), triple->end());
  return key;
}

Winograd winograd_problem(const ConvGeometry& g, int tile) {
  return {g.batch,  g.in[1],        g.in[2],      g.in_channels, g.out[1],
          g.out[2], g.out_channels, g.padding[1], g.padding[2],  tile};
}

PanelConvolution panel_problem(const ConvGeometry& g) {
  return {g.batch,     g.in[1],        g.in[2],       g.in_channels, g.out[1],
          g.out[2],    g.out_channels, g.kernel[1],   g.kernel[2],   g.stride[1],
          g.stride[2], g.dilation[1],  g.dilation[2], g.padding[1],  g.padding[2]};
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
    } else if (a.function == Function::kSwish && a.alpha == 1) {
      steps.push_back({StoreStep::Kind::kSwish});
    } else if (a.function == Function::kHardswish) {
      steps.push_back({StoreStep::Kind::kHardswish});
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

namespace {

// Whether the epilogue ends with a swish over so much that a pass of its own pays.
bool ends_with_large_swish(const Layer& layer) {
  constexpr int64_t kLarge = 16384;
  return !layer.epilogue.empty() && layer.epilogue.back().summand < 0 &&
         layer.conv.batch * layer.conv.out_channels * layer.conv.out_points() >= kLarge &&
         layer.epilogue.back().activation.function == Function::kSwish &&
         layer.epilogue.back().activation.alpha == 1;
}

Layer without_swish(Layer layer) {
  layer.epilogue.pop_back();
  return layer;
}

// What could be fastest, the likeliest first: one that is far behind is timed once. Panels are for
// few rows with many weights, where oneDNN waits for memory; few large tiles, or many small ones,
// never pay.
std::vector<Algorithm> candidates_for(const ConvGeometry& g, bool is_fast) {
  constexpr int64_t kFewRows = 100;
  constexpr int64_t kManyWeights = 64 << 10;
  if (g.rank != 2 || g.groups != 1 || g.transposed) return {Algorithm::kOneDnn};
  const ConvGeometry::Triple ones{1, 1, 1};
  const bool fits = is_fast && g.kernel[1] == 3 && g.kernel[2] == 3 && g.stride == ones &&
                    g.dilation == ones && g.in_channels % kWinogradChannels == 0 &&
                    g.out_channels % kWinogradChannels == 0;
  const int64_t large_tiles = winograd_problem(g, 4).tiles();
  std::vector<Algorithm> result;
  if (fits && large_tiles >= 9) result.push_back(Algorithm::kWinograd4);
  if (fits && large_tiles < 32) result.push_back(Algorithm::kWinograd2);
  if (g.out_channels % kConvolutionChannels == 0 && g.weights() >= kManyWeights &&
      panel_problem(g).rows() <= kFewRows) {
    result.push_back(Algorithm::kPanels);
  }
  result.push_back(Algorithm::kOneDnn);
  return result;
}

const char* name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kOneDnn: return "oneDNN";
    case Algorithm::kPanels: return "panels";
    case Algorithm::kWinograd2: return "Winograd by tiles of 2";
    case Algorithm::kWinograd4: return "Winograd by tiles of 4";
  }
  return "";
}

}  // namespace

Algorithm Emitter::algorithm_for(const Layer& layer) {
  const std::vector<Algorithm> candidates = candidates_for(layer.conv, options_.is_fast);
  if (candidates.size() == 1 || !store_steps(layer)) return Algorithm::kOneDnn;
  if (!options_.measures) {
    const Algorithm known = weights_.algorithm(layer.id).value_or(Algorithm::kOneDnn);
    const bool fits = std::find(candidates.begin(), candidates.end(), known) != candidates.end();
    return fits ? known : candidates.front();
  }
  const IntVector key = geometry_key(layer);
  auto found = std::find_if(measured_.begin(), measured_.end(), [&](const auto& entry) {
    return std::equal(entry.first.begin(), entry.first.end(), key.begin(), key.end());
  });
  if (found == measured_.end()) found = measured_.insert(found, {key, fastest(layer, candidates)});
  const Algorithm chosen = found->second;
  weights_.set_algorithm(layer.id, chosen);
  return chosen;
}

// By measurement on one thread.
Algorithm Emitter::fastest(const Layer& layer, const std::vector<Algorithm>& candidates) {
  const ThreadCountScope one_thread(1);
  const ConvGeometry& g = layer.conv;
  const std::vector<StoreStep> steps = *store_steps(layer);
  double best = 1e30;
  Algorithm fastest = Algorithm::kOneDnn;
  std::string times;
  for (const Algorithm candidate : candidates) {
    double time = 0;
    switch (candidate) {
      case Algorithm::kOneDnn: time = time_onednn(layer, best); break;
      case Algorithm::kPanels:
        time = time_panels(panel_problem(g), steps, stays_cached_, best);
        break;
      case Algorithm::kWinograd2:
        time = time_winograd(winograd_problem(g, 2), steps, stays_cached_, best);
        break;
      case Algorithm::kWinograd4:
        time = time_winograd(winograd_problem(g, 4), steps, stays_cached_, best);
        break;
    }
    times += fmt::format("{} {:.3f} ms, ", name_of(candidate), time);
    if (time >= best) continue;
    best = time;
    fastest = candidate;
  }
  out_.notes.push_back(fmt::format("convolution {}x{}x{} to {}x{}x{}: {}on one thread: {}",
                                   g.in_channels, g.in[1], g.in[2], g.out_channels, g.out[1],
                                   g.out[2], times, name_of(fastest)));
  return fastest;
}

// Without the swish that gets a pass of its own: only its way through memory is missing.
double Emitter::time_onednn(const Layer& layer, double time_to_beat) const {
  const auto pd = describe(ends_with_large_swish(layer) ? without_swish(layer) : layer);
  return time_convolution(pd, stays_cached_, time_to_beat);
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
  switch (algorithm_for(layer)) {
    case Algorithm::kOneDnn: return onednn_convolution(layer);
    case Algorithm::kPanels: return panels(layer);
    case Algorithm::kWinograd2: return winograd(layer, 2);
    case Algorithm::kWinograd4: return winograd(layer, 4);
  }
}

void Emitter::onednn_convolution(const Layer& given) {
  const bool swishes = ends_with_large_swish(given);
  const Layer layer = swishes ? without_swish(given) : given;
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
  if (swishes) {
    // Padding of channels, if there is any, takes part.
    const auto count = static_cast<int64_t>(pd.dst_desc().get_size() / sizeof(float));
    act([=](Bases bases) { swish_in_place(at(bases, target), count); }, {target});
  }
  settle(layer.output, target);
}

Emitter::OwnHomes Emitter::own_homes(const Layer& layer, const IntVector& weights_as,
                                     const std::function<void(const float*, float*)>& pack,
                                     int64_t room) {
  const Home source = home_in(layer.inputs[0], channels_last(value(layer.inputs[0]).sizes));
  const memory::desc layout = row_major(weights_as);
  const auto block = weights_.get(layer.id * 2, layout, [&](char* to) {
    const Tensor weight = dense_weight(layer);
    pack(weight.data<float>(), reinterpret_cast<float*>(to));
    give_back_pages(weight);
  });
  out_.blocks.push_back(block);
  const Home weights{layout, constant_buffer(block.get(), layout.get_size()), 0};
  const Home bias = vector_of(layer.id * 2 + 1, folded_bias(layer));
  const Home target = result_home(layer, channels_last(value(layer.output).sizes));
  return {source, weights, bias, target, fresh(row_major(IntVector{room}))};
}

void Emitter::winograd(const Layer& layer, int tile) {
  out_.spreads_nans = true;
  const Winograd problem = winograd_problem(layer.conv, tile);
  const WinogradPlan plan = plan_winograd(problem, intra_op_threads());
  const int64_t in = problem.in_channels;
  const int64_t out = problem.out_channels;
  const OwnHomes h = own_homes(
      layer, IntVector{winograd_weight_count(in, out) / 9, 9},
      [&](const float* weight, float* to) { pack_winograd_weight(weight, in, out, to); },
      plan.parts() * plan.scratch_of_part);
  act(
      [=, steps = *store_steps(layer)](Bases bases) {
        run_winograd(problem, plan, at(bases, h.source), at(bases, h.weights), at(bases, h.bias),
                     steps, at(bases, h.target), at(bases, h.room));
      },
      {h.source, h.weights, h.bias, h.target, h.room});
  settle(layer.output, h.target);
}

void Emitter::panels(const Layer& layer) {
  const PanelConvolution problem = panel_problem(layer.conv);
  const ConvolutionPlan plan = plan_convolution(problem, intra_op_threads());
  const OwnHomes h = own_homes(
      layer, IntVector{convolution_weight_count(problem)},
      [&](const float* weight, float* to) { pack_convolution_weight(problem, weight, to); },
      plan.parts() * plan.scratch_of_part);
  act(
      [=, steps = *store_steps(layer)](Bases bases) {
        run_convolution(problem, plan, at(bases, h.source), at(bases, h.weights), at(bases, h.bias),
                        steps, at(bases, h.target), at(bases, h.room));
      },
      {h.source, h.weights, h.bias, h.target, h.room});
  settle(layer.output, h.target);
}

}  // namespace tierup::kernels::net
