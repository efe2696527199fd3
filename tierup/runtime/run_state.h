// RunState: what stops a run: cancellation, a deadline, the depth of its calls.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "tierup/base/interrupt.h"
#include "tierup/base/memory_use.h"
#include "tierup/base/ref.h"

namespace tierup::kernels {
class BoundOutputs;
}

namespace tierup::runtime {

class StepObserver;

// Shared by a run and its forks; constant but for what `cancelled` points at.
struct RunState final : public RefCounted, public Interrupt {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<const std::atomic<bool>> cancelled;  // May be null.
  std::optional<Clock::time_point> deadline;
  size_t max_call_depth = 10000;
  StepObserver* observer = nullptr;          // Null but when measuring; outlives the run.
  kernels::BoundOutputs* outputs = nullptr;  // The caller's buffers for the results; may be null.
  bool (*on_poll)() = nullptr;               // The host's: false cancels the run; may be null.

  // Whether anything may stop it: what long operators are to ask.
  const Interrupt* interrupt() const {
    return cancelled != nullptr || deadline || on_poll != nullptr || objects_are_limited()
               ? this
               : nullptr;
  }
  // Throws kCancelled or kDeadlineExceeded if it is time to, kOutOfMemory if values other than
  // tensors' numbers take more than the memory limit.
  void poll() const override {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) fail_cancelled();
    if (deadline && Clock::now() > *deadline) fail_deadline();
    if (on_poll != nullptr && !on_poll()) fail_cancelled();
    check_object_limit();
  }

 private:
  [[noreturn]] static void fail_cancelled();
  [[noreturn]] static void fail_deadline();
};

}  // namespace tierup::runtime
