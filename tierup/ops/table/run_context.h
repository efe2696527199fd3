// RunContext: what a call depends on besides its arguments.
//
// One object per run (a fork gets its own copy of the policy, sharing the generator).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tierup::kernels {
class Generator;
}

namespace tierup::ops {

// The policy word: checked by entry guards of plans.
struct Policy {
  bool grad_mode = false;  // torch.is_grad_enabled(); tierup runs inference by default.
  bool inference_mode = false;
  bool deterministic = false;
};

// Where an operator leaves work that no caller should wait for, such as compiling for sizes that
// came again. The work may run in another thread, later, or never.
class BackgroundWork {
 public:
  virtual ~BackgroundWork() = default;
  virtual void push(std::function<void()> work) = 0;
};

class Tape;  // Records calls for a backward pass; see tape.h.

struct RunContext {
  Policy policy;
  Tape* tape = nullptr;                     // Null: nobody records in this run.
  BackgroundWork* background = nullptr;     // Null: such work is done at once, in the call.
  kernels::Generator* generator = nullptr;  // Never null in a run.
  // Receives what the model prints (with its newline) and warns; null: stdout, stderr.
  std::function<void(const std::string&)> print;
  std::function<void(const std::string&)> warn;
  // The index (0-based) for warnings that appear once a site is kept by the caller of warn.
};

}  // namespace tierup::ops
