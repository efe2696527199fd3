// Options of a module and of one run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/export.h"
#include "tierup/node_times.h"
#include "tierup/pass.h"

namespace tierup::v1 {

// Fixed when the module is loaded.
struct Options {
  // Threads for one operator; 0: the cores the process may use (affinity and cgroup quota).
  int threads = 0;
  // Threads for torch.jit.fork; 0: one less than those cores; -1: none.
  int fork_threads = 0;
  // Threads on which independent branches of one call may run at the same time, the caller's
  // included. Branches are handed over only where measured times say that it pays. 0 or 1: none.
  uint32_t inter_op_threads = 0;
  // How plans are made, over what the environment's TIERUP_TIERING says: "key=value,..." with the
  // keys and values that `tierup explain` prints, e.g. "compile=off" (the interpreter alone),
  // "policy=reference", "accuracy=exact", "max_plan_mib=64". Another key or value fails at load
  // with kInvalidArgument.
  std::string tiering;
  // Milliseconds that a run may take; 0: no limit. A run that is stopped, by this or a
  // cancellation, leaves what it had written in place by then, even the half of a tensor; factoring
  // a large matrix is one step that goes on to its end.
  int64_t time_limit_ms = 0;
  // Calls of the model's functions within each other.
  int64_t max_call_depth = 10000;
  // Of the random generator; PyTorch's default if absent.
  std::optional<uint64_t> seed;
  // Code that names CUDA devices runs on the CPU.
  bool devices_to_cpu = true;
  // Load a model although every run needs something unsupported; reaching it is an error then.
  bool allow_unsupported = false;
  // Which of several models of a torch.export archive; empty: the only one.
  std::string model_name;
  // Let classes restore themselves by their __setstate__; false: refuse such models.
  bool run_model_code_at_load = true;
  // Read files with models and weights whole into memory of the process, instead of mapping them:
  // loading takes longer, and processes share no pages. A mapped file must never be made shorter or
  // written to while it is in use, which ends the process by SIGBUS or changes weights: put another
  // file in its place by rename.
  bool load_into_memory = false;
  // Shared objects with operators, delegates and passes (tierup/plugin.h). Native code: name only
  // what you trust.
  std::vector<std::string> plugins;
  // Rewrites of graphs, in this order, then those of plugins.
  std::vector<GraphPass> passes;
  // Receive what the model prints, with its newline, and its warnings; null: stdout, stderr.
  std::function<void(const std::string&)> print;
  std::function<void(const std::string&)> warn;
};

// Throws kInvalidArgument, as Module::load, for a text that is no Options::tiering.
TIERUP_API void check_tiering(const std::string& text);

// Stops runs from any thread; copies are the same token.
class CancellationToken {
 public:
  CancellationToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() { flag_->store(true, std::memory_order_relaxed); }
  bool is_cancelled() const { return flag_->load(std::memory_order_relaxed); }

 private:
  friend struct Access;
  std::shared_ptr<std::atomic<bool>> flag_;
};

struct RunOptions {
  std::optional<CancellationToken> cancellation;
  // Instead of the module's limit; 0: none.
  std::optional<int64_t> time_limit_ms;
  // Called between the run's steps, and in long ones, often and from any of its threads: for hosts
  // that must look at something themselves (signals). False cancels the run.
  bool (*on_poll)() = nullptr;
  // Takes the times of the nodes, of a Module's runs: an Executor has benchmark_nodes().
  std::optional<NodeTimes> node_times;
  // Record the call, so that gradients can be asked of its results (training.h).
  bool gradients = false;
};

// Tensors of all modules together may take this many bytes, and so may all other values, lists and
// views; beyond it runs fail with kOutOfMemory. 0: no limit.
TIERUP_API void set_memory_limit(int64_t max_bytes);

struct MemoryStats {
  int64_t live_bytes;
  int64_t peak_bytes;
  int64_t allocation_count;
};
TIERUP_API MemoryStats memory_stats();
// `peak_bytes` is the largest from now on.
TIERUP_API void reset_peak_memory();

}  // namespace tierup::v1
