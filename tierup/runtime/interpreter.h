// Interpreter: runs plans. The loop over steps that every tier shares.
//
// Calls of the program push an Activation onto a stack of the interpreter's own, never onto the
// host's, so that recursion is bounded by the run's limit and not by a crash. An error takes
// the activations off again, calls the __exit__ of every object whose `with` it leaves, and
// carries the operator, the shapes and the program's lines with it.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/base/small_vector.h"
#include "tierup/ops/table/run_context.h"
#include "tierup/runtime/fork_pool.h"
#include "tierup/runtime/plan.h"
#include "tierup/runtime/run_profiler.h"
#include "tierup/runtime/run_state.h"

namespace tierup::runtime {

class Program;

// The value of an operand: moved if this is its last use, else copied.
inline IValue read_operand(const Operand& operand, IValue* slots) {
  if (operand.is_last_use != 0) return std::move(slots[operand.slot]);
  return slots[operand.slot];
}

// One run, in one thread.
class Interpreter {
 public:
  // `profiler` may be null; it watches the plan that it was made for.
  Interpreter(Program& program, const Ref<const RunState>& state, ops::RunContext& context,
              RunProfiler* profiler = nullptr)
      : program_(program),
        state_(state),
        context_(context),
        profiler_(profiler),
        is_watched_run_(state->observer != nullptr || context.tape != nullptr) {}
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // `args`, one per parameter, are moved from. Throws what the program raises, kCancelled,
  // kDeadlineExceeded, kRecursionLimit, and what operators throw, with context.
  void run(const Plan& plan, std::span<IValue> args, std::span<IValue> results);

 private:
  struct Activation {
    const Plan* plan;
    Frame* frame;
    const Step* next;        // Where to go on once a callee returned.
    Ref<ForkTask> boundary;  // Of a fork's body run here: takes the result or the error.
  };

  // Runs until the bottom activation returned.
  void loop(std::span<IValue> results);
  void enter(const Plan& plan, Ref<ForkTask> boundary);
  void leave();
  // Ends the activation on top; true if it was the bottom one.
  bool finish(const Step& step, std::span<IValue> results);

  void run_op(const Step& step);
  // Throws kTypeError if the inputs of the operator hold None where a tensor is wanted.
  void check_tensors(const Step& step);
  // The kernel, under what watches the run: a tape, an observer.
  void run_watched(const Step& step, ops::OpCall& call);
  void run_recorded(const Step& step, ops::OpCall& call);
  void run_branch(const Step& step, const Step*& next);
  // Whether the top activation is of the plan that is watched.
  bool is_watched() const {
    return profiler_ != nullptr && stack_.back().plan == &profiler_->plan();
  }
  const Step* run_call(const Step& step, const IValue* receiver);
  const Step* run_fork(const Step& step);
  bool try_hand_over(const Step& step, const Ref<ForkTask>& task);
  const Step* run_wait(const Step& step);
  // Ends the branches (passes/specialize/fork_branches.h) that the top activation has handed over:
  // nobody may work for a run that is over.
  void join_branches();
  const Step* enter_with(const Plan& plan, const Step& step, const Step* resume,
                         Ref<ForkTask> boundary);
  // Everything that neither calls nor jumps (plain_steps.cc).
  void run_plain(const Step& step);

  // Takes off activations (unwind.cc) down to a fork's boundary, whose future takes the error, and
  // returns; throws the error, with context, if there is no boundary.
  void unwind(std::exception_ptr failure);
  void call_exit(const IValue& object, const Ref<const RunState>& state);
  void destroy_inputs();

  // The top activation's parts.
  void reload();
  const Operand* operands(const Step& step) const { return operands_ + step.input_begin; }

  Program& program_;
  const Ref<const RunState>& state_;
  ops::RunContext& context_;
  RunProfiler* profiler_;
  const bool is_watched_run_;
  SmallVector<Activation, 8> stack_;
  IValue* slots_ = nullptr;
  IValue* inputs_ = nullptr;
  const Operand* operands_ = nullptr;
  const Step* steps_ = nullptr;
  std::vector<std::pair<size_t, IValue>> entered_;             // Depth of the activation, object.
  std::vector<std::pair<size_t, Ref<FutureValue>>> branches_;  // The same; not waited for yet.
  const Step* current_ = nullptr;                              // The step being run.
  size_t live_inputs_ = 0;                                     // Values in inputs_.
  uint32_t steps_until_poll_ = kPollInterval;

  static constexpr uint32_t kPollInterval = 16;
};

}  // namespace tierup::runtime
