// Executor: serves one model to many callers: bounded frames, runs in the background, weights that
// are swapped while it serves.
//
// A run takes a permit, then a reference to the generation that is current, and keeps both to its
// end: so it sees one generation whole. A swap prepares the new generation beside the old one and
// replaces it by one assignment. Old generations and stale frames are given back by a housekeeping
// thread, never by a caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tierup/base/fork_hooks.h"
#include "tierup/base/snapshot_cell.h"
#include "tierup/executor/run_permits.h"
#include "tierup/executor/servable.h"
#include "tierup/executor/work_pool.h"
#include "tierup/kernels/memory/bound_outputs.h"

namespace tierup::executor {

struct ExecutorConfig {
  uint32_t max_frames = 0;        // Runs at once; 0: no limit.
  bool wait_for_frame = true;     // Else a run that finds none is refused.
  uint32_t async_threads = 0;     // For run_async; 0: the cores the process may use.
  uint32_t max_queued = 1024;     // Runs that wait for such a thread; more are refused.
  int64_t time_limit_ms = 0;      // Of a run, waiting included; 0: none.
  int64_t frame_idle_ms = 10000;  // Frames that nobody used for so long are given back; 0: never.
  bool prepare_weights = true;    // A swap waits until folded and packed weights are made anew.
};

struct ExecutorStats {
  uint64_t runs = 0;
  uint64_t errors = 0;
  uint32_t frames_in_use = 0;
  uint32_t frames_peak = 0;
  uint32_t frames_limit = 0;
  uint64_t frames_idle = 0;     // Kept for the next runs.
  uint64_t frames_trimmed = 0;  // Given back after their idle time.
  uint32_t runs_waiting = 0;
  uint64_t runs_waited = 0;
  uint64_t runs_refused = 0;
  uint64_t runs_queued = 0;
  uint64_t generation = 0;       // 0 until the first swap.
  uint64_t generations_old = 0;  // Replaced, and not yet freed.
  uint64_t outputs_copied = 0;   // By run_into, of results that lay elsewhere.
};

using Clock = RunLimits::Clock;

// What a run in the background ended with: a value, or the exception.
struct RunOutcome {
  IValue value;
  std::exception_ptr failure;  // Null if there is a value.
  uint64_t generation = 0;
};

// Thread rule: every method from any thread. Must outlive its runs; the destructor waits for those
// of run_async.
class Executor {
 public:
  Executor(Ref<Servable> model, ExecutorConfig config);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const ExecutorConfig& config() const { return config_; }

  // Throw what the model throws, and as RunPermits do. `generation`, if given, takes the number
  // of the generation that answered.
  IValue run(std::vector<IValue> args, NamedValues kwargs, RunLimits limits,
             uint64_t* generation = nullptr);
  std::vector<IValue> run_flat(std::vector<IValue> leaves, RunLimits limits,
                               uint64_t* generation = nullptr);
  // The leaves of the result come to lie in `outputs`, which must have their number, shapes and
  // dtypes; throws kInvalidArgument naming the output otherwise. Copies what could not be
  // computed there (kernels/memory/bound_outputs.h).
  void run_into(std::vector<IValue> leaves, std::span<const Tensor> outputs, RunLimits limits);
  // Returns at once; `done` is called in a thread of the executor's, once, and must not throw.
  // Throws kExhausted if the queue is full.
  void run_async(std::vector<IValue> args, NamedValues kwargs, RunLimits limits,
                 std::function<void(RunOutcome)> done);

  // The generation that new runs take.
  Ref<Servable> current() const;
  uint64_t generation() const;
  // A generation with other weights, ready to be installed; see Servable. Runs go on meanwhile.
  Ref<Servable> prepare(const NamedTensors& weights, bool strict) const;
  // Runs that begin from now on take `next`. Returns its number.
  uint64_t install(Ref<Servable> next);
  // prepare() and install(); swaps from several threads happen one after the other.
  uint64_t swap_weights(const NamedTensors& weights, bool strict);

  ExecutorStats stats() const;
  // Gives back frames that nobody used since the last call, as the housekeeping does.
  size_t trim();

 private:
  struct Generation {
    Ref<Servable> model;
    uint64_t number = 0;
  };
  Generation take() const;
  RunLimits with_time_limit(RunLimits limits) const;
  template <typename Body>
  auto counted(const RunLimits& limits, Body&& body);
  void keep_house();
  void start_house();  // In a forked child, once it is used.
  void renew();
  void free_old(std::unique_lock<std::mutex>& lock);

  const ExecutorConfig config_;
  RunPermits permits_;
  SnapshotCell<Generation> current_;
  std::mutex install_mutex_;  // Between those who replace it.
  std::mutex swap_mutex_;
  std::atomic<uint64_t> runs_{0};
  std::atomic<uint64_t> errors_{0};
  std::atomic<uint64_t> trimmed_{0};
  std::atomic<uint64_t> outputs_copied_{0};
  kernels::OutputPlaces output_places_;

  mutable std::mutex house_mutex_;
  std::condition_variable house_wake_;
  std::vector<Ref<Servable>> old_;  // Replaced generations; freed here once no run holds them.
  size_t being_freed_ = 0;
  bool stopping_ = false;
  std::thread housekeeper_;
  std::atomic<bool> has_no_house_{false};  // In a forked child, at first.
  std::unique_ptr<WorkPool> pool_;         // Its tasks use everything above.
  const ForkHooks fork_hooks_;             // Last.
};

}  // namespace tierup::executor
