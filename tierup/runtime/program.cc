#include "tierup/runtime/program.h"

#include "tierup/base/error.h"
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

const Plan& Program::plan_of(const ir::Function& function) {
  Entry* entry = nullptr;
  {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = plans_.find(&function);
    if (found != plans_.end()) entry = found->second.get();
  }
  if (entry == nullptr) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    auto& place = plans_[&function];
    if (place == nullptr) place = std::make_unique<Entry>();
    entry = place.get();
  }
  std::call_once(entry->made, [&] { entry->plan = lower(prepare_(function)); });
  return *entry->plan;
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

IValue Program::run(const ir::Function& function, std::span<IValue> args, ops::RunContext& context,
                    const Ref<const RunState>& state) {
  const Plan& plan = plan_of(function);
  IValue result;
  Interpreter(*this, state, context).run(plan, args, {&result, 1});
  return result;
}

std::vector<IValue> Program::run_plan(const Plan& plan, std::span<IValue> args,
                                      ops::RunContext& context, const Ref<const RunState>& state) {
  std::vector<IValue> results(plan.graph().outputs().size());
  Interpreter(*this, state, context).run(plan, args, results);
  return results;
}

void Program::run_task(ForkTask& task) {
  try {
    IValue result;
    Interpreter(*this, task.state, task.context).run(*task.body, task.captures, {&result, 1});
    task.result->complete(std::move(result));
  } catch (...) {
    task.result->fail_with(std::current_exception());
  }
}

}  // namespace tierup::runtime
