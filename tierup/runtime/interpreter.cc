#include "tierup/runtime/interpreter.h"

#include <memory>

#include "tierup/ops/table/missing_tensor.h"
#include "tierup/ops/table/tape.h"
#include "tierup/runtime/program.h"
#include "tierup/runtime/step_observer.h"

namespace tierup::runtime {
namespace {

void enter_loop(const Step& step, const Operand* operands, IValue* slots) {
  IValue* state = slots + step.output;  // limit, counter, cond, i, carried...
  state[0] = read_operand(operands[0], slots);
  state[1] = int64_t{0};
  state[2] = read_operand(operands[1], slots);
  for (uint32_t i = 2; i < step.input_count; ++i) state[i + 2] = read_operand(operands[i], slots);
}

// False if the loop is over.
bool test_loop(const Step& step, IValue* slots) {
  IValue* state = slots + step.output;
  const int64_t counter = state[1].to_int();
  if (counter >= state[0].to_int() || !state[2].to_bool()) return false;
  state[3] = counter;
  state[1] = counter + 1;
  return true;
}

}  // namespace

Interpreter::~Interpreter() {
  while (!stack_.empty()) leave();
}

void Interpreter::enter(const Plan& plan, Ref<ForkTask> boundary) {
  stack_.push_back({&plan, plan.frames().acquire(plan), nullptr, std::move(boundary)});
  reload();
}

void Interpreter::reload() {
  const Activation& activation = stack_.back();
  slots_ = activation.frame->slots();
  inputs_ = activation.frame->inputs();
  operands_ = activation.plan->operands().data();
  steps_ = activation.plan->steps().data();
}

void Interpreter::leave() {
  Activation& activation = stack_.back();
  activation.frame->clear();
  activation.plan->frames().release(activation.frame);
  stack_.pop_back();
  if (!stack_.empty()) reload();
}

void Interpreter::run(const Plan& plan, std::span<IValue> args, std::span<IValue> results) {
  TIERUP_CHECK(args.size() == plan.param_count());
  const InterruptScope interrupt(state_->interrupt());
  enter(plan, nullptr);
  IValue* params = slots_ + plan.first_param();
  for (size_t i = 0; i < args.size(); ++i) params[i] = std::move(args[i]);
  stack_.back().next = steps_;
  for (;;) {
    try {
      loop(results);
      return;
    } catch (...) {
      unwind(std::current_exception());
    }
  }
}

void Interpreter::loop(std::span<IValue> results) {
  const Step* next = stack_.back().next;
  for (;;) {
    const Step& step = *next++;
    current_ = &step;
    switch (step.kind) {
      case StepKind::kOp:
        if (profiler_ != nullptr) profiler_->on_start();
        run_op(step);
        if (is_watched()) profiler_->on_values(step, slots_);
        break;
      case StepKind::kJump: next = steps_ + step.target; break;
      case StepKind::kJumpIfFalse: run_branch(step, next); break;
      case StepKind::kLoopEnter: enter_loop(step, operands(step), slots_); break;
      case StepKind::kLoopTest:
        if (test_loop(step, slots_)) break;
        next = steps_ + step.target;
        if (is_watched()) profiler_->on_loop_end(step, slots_[step.output + 1].to_int());
        break;
      case StepKind::kLoopNext:
        state_->poll();
        run_plain(step);
        next = steps_ + step.target;
        break;
      case StepKind::kCall: next = run_call(step, nullptr); break;
      case StepKind::kCallMethod: next = run_call(step, &slots_[operands(step)->slot]); break;
      case StepKind::kFork: next = run_fork(step); break;
      case StepKind::kWait: next = run_wait(step); break;
      case StepKind::kReturn:
        if (finish(step, results)) return;
        next = stack_.back().next;
        break;
      case StepKind::kPushEntered:
        entered_.emplace_back(stack_.size(), read_operand(*operands(step), slots_));
        break;
      case StepKind::kPopEntered: entered_.pop_back(); break;
      default:
        run_plain(step);
        if (is_watched()) profiler_->on_values(step, slots_);
        break;
    }
  }
}

void Interpreter::run_branch(const Step& step, const Step*& next) {
  const bool taken = slots_[operands(step)->slot].to_bool();
  if (!taken) next = steps_ + step.target;
  if (is_watched()) profiler_->on_branch(step, taken);
}

void Interpreter::run_op(const Step& step) {
  if (--steps_until_poll_ == 0) {
    steps_until_poll_ = kPollInterval;
    state_->poll();
  }
  const Operand* from = operands(step);
  const uint32_t count = step.input_count;
  bool is_odd = false;
  for (uint32_t i = 0; i < count; ++i) {
    new (inputs_ + i) IValue(read_operand(from[i], slots_));
    is_odd |= from[i].wants_tensor != 0 && !inputs_[i].is_tensor();
  }
  live_inputs_ = count;
  if (is_odd) [[unlikely]]
    check_tensors(step);
  ops::OpCall call{{inputs_, count}, {slots_ + step.output, step.output_count}, context_};
  if (is_watched_run_) [[unlikely]] {
    run_watched(step, call);
  } else {
    step.data.kernel(call);
  }
  live_inputs_ = 0;
  std::destroy_n(inputs_, count);
}

void Interpreter::check_tensors(const Step& step) {
  const ir::Node& node = *stack_.back().plan->origin(static_cast<size_t>(&step - steps_));
  const ir::Schema& schema = node.op()->schema();
  const auto missing = ops::find_missing_tensor(schema, {inputs_, step.input_count});
  if (!missing) return;
  fail(ErrorCode::kTypeError, "the argument '{}' of {} is None where a Tensor is expected",
       schema.arguments[*missing].name, schema.qualified_name());
}

void Interpreter::run_watched(const Step& step, ops::OpCall& call) {
  if (state_->observer == nullptr) return run_recorded(step, call);
  const Plan& plan = *stack_.back().plan;
  state_->observer->before(plan, step, call.args);
  run_recorded(step, call);
  state_->observer->after(plan, step, call.results);
}

void Interpreter::run_recorded(const Step& step, ops::OpCall& call) {
  if (context_.tape == nullptr) return step.data.kernel(call);
  const ir::Node* origin = stack_.back().plan->origin(static_cast<size_t>(&step - steps_));
  context_.tape->call(ops::op_of(*origin->op()), call, origin);
}

// Enters a plan with the inputs of this step as its parameters, to go on at `resume` afterwards.
const Step* Interpreter::enter_with(const Plan& plan, const Step& step, const Step* resume,
                                    Ref<ForkTask> boundary) {
  state_->poll();
  require(stack_.size() < state_->max_call_depth, ErrorCode::kRecursionLimit,
          "maximum recursion depth exceeded: {} calls are active", stack_.size());
  require(plan.param_count() == step.input_count, ErrorCode::kInvalidArgument,
          "{} takes {} arguments but got {}", plan.name(), plan.param_count(), step.input_count);
  const Operand* from = operands(step);
  IValue* caller = slots_;
  stack_.back().next = resume;
  enter(plan, std::move(boundary));
  IValue* params = slots_ + plan.first_param();
  for (uint32_t i = 0; i < step.input_count; ++i) params[i] = read_operand(from[i], caller);
  return steps_;
}

const Step* Interpreter::run_call(const Step& step, const IValue* receiver) {
  return enter_with(program_.resolve(*step.data.site, receiver), step, &step + 1, nullptr);
}

bool Interpreter::finish(const Step& step, std::span<IValue> results) {
  const Operand* from = operands(step);
  if (stack_.back().boundary) {
    const Ref<ForkTask> boundary = std::move(stack_.back().boundary);
    boundary->result->complete(read_operand(*from, slots_));
    leave();
    return false;
  }
  const bool is_bottom = stack_.size() == 1;
  IValue* outputs = results.data();
  if (!is_bottom) {
    const Activation& caller = stack_[stack_.size() - 2];
    outputs = caller.frame->slots() + caller.next[-1].output;
  }
  for (uint32_t i = 0; i < step.input_count; ++i) outputs[i] = read_operand(from[i], slots_);
  leave();
  return is_bottom;
}

}  // namespace tierup::runtime
