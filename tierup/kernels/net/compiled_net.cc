// Running what the emitter made; see compiled_net.h.
#include "tierup/kernels/net/compiled_net.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "tierup/base/float_watch.h"
#include "tierup/base/headroom.h"
#include "tierup/base/idle_slots.h"
#include "tierup/base/parallel.h"
#include "tierup/base/wait_policy.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/net/batch_cut.h"
#include "tierup/kernels/net/emitter.h"
#include "tierup/kernels/net/pieces_net.h"
#include "tierup/kernels/net/weight_factors.h"
#include "tierup/kernels/onednn/onednn_engine.h"

namespace tierup::kernels::net {
namespace {

// The primitives' arguments of one run, over the memory that it has.
class Arena {
 public:
  explicit Arena(const Emitted& net) {
    bases_.resize(net.buffers.size());
    for (size_t i = 0; i < net.buffers.size(); ++i) {
      const Buffer& buffer = net.buffers[i];
      if (buffer.where == Where::kConstant)
        bases_[i] = static_cast<char*>(const_cast<void*>(buffer.data));
      if (buffer.where == Where::kInput || buffer.where == Where::kOutput) outer_.push_back(i);
    }
    for (const Action& action : net.actions) bind(net, action);
  }

  // Places the caller's tensors, and what stands in the memory of the run, if it is another one.
  void enter(const Emitted& net, char* memory, std::span<const Tensor> inputs,
             std::span<const Tensor> outputs) {
    if (memory != memory_) {
      for (size_t i = 0; i < net.buffers.size(); ++i) {
        if (net.buffers[i].where == Where::kArena) bases_[i] = memory + net.buffers[i].offset;
      }
      place(resting_);
      memory_ = memory;
    }
    for (const size_t i : outer_) {
      const Buffer& buffer = net.buffers[i];
      const auto& tensors = buffer.where == Where::kInput ? inputs : outputs;
      bases_[i] = static_cast<char*>(tensors[buffer.index].raw());
    }
    place(moving_);
  }

  void run(const Emitted& net) {
    const dnnl::stream& stream = onednn_stream();
    for (size_t i = 0; i < net.actions.size(); ++i) {
      const Action& action = net.actions[i];
      if (action.loop) {
        action.loop(bases_.data());
        continue;
      }
      const ThreadCountScope threads(action.threads);
      if (action.threads > 1) {
        note_team(action.threads);
        FloatWatch::note_region();
      }
      const auto [begin, end] = ranges_[i];
      const dnnl_status_t status =
          dnnl_primitive_execute(action.primitive.get(), stream.get(),
                                 static_cast<int>(end - begin), arguments_.data() + begin);
      require(status == dnnl_success, ErrorCode::kInternal, "a oneDNN primitive failed: {}",
              static_cast<int>(status));
    }
    onednn_stream().wait();
  }

 private:
  // Where the memory of an argument stands.
  struct Placed {
    size_t memory;
    int buffer;
    size_t offset;
  };

  void place(const std::vector<Placed>& arguments) {
    for (const Placed& placed : arguments) {
      memories_[placed.memory].set_data_handle(bases_[static_cast<size_t>(placed.buffer)] +
                                               placed.offset);
    }
  }

  void bind(const Emitted& net, const Action& action) {
    const size_t begin = arguments_.size();
    for (const Argument& argument : action.arguments) {
      const BufferLayout& place = argument.place;
      const Buffer& buffer = net.buffers[static_cast<size_t>(place.buffer)];
      char* base = bases_[static_cast<size_t>(place.buffer)];
      if (base != nullptr) base += place.offset;
      memories_.emplace_back(place.layout, onednn_engine(), base);
      const bool is_outer = buffer.where == Where::kInput || buffer.where == Where::kOutput;
      if (is_outer || buffer.where == Where::kArena) {
        (is_outer ? moving_ : resting_)
            .push_back({memories_.size() - 1, place.buffer, place.offset});
      }
      arguments_.push_back({argument.name, memories_.back().get()});
    }
    ranges_.emplace_back(begin, arguments_.size());
  }

  char* memory_ = nullptr;
  std::vector<char*> bases_;
  std::vector<size_t> outer_;
  std::vector<memory> memories_;
  std::vector<Placed> moving_;   // Over the caller's tensors.
  std::vector<Placed> resting_;  // Over the memory of the run.
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<std::pair<size_t, size_t>> ranges_;
};

class Net final : public CompiledNet {
 public:
  // Sees to the first run's memory as well: who compiles has the time to wait for its pages.
  Net(Emitted net, const CompileOptions& options, std::shared_ptr<ArenaMemory> memory)
      : net_(std::move(net)),
        bytes_(plan_memory(net_.buffers)),
        threads_(options.threads),
        memory_(std::move(memory)),
        uses_workers_(options.uses_workers) {
    memory_->reserve(bytes_, options.runs);
    for (int run = 0; run < options.runs; ++run) give_back(std::make_unique<Arena>(net_));
  }
  ~Net() override {
    idle_.take_each([](Arena* arena) { const std::unique_ptr<Arena> last(arena); });
  }

  std::optional<std::vector<Tensor>> run(std::span<const IValue> inputs) const override {
    if (meets_mostly_nans()) return std::nullopt;
    std::vector<Tensor> results = new_results();
    if (!run_into(inputs, results)) return std::nullopt;
    return results;
  }

  bool run_into(std::span<const IValue> inputs, std::span<const Tensor> results) const override {
    if (meets_mostly_nans()) return false;
    runs_.fetch_add(1, std::memory_order_relaxed);
    using Scope = FloatWatch::Scope;
    const bool is_sure = meetings_.load(std::memory_order_relaxed) > 0;
    const Scope workers = is_sure ? Scope::kWorkers : Scope::kWorkersAfter;
    FloatWatch watch(uses_workers_ ? workers : Scope::kThread, threads_);
    execute(inputs, results);
    const bool spreads = net_.spreads_nans || net_.spreads_given_nans;
    if (!watch.met_nan() && !(spreads && holds_nan(results))) return true;
    // From now on it is made sure that the flags are this net's own.
    meetings_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  // Enters no parallel region that the net itself does not enter: a team of threads costs more than
  // a small net. A flag of the workers' may be an old one, so it is looked at twice.
  std::vector<Tensor> rehearse(std::span<const IValue> inputs) override {
    const std::vector<Tensor> results = new_results();
    const auto meets_nan = [&] {
      FloatWatch watch(FloatWatch::Scope::kWorkersAfter, threads_);
      execute(inputs, results);
      const bool met = watch.met_nan();
      uses_workers_ = watch.entered_regions();
      return met && !holds_nan(results);
    };
    if (meets_nan() && (!uses_workers_ || meets_nan()))
      net_.notes.emplace_back("meets NaNs on ordinary numbers");
    return results;
  }
  bool uses_workers() const override { return uses_workers_; }
  int64_t pieces() const override { return 1; }
  const std::vector<std::string>& notes() const override { return net_.notes; }
  size_t step_count() const override { return net_.actions.size(); }

 private:
  static constexpr size_t kMostIdle = 64;
  static constexpr uint64_t kMeetingsToGiveUp = 8;

  // Where a model computes with NaNs all the time, running the net first is wasted.
  bool meets_mostly_nans() const {
    const uint64_t meetings = meetings_.load(std::memory_order_relaxed);
    return meetings >= kMeetingsToGiveUp && 2 * meetings > runs_.load(std::memory_order_relaxed);
  }
  static bool holds_nan(std::span<const Tensor> results) {
    return std::any_of(results.begin(), results.end(), [](const Tensor& result) {
      const float* numbers = result.data<float>();
      return std::any_of(numbers, numbers + result.numel(), [](float x) { return std::isnan(x); });
    });
  }

  std::vector<Tensor> new_results() const {
    std::vector<Tensor> results;
    results.reserve(net_.outputs.size());
    for (const BufferLayout& place : net_.outputs) {
      results.push_back(Tensor::empty_strided(sizes_of(place.layout), strides_of(place.layout),
                                              ScalarType::kFloat));
    }
    return results;
  }

  void execute(std::span<const IValue> inputs, std::span<const Tensor> results) const {
    std::vector<Tensor> given(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_tensor()) continue;
      given[i] = inputs[i].to_tensor();
      if (!given[i].is_contiguous()) given[i] = clone(given[i], MemoryFormat::kContiguous);
    }
    std::unique_ptr<ArenaMemory::Block> block = memory_->take(bytes_);
    std::unique_ptr<Arena> arena = take();
    arena->enter(net_, block->memory.get(), given, results);
    arena->run(net_);
    give_back(std::move(arena));
    memory_->give_back(std::move(block));
  }

  std::unique_ptr<Arena> take() const {
    std::unique_ptr<Arena> arena(idle_.take());
    return arena != nullptr ? std::move(arena) : std::make_unique<Arena>(net_);
  }
  void give_back(std::unique_ptr<Arena> arena) const {
    if (idle_.put(arena.get())) static_cast<void>(arena.release());
  }

  Emitted net_;
  size_t bytes_;
  const int threads_;
  const std::shared_ptr<ArenaMemory> memory_;
  bool uses_workers_;
  mutable std::atomic<uint64_t> runs_{0};
  mutable std::atomic<uint64_t> meetings_{0};  // Runs that met a NaN.
  mutable IdleSlots<Arena, kMostIdle> idle_;
};

}  // namespace

namespace {

LayerNet layers_of(const Program& program, std::span<const IValue> inputs) {
  LayerNet net = resolve(program, inputs);
  for (const Layer& layer : net.layers) {
    const IntVector& sizes = net.values[static_cast<size_t>(layer.output)].sizes;
    if (sizes.empty() || numel_of(sizes) == 0)
      throw Refused(operation_of(layer), NetRefusal::kNoElements);
  }
  for (const auto& [index, id] : net.inputs) {
    const IntVector& sizes = net.values[static_cast<size_t>(id)].sizes;
    require_compiled(!sizes.empty() && numel_of(sizes) > 0, NetRefusal::kNoElements);
  }
  return net;
}

}  // namespace

void check_program(const Program& program, std::span<const IValue> inputs) {
  layers_of(program, inputs);
}

namespace {

std::unique_ptr<CompiledNet> emit(const LayerNet& net, const CompileOptions& options,
                                  const std::shared_ptr<WeightStore>& weights) {
  constexpr size_t kHeadroom = size_t{16} << 20;  // Beside weights and arena.
  require_headroom(kHeadroom);
  try {
    Emitted emitted =
        Emitter(net, options, *weights).run();  // The memory of its trials is free now.
    return std::make_unique<Net>(std::move(emitted), options, weights->arenas());
  } catch (const dnnl::error& error) {
    fail(ErrorCode::kUnsupported, "oneDNN has no primitive for a result: {}", error.what());
  }
}

std::unique_ptr<CompiledNet> compile_pieces(const Program& program, std::span<const IValue> inputs,
                                            const BatchCut& cut, std::vector<PieceResult> results,
                                            CompileOptions options, FactorCheck check,
                                            const std::shared_ptr<WeightStore>& weights) {
  options.runs = std::exchange(options.threads, 1);
  const ThreadCountScope one(1);
  LayerNet net = layers_of(program, sizes_of_piece(cut, inputs));
  recognize(net);
  fuse(net, check);
  return make_pieces_net(cut, std::move(results), emit(net, options, weights));
}

std::unique_ptr<CompiledNet> compile_once(const Program& program, std::span<const IValue> inputs,
                                          const CompileOptions& options, FactorCheck check,
                                          const std::shared_ptr<WeightStore>& weights) {
  LayerNet net = layers_of(program, inputs);
  const int64_t entries = entries_of(inputs);
  std::optional<std::vector<PieceResult>> results;  // Where it may be cut.
  if (options.pieces != 1 && entries > 1 && entries % options.threads == 0 &&
      (options.pieces > 1 || goes_by_entries(net, program, inputs)))
    results = results_of_pieces(net, entries, options.output_strides);
  std::optional<BatchCut> cut;
  if (results && options.pieces > 1) cut = BatchCut{entries, entries / options.pieces};
  if (!cut) {
    recognize(net);
    fuse(net, check);
    if (results) cut = best_cut(net, entries, options.threads);
  }
  return cut ? compile_pieces(program, inputs, *cut, *std::move(results), options, check, weights)
             : emit(net, options, weights);
}

}  // namespace

std::unique_ptr<CompiledNet> compile_net(const Program& program, std::span<const IValue> inputs,
                                         const CompileOptions& options,
                                         const std::shared_ptr<WeightStore>& weights) {
  try {
    return compile_once(program, inputs, options, FactorCheck::kWhilePacking, weights);
  } catch (const LostWeight&) {
    return compile_once(program, inputs, options, FactorCheck::kBeforehand, weights);
  }
}

}  // namespace tierup::kernels::net
