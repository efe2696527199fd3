// Which algorithm does a convolution or a product: by measurement, in the compile job.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>

#include "tierup/base/parallel.h"
#include "tierup/base/piece_queue.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/memory/leave_cache.h"
#include "tierup/kernels/net/algorithm_choices.h"
#include "tierup/kernels/net/channel_convolution.h"
#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/finished_rows.h"
#include "tierup/kernels/net/step_loops.h"
#include "tierup/kernels/net/trial.h"
#include "tierup/kernels/onednn/onednn_engine.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

using dnnl::convolution_forward;

// Epilogues cost all candidates about alike.
IntVector geometry_key(const ConvGeometry& g) {
  IntVector key{g.rank, g.batch, g.groups, g.in_channels, g.out_channels};
  for (const auto* triple : {&g.in, &g.out, &g.kernel, &g.stride, &g.dilation, &g.padding})
    key.insert(key.end(), triple->begin(), triple->end());
  return key;
}

// What could be fastest, the likeliest first, which is also taken where times do not tell. Few
// large tiles, or many small ones, never pay. Our own panels come before oneDNN, since their
// threads share out the work as they get to it: where a trial on one thread calls both equal they
// took 0.42 and oneDNN 0.55 ms on two (ResNet-50's layers); on other processors oneDNN is ahead by
// a tenth.
std::vector<Algorithm> candidates_for(const ConvGeometry& given, bool is_fast) {
  if (can_convolve_channels(given)) return {Algorithm::kOneDnn, Algorithm::kChannels};
  if (gives_few_planes(given) && given.in_channels < kConvolutionRun)
    return {Algorithm::kPlanes, Algorithm::kOneDnn};
  const ConvGeometry g = as_planes(given);
  if (gives_few_planes(given)) return {Algorithm::kPlanes, Algorithm::kPanels, Algorithm::kOneDnn};
  // Where a group's channels fill no vector, oneDNN makes a product of each group.
  if (given.groups != 1 && can_convolve_as_planes(given))
    return {Algorithm::kOneDnn, Algorithm::kPlanes};
  if (g.rank > 2 || g.groups != 1 || g.transposed) return {Algorithm::kOneDnn};
  const bool fits = is_fast && has_winograd_windows(g) && g.in_channels >= kWinogradChannels &&
                    g.out_channels >= kWinogradChannels;
  const int64_t large_tiles = winograd_problem(g, Algorithm::kWinograd4).tiles();
  std::vector<Algorithm> result;
  if (fits) result.push_back(large_tiles < 9 ? Algorithm::kWinogradFew : Algorithm::kWinograd4);
  if (fits && large_tiles < 32) result.push_back(Algorithm::kWinograd2);
  const std::vector<Algorithm> direct = panels_and_onednn(g.out_channels);
  result.insert(result.end(), direct.begin(), direct.end());
  return result;
}

const char* name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kOneDnn: return "oneDNN";
    case Algorithm::kPanels: return "panels";
    case Algorithm::kPlanes: return "planes";
    case Algorithm::kChannels: return "channels";
    case Algorithm::kWinograd2: return "Winograd by tiles of 2";
    case Algorithm::kWinograd4: return "Winograd by tiles of 4";
    case Algorithm::kWinogradFew: return "Winograd by few tiles of 4";
    case Algorithm::kInPlace: return "weights in place";
    case Algorithm::kRowPanels: return "panels for a row";
  }
  return "";
}

// Does each multiplication of the definition.
bool is_direct(Algorithm algorithm) {
  return algorithm == Algorithm::kPanels || algorithm == Algorithm::kOneDnn;
}

// Below AVX-512 the first product of a process that oneDNN does takes 12 ms and more: it generates
// the kernels of all. That says nothing about the candidate.
void run_first_of_process(const std::function<void()>& product) {
  static std::once_flag is_done;
  std::call_once(is_done, product);
}

float* floats(char* block) { return reinterpret_cast<float*>(block); }
size_t float_bytes(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }

}  // namespace

// Zeros, in memory that all trials of a net share: fresh pages take longer than some convolutions.
char* TrialRoom::at_least(Part part, size_t bytes) {
  Block& block = blocks_[static_cast<size_t>(part)];
  if (block.bytes < bytes) {
    outgrown_.push_back(block.data);
    block = {aligned_block(bytes), bytes};
    std::fill_n(block.data.get(), bytes, '\0');
  }
  return block.data.get();
}

// Along long lines, oneDNN's convolution by small products is as fast as panels, and takes far
// longer to make.
std::vector<Algorithm> Emitter::candidates_of(const Layer& layer) const {
  constexpr int64_t kLongLine = 512;  // Points.
  const ConvGeometry& g = layer.conv;
  std::vector<Algorithm> result = candidates_for(g, options_.is_fast);
  const bool is_long_line = g.out[1] == 1 && g.kernel[1] == 1 && g.out[2] >= kLongLine;
  if (result.size() > 1 && is_long_line && is_by_small_products(describe(layer)))
    std::erase(result, Algorithm::kOneDnn);
  return result;
}

std::optional<Algorithm> Emitter::only_algorithm(const Layer& layer) {
  if (!store_steps(layer)) return Algorithm::kOneDnn;
  if (is_for_planes(layer)) return Algorithm::kPlanes;
  const std::vector<Algorithm> candidates = candidates_of(layer);
  if (candidates.size() == 1) return candidates.front();
  if (options_.measures) return std::nullopt;
  const Algorithm known = weights_.algorithm(layer.id).value_or(Algorithm::kOneDnn);
  const bool fits = std::find(candidates.begin(), candidates.end(), known) != candidates.end();
  return fits ? known : candidates.front();
}

Algorithm Emitter::algorithm_for(const Layer& layer) {
  if (const auto only = only_algorithm(layer)) return *only;
  const Algorithm chosen = measured(convolution_choice(layer));
  weights_.set_algorithm(layer.id, chosen);
  return chosen;
}

Emitter::Choice Emitter::convolution_choice(const Layer& layer) {
  const ConvGeometry& g = layer.conv;
  return {key_of(layer, geometry_key(g)),
          fmt::format("convolution {}x{}x{} to {}x{}x{}", g.in_channels, g.in[1], g.in[2],
                      g.out_channels, g.out[1], g.out[2]),
          candidates_of(layer),
          [this, &layer](Algorithm algorithm, TrialRoom& room) {
            return attempt(layer, algorithm, room);
          },
          part_to_try(g).multiplications()};
}

Emitter::Choice Emitter::product_choice(const Layer& layer) const {
  const PanelConvolution problem = product_problem(layer);
  const std::vector<Algorithm> candidates = product_algorithms(layer);
  const IntVector geometry{problem.rows(),         problem.depth(),
                           problem.out_channels,   layer.weight.stride(0),
                           layer.weight.stride(1), static_cast<int64_t>(candidates.front())};
  const auto attempt_by = [this, &layer, part = part_to_try(problem)](Algorithm algorithm,
                                                                      TrialRoom& room) {
    if (algorithm == Algorithm::kPanels) return attempt_panels(part, *store_steps(layer), room);
    if (algorithm != Algorithm::kOneDnn) return attempt_row(layer, part, algorithm, room);
    Attempt attempt = attempt_primitive(describe_product(layer, part, std::nullopt), room);
    if (!attempt.is_reference) run_first_of_process(attempt.run);
    return attempt;
  };
  return {key_of(layer, geometry),
          fmt::format("product of {}x{} and {}x{}", problem.rows(), problem.depth(),
                      problem.depth(), problem.out_channels),
          candidates, attempt_by};
}

AlgorithmChoices::Key Emitter::key_of(const Layer& layer, IntSpan geometry) const {
  AlgorithmChoices::Key key(geometry.begin(), geometry.end());
  key.insert(key.end(), {options_.is_fast, stays_cached_, ends_with_large_swish(layer),
                         static_cast<int64_t>(instruction_set())});
  return key;
}

// Where the choice goes by how the input lies (windows over each channel; few channels, which may
// lie as planes), it is made later.
std::vector<Emitter::Choice> Emitter::open_choices() {
  std::vector<Choice> open;
  const auto add = [&](Choice choice) {
    const auto is_same = [&](const Choice& other) { return other.key == choice.key; };
    if (std::ranges::any_of(open, is_same)) return;
    if (!AlgorithmChoices::instance().find(choice.key)) open.push_back(std::move(choice));
  };
  for (const Layer& layer : net_.layers) {
    refusing(layer, [&] {
      const ThreadCountScope threads(threads_for(layer));
      const bool by_layout = layer.conv.groups != 1 || layer.conv.in_channels < kConvolutionRun;
      if (layer.kind == LayerKind::kConv && !by_layout && !only_algorithm(layer))
        add(convolution_choice(layer));
      if (layer.kind == LayerKind::kGemm && has_choice(layer) && !only_product_algorithm(layer))
        add(product_choice(layer));
    });
  }
  return open;
}

// Before weights are packed: so the memory of the trials is free again when theirs is needed. On
// as many threads as the net will have: a trial meets the neighbour that its layer will meet, and
// beside callers that keep all cores each thread gets its share of one.
void Emitter::choose_algorithms() {
  const std::vector<Choice> open = open_choices();
  const auto count = static_cast<int64_t>(open.size());
  const int64_t workers = piece_workers(count, intra_op_threads());
  std::vector<TrialRoom> rooms(static_cast<size_t>(workers));
  std::vector<std::optional<Chosen>> chosen(open.size());
  parallel_long_pieces(count, workers, [&](int64_t piece, int64_t worker) {
    const auto i = static_cast<size_t>(piece);
    chosen[i] = fastest(open[i], rooms[static_cast<size_t>(worker)]);
  });
  for (size_t i = 0; i < open.size(); ++i) {
    AlgorithmChoices::instance().note(open[i].key, chosen[i]->algorithm);
    out_.notes.push_back(std::move(chosen[i]->note));
  }
}

Algorithm Emitter::measured(const Choice& choice) {
  AlgorithmChoices& choices = AlgorithmChoices::instance();
  if (const auto known = choices.find(choice.key)) return *known;
  TrialRoom room;
  Chosen chosen = fastest(choice, room);
  choices.note(choice.key, chosen.algorithm);
  out_.notes.push_back(std::move(chosen.note));
  return chosen.algorithm;
}

// By measurement on one thread. Weights come from memory in each run where they will between other
// layers.
Emitter::Chosen Emitter::fastest(const Choice& choice, TrialRoom& room) const {
  constexpr size_t kCold = size_t{256} << 10;  // Fewer bytes come from memory in no time.
  const ThreadCountScope one_thread(1);
  room.clear();
  const std::vector<Algorithm>& candidates = choice.candidates;
  std::vector<std::optional<Attempt>> attempts(candidates.size());
  const auto is_left_out = [&](size_t i) {
    return attempts[i] && attempts[i]->is_reference && candidates.size() > 1;
  };
  const auto run = [&](size_t i) -> TrialRun {
    if (!attempts[i]) attempts[i] = choice.attempt_by(candidates[i], room);
    if (is_left_out(i)) return {kNotRun, false};
    const Attempt& a = *attempts[i];
    if (!stays_cached_ && a.weight_bytes > kCold) leave_cache(a.weights, a.weight_bytes);
    TrialRun timed = timed_run(a.run);
    timed.milliseconds *= a.price;
    return timed;
  };
  std::optional<double> least;  // Of direct algorithms, which bounds none of themselves.
  const TrialResult result = try_candidates(candidates.size(), run, [&](size_t i) {
    if (is_direct(candidates.front()) || !is_direct(candidates[i])) return 0.0;
    if (!least) least = least_direct_time(choice.multiplications, room);
    return *least;
  });
  std::string times;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (is_left_out(i)) continue;
    const double time = result.milliseconds[i] / (attempts[i] ? attempts[i]->price : 1);
    times += name_of(candidates[i]);
    times += time < kNotRun ? fmt::format(" {:.3f} ms, ", time) : " not run, ";
  }
  const Algorithm winner = candidates[result.winner];
  return {winner, fmt::format("{}: {}on one thread, {} rounds: {}", choice.work, times,
                              result.rounds, name_of(winner))};
}

// Milliseconds that a direct algorithm takes for so many at least on this thread, by the best of
// some runs of a product whose operands stay in the second-level cache: some tens of microseconds
// together, and done anew for each trial, since the processor's clock changes. oneDNN may be ahead
// of our own by a tenth.
double Emitter::least_direct_time(int64_t multiplications, TrialRoom& room) {
  constexpr int kRuns = 4;
  constexpr double kAhead = 1.1;
  const PanelConvolution problem = panel_product_problem(96, 256, 4 * kConvolutionChannels);
  const Attempt product = attempt_panels(problem, {}, room);
  double best = kNotRun;
  for (int i = 0; i < kRuns; ++i) best = std::min(best, timed_run(product.run).milliseconds);
  const int64_t done = problem.rows() * problem.depth() * problem.out_channels;
  return best * static_cast<double>(multiplications) / (kAhead * static_cast<double>(done));
}

Emitter::Attempt Emitter::attempt(const Layer& layer, Algorithm algorithm, TrialRoom& room) {
  Layer part = layer;
  part.conv = part_to_try(layer.conv);
  switch (algorithm) {
    case Algorithm::kOneDnn: return attempt_onednn(part, ends_with_large_swish(layer), room);
    case Algorithm::kPanels: return attempt_panels(panels_of(part), *store_steps(part), room);
    case Algorithm::kPlanes: return attempt_planes(part, room);
    case Algorithm::kChannels: return attempt_channels(part, room);
    case Algorithm::kWinograd2:
    case Algorithm::kWinograd4:
    case Algorithm::kWinogradFew:
      return attempt_winograd(winograd_problem(part.conv, algorithm), *store_steps(part), room);
    case Algorithm::kInPlace:
    case Algorithm::kRowPanels: break;  // Of products.
  }
  return {};
}

// With the pass of its own that a large swish gets, if it `swishes`, or an epilogue for which there
// is but reference code.
Emitter::Attempt Emitter::attempt_onednn(const Layer& layer, bool swishes, TrialRoom& room) const {
  const auto pd = describe_apart(swishes ? without_swish(layer) : layer);
  if (!swishes && has_epilogue(pd) == !layer.epilogue.empty()) return attempt_primitive(pd, room);
  Attempt attempt = attempt_primitive(pd, room);
  const size_t bytes = pd.dst_desc().get_size();
  float* target = floats(room.at_least(TrialRoom::Part::kTarget, bytes));
  const auto count = static_cast<int64_t>(bytes / sizeof(float));
  attempt.run = [convolve = std::move(attempt.run), target, count, swishes,
                 steps = *store_steps(layer)] {
    convolve();
    if (swishes) return swish_in_place(target, count);
    run_finished_rows(count, 1, steps, target, target, [](int64_t, int64_t, float*) {});
  };
  return attempt;
}

// Of a convolution or a product.
template <typename Described>
Emitter::Attempt Emitter::attempt_primitive(const Described& pd, TrialRoom& room) {
  using Part = TrialRoom::Part;
  std::unordered_map<int, memory> arguments;
  const auto give = [&](int name, Part part, const memory::desc& layout) {
    arguments.insert(
        {name, memory(layout, onednn_engine(), room.at_least(part, layout.get_size()))});
  };
  give(DNNL_ARG_SRC, Part::kSource, pd.src_desc());
  give(DNNL_ARG_WEIGHTS, Part::kWeights, pd.weights_desc());
  give(DNNL_ARG_BIAS, Part::kBias, pd.bias_desc());
  give(DNNL_ARG_DST, Part::kTarget, pd.dst_desc());
  give(DNNL_ARG_SCRATCHPAD, Part::kScratch, pd.scratchpad_desc());
  const size_t bytes = pd.weights_desc().get_size();
  return {[primitive = dnnl::primitive(pd.get()), arguments] {
            primitive.execute(onednn_stream(), arguments);
            onednn_stream().wait();
          },
          room.at_least(Part::kWeights, bytes), bytes, is_reference(pd)};
}
template Emitter::Attempt Emitter::attempt_primitive(const convolution_forward::primitive_desc&,
                                                     TrialRoom&);
template Emitter::Attempt Emitter::attempt_primitive(const dnnl::matmul::primitive_desc&,
                                                     TrialRoom&);

template <typename Problem>
Emitter::OwnTrial Emitter::own_trial(TrialRoom& room, const Problem& problem, int64_t weights,
                                     int64_t scratch) {
  using Part = TrialRoom::Part;
  const auto part = [&](Part which, int64_t count) {
    return floats(room.at_least(which, float_bytes(count)));
  };
  return {part(Part::kSource, problem.source_count()), part(Part::kWeights, weights),
          part(Part::kBias, grouped_channels(problem.out_channels)),
          part(Part::kTarget, problem.target_count()), part(Part::kScratch, scratch)};
}

Emitter::Attempt Emitter::attempt_winograd(const Winograd& problem,
                                           const std::vector<StoreStep>& steps, TrialRoom& room) {
  const WinogradPlan plan = plan_winograd(problem, 1);
  const int64_t weights = winograd_weight_count(problem);
  const OwnTrial t = own_trial(room, problem, weights, plan.scratch());
  return {
      [=] { run_winograd(problem, plan, t.source, t.weights, t.bias, steps, t.target, t.scratch); },
      reinterpret_cast<char*>(t.weights), float_bytes(weights)};
}

Emitter::Attempt Emitter::attempt_channels(const Layer& layer, TrialRoom& trial_room) {
  const ConvGeometry& g = layer.conv;
  using Part = TrialRoom::Part;
  const auto room = [&](Part part, int64_t count) {
    return floats(trial_room.at_least(part, float_bytes(count)));
  };
  const int64_t points = g.batch * g.out_points();
  const int64_t weight_count = channel_weight_count(g);
  const float* source = room(Part::kSource, g.batch * g.in_points() * g.in_channels);
  const float* weights = room(Part::kWeights, weight_count);
  const float* bias = room(Part::kBias, g.out_channels);
  float* target = room(Part::kTarget, points * g.out_channels);
  return {[=, steps = *store_steps(layer)] {
            run_finished_rows(points, g.out_channels, steps, target, target,
                              [&](int64_t first, int64_t count, float* to) {
                                convolve_channels(g, source, weights, bias, first, count, to);
                              });
          },
          reinterpret_cast<const char*>(weights), float_bytes(weight_count)};
}

Emitter::Attempt Emitter::attempt_planes(const Layer& layer, TrialRoom& trial_room) {
  const ConvGeometry& g = layer.conv;
  using Part = TrialRoom::Part;
  const auto room = [&](Part part, int64_t count) {
    return floats(trial_room.at_least(part, float_bytes(count)));
  };
  const float* source = room(Part::kSource, g.batch * g.in_points() * g.in_channels);
  const float* weights = room(Part::kWeights, g.weights());
  const float* bias = room(Part::kBias, g.out_channels);
  float* target = room(Part::kTarget, g.batch * g.out_points() * g.out_channels);
  const auto convolve = [=, steps = *store_steps(layer)] {
    const StepLoops loops = step_loops();
    convolve_as_planes(g, source, weights, bias, target, [&](int64_t first, int64_t count) {
      apply_steps(loops, steps, target + first, count, target + first);
    });
  };
  const auto* read = reinterpret_cast<const char*>(weights);
  if (g.in_channels < kConvolutionRun) return {convolve, read, float_bytes(g.weights())};
  // More channels lie innermost as a rule: they are turned before, and behind it.
  std::vector<std::function<void()>> turns;
  const auto turn = [&](const ConvGeometry::Triple& points, int64_t channels,
                        const float* as_planes, bool back) {
    const IntVector sizes = image_sizes(g, channels, points);
    const memory last(channels_last(sizes), onednn_engine(),
                      trial_room.at_least(Part::kScratch, channels_last(sizes).get_size()));
    const memory planes(row_major(sizes), onednn_engine(), const_cast<float*>(as_planes));
    const memory& from = back ? planes : last;
    const memory& to = back ? last : planes;
    turns.emplace_back([=, turned = dnnl::reorder(dnnl::reorder::primitive_desc(from, to))] {
      turned.execute(onednn_stream(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
      onednn_stream().wait();
    });
  };
  turn(g.in, g.in_channels, source, false);
  if (g.out_channels >= kConvolutionRun) turn(g.out, g.out_channels, target, true);
  return {[=] {
            turns.front()();
            convolve();
            if (turns.size() > 1) turns.back()();
          },
          read, float_bytes(g.weights())};
}

// A packed form holds the weights a second time, and is made anew when they change: it has to save
// a tenth. On all threads, which wait for the same memory, it saves less than on the one of a
// trial.
Emitter::Attempt Emitter::attempt_row(const Layer& layer, const PanelConvolution& part,
                                      Algorithm algorithm, TrialRoom& room) {
  const int64_t k = part.depth();
  const int64_t n = part.out_channels;
  if (algorithm == Algorithm::kInPlace) {
    const OwnTrial t = own_trial(room, part, 0, 0);
    GemmProblem product =
        rows_problem(layer, part.rows(), n, {layer.weight.stride(0), layer.weight.stride(1)});
    product.a.data = t.source;
    product.b.data = layer.weight.raw();
    product.bias = t.bias;
    product.c = t.target;
    // Cache lines of the part alone where columns are its lines; of all rows' beginnings else.
    const int64_t weights =
        product.b.row_stride == 1 ? n * product.b.col_stride : k * product.b.row_stride;
    return {[product] { gemm(product); }, static_cast<char*>(layer.weight.raw()),
            float_bytes(std::min(weights, layer.weight.numel())), false, 0.9};
  }
  const int64_t weights = row_panel_count(n) * k * kRowPanel;
  const OwnTrial t = own_trial(room, part, weights, 0);
  return {[=] { multiply_row_panels(k, n, t.source, t.weights, t.bias, t.target); },
          reinterpret_cast<char*>(t.weights), float_bytes(weights)};
}

Emitter::Attempt Emitter::attempt_panels(const PanelConvolution& problem,
                                         const std::vector<StoreStep>& steps, TrialRoom& room) {
  const ConvolutionPlan plan = plan_convolution(problem, 1);
  const int64_t weights = convolution_weight_count(problem);
  const OwnTrial t = own_trial(room, problem, weights, plan.scratch());
  return {[=] {
            run_convolution(problem, plan, t.source, t.weights, t.bias, steps, t.target, t.scratch);
          },
          reinterpret_cast<char*>(t.weights), float_bytes(weights)};
}

}  // namespace tierup::kernels::net
