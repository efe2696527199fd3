// Executor: one model served to many callers at once.
//
//   tierup::Executor executor("model.pt2", {.max_frames = 8});
//   tierup::Value answer = executor.run({input});
//   executor.swap_weights("new.safetensors");  // Under load: each run sees one generation whole.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tierup/error.h"
#include "tierup/export.h"
#include "tierup/module.h"
#include "tierup/options.h"
#include "tierup/tensor.h"
#include "tierup/value.h"

namespace tierup::v1 {

struct ExecutorConfig {
  // Runs that may be under way at once; 0: as many as come.
  uint32_t max_frames = 0;
  // A run that finds no frame waits; false: it fails with kExhausted.
  bool wait_for_frame = true;
  // Threads on which independent branches of one run may run at the same time, as in Options; 0: as
  // the options (or the module) say.
  uint32_t inter_op_threads = 0;
  // Threads for run_async; 0: the cores the process may use.
  uint32_t async_threads = 0;
  // Runs that may wait for such a thread; more fail with kExhausted.
  uint32_t max_queued = 1024;
  // Of one run, its waiting included; 0: none.
  int64_t time_limit_ms = 0;
  // Memory of frames that nobody used for so long (at most twice) is given back; 0: never.
  int64_t frame_idle_ms = 10000;
  // swap_weights returns when all that was made of the old weights (folded, packed, compiled) is
  // made of the new ones; the old generation serves meanwhile. False: installs them at once.
  bool prepare_weights = true;
};

struct ExecutorStats {
  uint64_t runs;
  uint64_t errors;
  uint32_t frames_in_use;
  uint32_t frames_peak;
  uint32_t frames_limit;
  uint64_t frames_idle;     // Kept for the next runs.
  uint64_t frames_trimmed;  // Given back after their idle time.
  uint32_t runs_waiting;    // For a frame, now.
  uint64_t runs_waited;     // For a frame, ever.
  uint64_t runs_refused;
  uint64_t runs_queued;      // For a thread, now.
  uint64_t generation;       // Of the weights; 0 until the first swap.
  uint64_t generations_old;  // Replaced, and not yet freed.
  uint64_t outputs_copied;   // By run_into, since they could not be computed where they go.
};

// Weights that were checked and made ready, and wait to be installed.
class TIERUP_API PreparedWeights {
 public:
  PreparedWeights() noexcept;
  ~PreparedWeights();
  PreparedWeights(PreparedWeights&&) noexcept;
  PreparedWeights& operator=(PreparedWeights&&) noexcept;

 private:
  friend class Executor;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A handle; copies are the same executor. All functions throw Error. Thread rule: any function from
// any thread. The last handle's destructor waits for the runs of run_async.
class TIERUP_API Executor {
 public:
  // A .pt or .pt2 archive.
  explicit Executor(const std::string& path, const ExecutorConfig& config = {},
                    const Options& options = {});
  explicit Executor(std::span<const std::byte> bytes, const ExecutorConfig& config = {},
                    const Options& options = {});
  // Serves a module's code and weights as they are. Writing the module's weights afterwards is the
  // caller's matter.
  explicit Executor(const Module& module, const ExecutorConfig& config = {});
  ~Executor();
  Executor(const Executor&) noexcept;
  Executor& operator=(const Executor&) noexcept;

  // As Python's model(*args, **kwargs). Inputs of an exported program are checked against its
  // dtypes, ranks, ranges and guards; the error names the input and what was expected.
  Value run(std::vector<Value> args, NamedValues kwargs = {}, const RunOptions& options = {}) const;
  Value operator()(std::vector<Value> args) const { return run(std::move(args)); }
  // The flattened arguments in order, without constants; gives the flattened result.
  std::vector<Value> run_flat(std::vector<Value> leaves, const RunOptions& options = {}) const;
  // IO binding: flattened inputs in the caller's memory (Tensor::borrow), results written into
  // `outputs`, whose number, shapes and dtypes must be those of the flattened result. From the
  // second run on, results are computed where they go if the buffer is contiguous, aligned
  // to 64 bytes, and shares no memory with inputs or other buffers; a result that is a view, an
  // input, or made by a model with forks is copied. After an error, what the buffers hold
  // is not defined.
  void run_into(std::span<const Value> leaves, std::span<const Tensor> outputs,
                const RunOptions& options = {}) const;
  void run_into(std::initializer_list<Value> leaves, std::span<const Tensor> outputs,
                const RunOptions& options = {}) const {
    run_into(std::span<const Value>(leaves.begin(), leaves.size()), outputs, options);
  }
  // Runs in a thread of the executor's. Fails with kExhausted if too many wait already.
  std::future<Value> run_async(std::vector<Value> args, NamedValues kwargs = {},
                               const RunOptions& options = {}) const;
  // The same; `done` gets the value, or the error (then `value` is None), in that thread.
  void run_async(std::vector<Value> args, NamedValues kwargs, const RunOptions& options,
                 std::function<void(Value value, const Error* error)> done) const;

  // Of the generation that new runs take.
  NamedTensors weights() const;
  // Replaces weights by name, whole or not at all: kInvalidArgument lists every name that is
  // missing, unknown, or of another shape or dtype, and the old generation stays. Without
  // `strict`, names that are not given keep their tensors and unknown ones are ignored. A
  // tensor's memory is shared: do not write it afterwards. Returns the generation's number.
  uint64_t swap_weights(const NamedTensors& weights, bool strict = true) const;
  // From a .safetensors file, a torch.save state dict, or another .pt or .pt2 archive.
  uint64_t swap_weights(const std::string& path, bool strict = true) const;
  // The two halves of a swap: check and make ready; install by one assignment.
  PreparedWeights prepare_weights(const NamedTensors& weights, bool strict = true) const;
  uint64_t install(PreparedWeights weights) const;

  // Of `forward`: see signature.h.
  Signature signature() const;
  // As it was given.
  const ExecutorConfig& config() const;
  std::vector<DelegateInfo> delegates() const;
  // As Module::benchmark_nodes, of the current generation, without a frame.
  NodeBenchmark benchmark_nodes(const std::vector<Value>& args, uint32_t warmup_runs = 10,
                                uint32_t main_runs = 10) const;

  ExecutorStats stats() const;
  // Gives back frames that nobody used since the last call; returns how many.
  uint64_t trim() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tierup::v1
