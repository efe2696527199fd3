#include "tierup/runtime/program.h"

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/bound_outputs.h"
#include "tierup/runtime/interpreter.h"
#include "tierup/runtime/lower.h"

namespace tierup::runtime {

Program::Program(PrepareGraph prepare, ProgramOptions options) : prepare_(std::move(prepare)) {
  if (options.fork_threads > 0) {
    forks_ = std::make_unique<ForkPool>(options.fork_threads,
                                        [this](ForkTask& task) { run_task(task); });
  }
}

Program::~Program() = default;

Program::PlanSlot& Program::slot_of(const ir::Function& function) {
  {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = plans_.find(&function);
    if (found != plans_.end()) return *found->second;
  }
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  auto& place = plans_[&function];
  if (place == nullptr) {
    place = std::make_unique<PlanSlot>();
    place->function_ = &function;
  }
  return *place;
}

const Plan& Program::plan_of(PlanSlot& slot) {
  if (const Plan* plan = slot.plan_.load(std::memory_order_acquire)) return *plan;
  std::call_once(slot.made_, [&] {
    slot.owned_ = lower(prepare_(*slot.function_));
    slot.plan_.store(slot.owned_.get(), std::memory_order_release);
  });
  return *slot.owned_;
}

const Plan& Program::resolve(const CallSite& site, const IValue* receiver) {
  const ClassType* type = receiver == nullptr ? nullptr : receiver->to_object().type.get();
  const CallTarget* cached = site.cached.load(std::memory_order_acquire);
  if (cached != nullptr && cached->receiver == type) return *cached->plan;
  Ref<Callable> callee = site.callee;
  if (receiver != nullptr) {
    callee = type->find_method(site.name);
    require(static_cast<bool>(callee), ErrorCode::kNotFound, "{} has no method '{}'", type->name(),
            site.name);
  }
  const Plan& plan = plan_of(ir::as_function(*callee));
  // A call that keeps changing its receiver would grow the list: only the first is cached.
  if (cached == nullptr) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    site.cached.store(&targets_.emplace_back(CallTarget{type, &plan}), std::memory_order_release);
  }
  return plan;
}

size_t Program::trim_frames() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  size_t freed = 0;
  for (const auto& [function, slot] : plans_) {
    if (const Plan* plan = slot->plan_.load(std::memory_order_acquire))
      freed += plan->trim_frames();
  }
  return freed;
}

size_t Program::kept_frames() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  size_t kept = 0;
  for (const auto& [function, slot] : plans_) {
    if (const Plan* plan = slot->plan_.load(std::memory_order_acquire)) kept += plan->kept_frames();
  }
  return kept;
}

IValue Program::run(PlanSlot& slot, std::span<IValue> args, ops::RunContext& context,
                    const Ref<const RunState>& state, RunProfiler* profiler) {
  return run_single(plan_of(slot), args, context, state, profiler);
}

IValue Program::run_single(const Plan& plan, std::span<IValue> args, ops::RunContext& context,
                           const Ref<const RunState>& state, RunProfiler* profiler) {
  IValue result;
  std::optional<kernels::BoundOutputs::Scope> bound;
  // What a fork may still work on must not lie in the caller's memory.
  if (state->outputs != nullptr && !plan.has_forks() && !plan.has_calls()) {
    bound.emplace(*state->outputs);
  }
  Interpreter(*this, state, context, profiler).run(plan, args, {&result, 1});
  return result;
}

std::vector<IValue> Program::run_plan(const Plan& plan, std::span<IValue> args,
                                      ops::RunContext& context, const Ref<const RunState>& state) {
  std::vector<IValue> results(plan.graph().outputs().size());
  Interpreter(*this, state, context).run(plan, args, results);
  return results;
}

void Program::run_task(ForkTask& task) {
  // The pool's threads are the parallelism: one more team in each would only crowd the cores.
  const ThreadCountScope one_thread(1);
  try {
    IValue result;
    Interpreter(*this, task.state, task.context).run(*task.body, task.captures, {&result, 1});
    task.result->complete(std::move(result));
  } catch (...) {
    task.result->fail_with(std::current_exception());
  }
}

}  // namespace tierup::runtime
