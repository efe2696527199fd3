// TieredProgram: runs a module's functions at the tier that is there, and makes the next one.
#pragma once

#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "tierup/runtime/program.h"
#include "tierup/tier/compile_queue.h"
#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {

// Thread rule: any thread, any number at once. Must outlive every run.
class TieredProgram {
 public:
  // `program` runs tier 0 and must outlive this.
  TieredProgram(runtime::Program& program, TieringOptions options);

  // As Program::run: `args` are moved from. A method's first argument is its module, whose weights
  // the specialised plans take for constant while nobody writes them.
  IValue run(runtime::Program::PlanSlot& slot, std::span<IValue> args, ops::RunContext& context,
             const Ref<const runtime::RunState>& state);

  const TieringOptions& options() const { return options_; }
  // Drops all plans and profiles; calls in flight end as they began.
  void flush();
  // Waits until no compile job is left (for tests and warm-up).
  void wait_for_jobs() { queue_.wait_idle(); }
  TierReport report() const;
  // Over the specialised plans: see runtime::FramePool. Those of tier 0 are the program's.
  size_t trim_frames() const;
  size_t kept_frames() const;

 private:
  using Key = std::pair<const ir::Function*, const ObjectValue*>;
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<const void*>{}(key.first) * 31 + std::hash<const void*>{}(key.second);
    }
  };
  TieredGraph& graph_of(const ir::Function& function, std::span<const IValue> args);

  runtime::Program& program_;
  const TieringOptions options_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<TieredGraph>, KeyHash> graphs_;
  CompileQueue queue_;  // Last: its threads stop before the graphs go.
};

}  // namespace tierup::tier
