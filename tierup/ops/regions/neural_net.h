// NeuralNet: a straight line of operators that runs as one compiled net (kernels/net), and its
// twin, the same operators one after the other.
//
// The object guards itself: it keeps one net for each set of sizes it was compiled for, and runs
// the twin on anything else. Sizes that come again get a net of their own; above a bound (of nets
// and of their memory) the least recently used one goes. What cannot be compiled stays with the
// twin, and is not tried again while it is known.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/base/recently_used.h"
#include "tierup/kernels/net/compiled_net.h"
#include "tierup/ops/regions/input_form.h"
#include "tierup/ops/regions/pointwise_meaning.h"
#include "tierup/ops/regions/refusal.h"
#include "tierup/ops/regions/twin_calls.h"
#include "tierup/ops/table/holds_memory.h"
#include "tierup/ops/table/op.h"

namespace tierup::ops {

// Arguments of an operator of this kind that must be constants: bit i for argument i.
uint32_t constant_arguments(kernels::net::OpKind kind);
// Whether the results are no tensors: numbers that follow from sizes, lists.
bool gives_no_tensor(kernels::net::OpKind kind);
// Whether operators of this kind take a tensor apart: they give one list, whose elements are the
// results in a net.
bool gives_parts(kernels::net::OpKind kind);

// What an operator is to nets: what its row says, or point-wise, if its row has a body.
kernels::net::OpKind net_kind(const Op& op);
// What a call means to nets; none if it is not point-wise in float32 with a result of that.
std::optional<kernels::net::Pointwise> net_pointwise(const Op& op,
                                                     const std::vector<MeaningArgument>& arguments);
// Whether the first argument is a list of tensors.
bool takes_list(kernels::net::OpKind kind);
// Whether nets take such an operator only for what needs its result: fusion groups do it as well
// as a net would.
bool stands_between(kernels::net::OpKind kind);

// Whether the kind is worth a net by itself: convolutions and products with constant weights.
bool is_heavy(kernels::net::OpKind kind);
// Whether a product of tensors of these sizes is of matrices so small that tier 0's kernel makes
// it in less time than a library takes to be called.
bool is_small_product(IntSpan left, IntSpan right);
// Whether a convolution of these sizes is a stencil over few planes
// (kernels/net/panel_convolution.h): tier 0 does it as a net would, and there is no weight to pack.
bool is_stencil_of_planes(IntSpan image, IntSpan weight);

class NeuralNet final : public RefCounted, public HoldsMemory, public HasTwin {
 public:
  // What a net may differ from tier 0, relative to a result's largest value, before it is asked
  // how much rounding does.
  static constexpr double kClose = 1e-5;

  // `rows` stands beside program.ops: the operator of each; null for lists. One with several
  // outputs that gives one list has the list taken apart.
  NeuralNet(kernels::net::Program program, std::vector<const Op*> rows, bool is_fast);

  const kernels::net::Program& program() const { return program_; }
  const std::vector<const Op*>& rows() const { return rows_; }

  // One tensor per output of the program. Thread-safe.
  std::vector<IValue> run(std::span<IValue> inputs, RunContext& context);

  // In compile jobs: compiles for inputs like these, choosing algorithms by measurement, and
  // compares with the twin on made-up numbers. False where it is refused; refusals() say why.
  // `older`, which may be null: a net that differs in weights alone. What it was compared for is
  // not compared again.
  bool prepare(std::span<const IValue> inputs, int threads, const NeuralNet* older = nullptr);
  // The same without the comparison, which confirm() makes up for before the net serves; `strides`:
  // how tier 0's outputs lie.
  bool prepare_unconfirmed(std::span<const IValue> inputs, int threads,
                           std::vector<IntVector> strides);
  // Whether it may serve. `agreed`: a whole call, run by one thread, gave what tier 0 gives to the
  // last bits. A net that the call went through is right then; any other one is compared with the
  // twin.
  bool confirm(bool agreed);
  // Whether the other has the same operators, with constants that are the same, or are weights of
  // the same form.
  bool differs_in_weights_alone(const NeuralNet& other) const;
  // Whether what it was prepared for may be packed for other weights without a comparison.
  bool serves_other_weights() const;
  // The constant of other weights in the place of this one; nothing where there is none.
  using SuccessorOf = std::function<std::optional<IValue>(const IValue& constant)>;
  // In compile jobs: a net of the same operators over other weights, compiled for what this one is
  // compiled for. Null where that takes more than packing them: a comparison with tier 0, other
  // algorithms.
  Ref<NeuralNet> over(const SuccessorOf& successor_of) const;
  std::vector<std::string> notes() const;
  // Why compiling was refused, for whatever sizes: each reason once, in the order they came.
  std::vector<RefusedNet> refusals() const;
  // Names of the operators of the line.
  std::vector<std::string> operators() const;
  // The operator of the program for which compiling was last refused, if it was.
  std::optional<size_t> refused_operation() const;
  // Where sizes are not known beforehand: refuses the operator, if any, that makes a result which
  // may lie with gaps in another's memory, since no net for whatever sizes could be compiled later.
  void refuse_gaps();
  // The weights as packed, and one arena of each net.
  size_t held_bytes() const override;
  // Of the weights that the twin read: see kernels/memory/spare_pages.h.
  void give_back_sources() const override;

  // For explain: nets that stand, those that went for others, and calls that took the twin.
  size_t net_count() const;
  uint64_t replacements() const { return replacements_.load(std::memory_order_relaxed); }
  int64_t twin_calls() const { return static_cast<int64_t>(twin_calls_.total()); }
  StepReport step_report() const override;

 private:
  // What is compiled for: the inputs' forms, and how many threads do the work.
  struct Sizes {
    std::vector<InputForm> inputs;
    int threads = 1;

    Sizes(std::span<const IValue> given, int thread_count);
    // Inputs of these forms.
    std::vector<IValue> stand_ins() const;
    bool suit(std::span<const IValue> given, int thread_count) const {
      return threads == thread_count && all_hold(inputs, given);
    }
  };
  struct Entry final : public RefCounted, public UseMark {
    explicit Entry(Sizes its) : sizes(std::move(its)) {}
    const Sizes sizes;
    std::unique_ptr<kernels::net::CompiledNet> compiled;  // Null: refused.
    std::vector<IntVector> output_strides;                // Tier 0's.
    bool is_close = false;  // Agreed with tier 0 to the last bits, as with any other weights.
    // Only the job that makes it runs it before it is confirmed.
    enum class Standing : uint8_t { kConfirmed, kUntried, kTried };
    mutable std::atomic<Standing> standing{Standing::kConfirmed};
  };
  using Entries = RecentlyUsed<Entry>::Entries;

  // Sizes that there are places for.
  static size_t places_of(const Entries& entries);
  // Dense numbers, and lists of ints.
  static bool are_taken(std::span<const IValue> inputs);
  Ref<const Entry> find(std::span<const IValue> inputs, int threads) const;
  std::vector<IValue> run_entry(const Entry& entry, std::span<const IValue> inputs,
                                RunContext& context);
  static std::vector<IValue> rehearse(const Entry& entry, std::span<const IValue> inputs);
  std::vector<IValue> run_twin(std::span<const IValue> inputs, RunContext& context) const;
  std::vector<IValue> run_twin_for(TwinReason reason, std::span<const IValue> inputs,
                                   RunContext& context);
  std::vector<IValue> miss(std::span<const IValue> inputs, RunContext& context);
  using Newcomer = Newcomers<Sizes>::Newcomer;
  Newcomer* find_newcomer(std::span<const IValue> inputs, int threads);
  // Counts a call with such sizes (the newcomer, if they came before), and has them compiled for
  // once they came often enough: in the background, if there is one, or else at once. The caller
  // holds the mutex.
  void note_call(Newcomer* newcomer, std::span<const IValue> inputs, const RunContext& context);
  void note_failure(const char* message) noexcept;
  // Of an operator of the program, where one is at fault. The caller holds the mutex.
  void refuse(RefusedNet refusal, std::optional<size_t> operation = std::nullopt);
  bool is_worth_compiling(const Newcomer& newcomer) const;
  // Compiles for a newcomer and drops it; the caller holds the mutex.
  void compile_newcomer(Newcomer& newcomer, std::span<const IValue> inputs);
  void compile_later(const Newcomer& newcomer, BackgroundWork& work);
  Ref<Entry> compile(const Sizes& sizes, std::span<const IValue> inputs, bool measures,
                     bool is_fast, const std::vector<IntVector>& strides,
                     const kernels::net::CompiledNet* like = nullptr);
  // The caller holds the mutex.
  void install(Ref<const Entry> entry);
  // The largest difference of any output, relative to that output's largest value.
  static double deviation(const std::vector<IValue>& expected, const std::vector<Tensor>& results);
  std::optional<Sizes> prepared_sizes() const;
  bool is_compilable(std::span<const IValue> inputs);
  void note_refusal(const Error& error);
  std::optional<std::vector<IValue>> expected_of(std::span<const IValue> samples,
                                                 RunContext& context);
  std::optional<size_t> maker_of_gaps(size_t output) const;
  // Compiles for inputs like these and compares with tier 0 on made-up numbers; an entry without a
  // net where either fails. The caller holds the mutex.
  Ref<Entry> make_entry(const Sizes& sizes, std::span<const IValue> inputs, bool measures);
  // The same without comparing, like the entry of a net that differs in weights alone; null where
  // it has to be compared.
  Ref<Entry> make_entry_like(const Entry& known, std::span<const IValue> inputs, bool measures);
  // All that the other net has, without comparing. False where what a job prepared it for has to be
  // compared.
  bool take_sizes_of(const NeuralNet& older);
  bool agrees(Entry& entry, std::span<const IValue> inputs, const std::vector<IValue>& expected,
              RunContext& context);
  bool agrees_with_twin(Entry& entry);

  const kernels::net::Program program_;
  const std::vector<const Op*> rows_;
  const bool is_fast_;
  const std::shared_ptr<kernels::net::WeightStore> weights_;
  RecentlyUsed<Entry> entries_;
  std::atomic<uint64_t> replacements_{0};
  std::atomic<uint64_t> compiled_calls_{0};
  TwinCalls twin_calls_;
  mutable std::mutex mutex_;  // For compiling, the sightings and the notes.
  Newcomers<Sizes> newcomers_;
  std::vector<std::string> notes_;
  std::vector<RefusedNet> refusals_;
  std::optional<Sizes> prepared_;  // What a compile job prepared it for.
  Ref<Entry> unconfirmed_;         // Of that job, until it calls confirm().
  std::optional<size_t> refused_operation_;
  bool is_distrusted_ = false;  // A net differed from tier 0: none is made any more.
};

}  // namespace tierup::ops
