// What happens to an error on its way out of a run: context is gathered, `with` blocks are left,
// activations taken off.
#include <fmt/format.h>

#include <memory>
#include <new>
#include <stdexcept>

#include "tierup/runtime/failure_text.h"
#include "tierup/runtime/interpreter.h"
#include "tierup/runtime/program.h"

namespace tierup::runtime {
namespace {

// A deep recursion's chain is cut in the middle.
constexpr size_t kMaxChain = 24;

Error to_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::length_error&) {  // More elements than a container can ever have.
    return Error(ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, fmt::format("unexpected exception: {}", error.what()));
  } catch (...) {
    return Error(ErrorCode::kInternal, "unexpected exception");
  }
}

bool is_stopped(ErrorCode code) {
  return code == ErrorCode::kCancelled || code == ErrorCode::kDeadlineExceeded;
}

// A run that was stopped still leaves its `with` blocks, but not for long.
Ref<const RunState> state_for_exit(const Ref<const RunState>& state, ErrorCode reason) {
  if (!is_stopped(reason)) return state;
  auto grace = make_ref<RunState>();
  grace->deadline = RunState::Clock::now() + std::chrono::milliseconds(500);
  grace->max_call_depth = state->max_call_depth;
  return Ref<const RunState>(grace.get());
}

}  // namespace

void Interpreter::destroy_inputs() {
  std::destroy_n(inputs_, live_inputs_);
  live_inputs_ = 0;
}

void Interpreter::unwind(std::exception_ptr failure) {
  Error error = to_error(failure);
  for (std::string& line :
       describe_step(*stack_.back().plan, *current_, {inputs_, live_inputs_}, slots_)) {
    error.add_context(std::move(line));
  }
  if (error.code() == ErrorCode::kOutOfMemory && context_.tape != nullptr) {
    error.add_context(
        "gradients are recorded in this run, which keeps what backward passes read: detach what "
        "is carried along, run backward more often, or switch recording off");
  }
  destroy_inputs();
  const Ref<const RunState> exit_state = state_for_exit(state_, error.code());
  size_t chain = 0;
  while (!stack_.empty()) {
    while (!entered_.empty() && entered_.back().first == stack_.size()) {
      const IValue object = std::move(entered_.back().second);
      entered_.pop_back();
      call_exit(object, exit_state);
    }
    join_branches();
    const Ref<ForkTask> boundary = std::move(stack_.back().boundary);
    leave();
    if (boundary) {
      boundary->result->fail_with(std::make_exception_ptr(std::move(error)));
      return;
    }
    if (stack_.empty()) break;
    if (++chain <= kMaxChain) {
      const std::string call = describe_call(*stack_.back().plan, stack_.back().next[-1]);
      if (!call.empty()) error.add_context(call);
    }
  }
  if (chain > kMaxChain) error.add_context(fmt::format("and {} more calls", chain - kMaxChain));
  throw error;
}

// An error of __exit__ itself gives way to the one that is on its way out.
void Interpreter::call_exit(const IValue& object, const Ref<const RunState>& state) {
  try {
    const Ref<Callable> exit = object.to_object().type->find_method("__exit__");
    if (!exit) return;
    IValue args[] = {object, IValue(), IValue(), IValue()};
    program_.run(ir::as_function(*exit), args, context_, state);
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace tierup::runtime
