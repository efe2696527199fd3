// Program: the plans of one module's code, made when first called, and the threads of its forks.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "tierup/ir/function.h"
#include "tierup/ops/table/run_context.h"
#include "tierup/runtime/fork_pool.h"
#include "tierup/runtime/plan.h"
#include "tierup/runtime/run_state.h"

namespace tierup::runtime {

// Makes the graph that a function's plan is lowered from: its own, through the pipeline.
using PrepareGraph = std::function<std::shared_ptr<const ir::Graph>(const ir::Function&)>;

struct ProgramOptions {
  size_t fork_threads = 0;  // 0: forks run in the thread that forks.
};

class RunProfiler;

// Thread rule: any thread, any number at once. Must outlive every run.
class Program {
 public:
  explicit Program(PrepareGraph prepare, ProgramOptions options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Where a function's plan is, or will be once it is first wanted. Stays as long as the program.
  class PlanSlot {
   public:
    const ir::Function& function() const { return *function_; }

   private:
    friend class Program;
    const ir::Function* function_ = nullptr;
    std::atomic<const Plan*> plan_{nullptr};
    std::once_flag made_;
    std::unique_ptr<Plan> owned_;
  };
  PlanSlot& slot_of(const ir::Function& function);
  // Made on the first call (other threads that want the same one wait); constant after.
  const Plan& plan_of(PlanSlot& slot);
  const Plan& plan_of(const ir::Function& function) { return plan_of(slot_of(function)); }
  // What a call step calls, by its cache where that still holds.
  const Plan& resolve(const CallSite& site, const IValue* receiver);
  ForkPool* forks() const { return forks_.get(); }
  // Over all plans made so far: see FramePool.
  size_t trim_frames() const;
  size_t kept_frames() const;

  // Calls a function; `args` are moved from and must be one per parameter. `profiler` may be null.
  IValue run(PlanSlot& slot, std::span<IValue> args, ops::RunContext& context,
             const Ref<const RunState>& state, RunProfiler* profiler = nullptr);
  IValue run(const ir::Function& function, std::span<IValue> args, ops::RunContext& context,
             const Ref<const RunState>& state) {
    return run(slot_of(function), args, context, state);
  }
  // Runs a plan with any number of results.
  std::vector<IValue> run_plan(const Plan& plan, std::span<IValue> args, ops::RunContext& context,
                               const Ref<const RunState>& state);
  // The same of a plan with one result.
  IValue run_single(const Plan& plan, std::span<IValue> args, ops::RunContext& context,
                    const Ref<const RunState>& state, RunProfiler* profiler = nullptr);

 private:
  void run_task(ForkTask& task);

  const PrepareGraph prepare_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<const ir::Function*, std::unique_ptr<PlanSlot>> plans_;
  std::deque<CallTarget> targets_;
  std::unique_ptr<ForkPool> forks_;  // Last: its threads stop before the plans go.
};

}  // namespace tierup::runtime
