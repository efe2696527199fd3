// TieredProgram: runs a module's functions at the tier that is there, and makes the next one.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "tierup/runtime/program.h"
#include "tierup/tier/compile_queue.h"
#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {

// Thread rule: any thread, any number at once. Must outlive every run.
class TieredProgram {
 public:
  // `program` runs tier 0 and must outlive this. Jobs go to `queue`, that of an older generation of
  // the same program, or to one of its own.
  TieredProgram(runtime::Program& program, TieringOptions options,
                std::shared_ptr<CompileQueue> queue = nullptr);
  // Waits for its jobs that run.
  ~TieredProgram();
  TieredProgram(const TieredProgram&) = delete;
  TieredProgram& operator=(const TieredProgram&) = delete;

  // A function that is called from outside, always on `self` (null: a free function), whose weights
  // specialised plans take for constant while nobody writes them. Cheap: nothing is compiled.
  TieredGraph& add(runtime::Program::PlanSlot& slot, Ref<ObjectValue> self);

  const TieringOptions& options() const { return options_; }
  const std::shared_ptr<CompileQueue>& queue() const { return queue_; }
  // Drops all plans and profiles; calls in flight end as they began.
  void flush();
  // Waits until no compile job is left in the queue, at most for `longest`; whether none is.
  bool wait_for_jobs(std::optional<CompileQueue::Clock::duration> longest = std::nullopt) {
    return queue_->wait_idle(longest);
  }
  // Calls still take turns between some plan and tier 0 (for warm-up).
  bool has_open_trials() const;
  TierReport report() const;
  // Over the specialised plans: see runtime::FramePool. Those of tier 0 are the program's.
  size_t trim_frames() const;
  size_t kept_frames() const;

 private:
  runtime::Program& program_;
  const TieringOptions options_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<TieredGraph>> graphs_;
  const std::shared_ptr<CompileQueue> queue_;  // Last: its threads stop before the graphs go.
};

}  // namespace tierup::tier
