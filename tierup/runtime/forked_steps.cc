// Steps that begin and await forks: those of programs, and branches of a graph that a pass made
// forks of.
#include "tierup/base/wait_policy.h"
#include "tierup/runtime/interpreter.h"
#include "tierup/runtime/program.h"

namespace tierup::runtime {

// A pure body goes to the pool, a branch if a thread is free for it; another runs at once, as a
// call whose result a future takes.
const Step* Interpreter::run_fork(const Step& step) {
  const Plan& body = *step.data.body;
  auto task = make_ref<ForkTask>();
  task->body = body.shared_from_this();
  task->result = make_ref<FutureValue>(body.graph().outputs()[0]->type());
  Ref<FutureValue> future = task->result;
  if (try_hand_over(step, task)) {
    slots_[step.output] = std::move(future);
    return &step + 1;
  }
  IValue* slots = slots_;
  const Step* first = enter_with(body, step, &step + 1, std::move(task));
  slots[step.output] = std::move(future);
  return first;
}

bool Interpreter::try_hand_over(const Step& step, const Ref<ForkTask>& task) {
  ForkPool* pool = program_.forks();
  const bool is_branch = step.target == kBranch;
  if (pool == nullptr || !(is_branch ? pool->has_free_thread() : stack_.back().plan->is_pure())) {
    return false;
  }
  const Operand* from = operands(step);
  for (uint32_t i = 0; i < step.input_count; ++i) {
    task->captures.push_back(read_operand(from[i], slots_));
  }
  task->state = state_;
  task->context = context_;
  if (is_branch) {
    branches_.emplace_back(stack_.size(), task->result);
  } else {
    task->context.background = nullptr;  // A fork may outlast the run, and who does its work.
  }
  pool->submit(task);
  return true;
}

// A task that nobody has begun is run here, and the step repeated when it is done.
const Step* Interpreter::run_wait(const Step& step) {
  const Operand* from = operands(step);
  const Ref<FutureValue> future = slots_[from->slot].future_ref();
  if (!future->is_done() && program_.forks() != nullptr) {
    if (Ref<ForkTask> task = program_.forks()->claim(future.get())) {
      stack_.back().next = &step;
      enter(*task->body, task);
      IValue* params = slots_ + task->body->first_param();
      for (IValue& capture : task->captures) *params++ = std::move(capture);
      return steps_;
    }
  }
  look_before_team();
  wait_awake([&] { return future->is_done(); });
  IValue value = future->wait();
  std::erase_if(branches_, [&](const auto& branch) { return branch.second == future; });
  if (from->is_last_use != 0) slots_[from->slot] = IValue();
  slots_[step.output] = std::move(value);
  return &step + 1;
}

void Interpreter::join_branches() {
  while (!branches_.empty() && branches_.back().first == stack_.size()) {
    const Ref<FutureValue> future = std::move(branches_.back().second);
    branches_.pop_back();
    if (program_.forks()->claim(future.get())) continue;  // Nobody had begun it.
    try {
      future->wait();
    } catch (const std::exception&) {
      continue;  // The run ends with the failure that it met first.
    }
  }
}

}  // namespace tierup::runtime
