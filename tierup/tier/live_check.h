// LiveCheck: runs tier 0 on what a specialised plan was given, and compares.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tierup/runtime/program.h"
#include "tierup/runtime/step_observer.h"
#include "tierup/tier/plan_table.h"

namespace tierup::tier {

// The largest difference that live checking lets pass, relative to the largest value of the tensor:
// an order above what algorithms chosen by "accuracy=fast" may add up to in a deep network.
double check_tolerance(ScalarType dtype);
// The first difference between two results, with its place in them; none if they agree.
std::optional<std::string> first_difference(const IValue& expected, const IValue& got);

// One call of a pure plan. Made in the caller's thread, where it copies the tensors that go in
// (the caller may write to them later), but for the module's own; finished in a job.
class LiveCheck {
 public:
  LiveCheck(runtime::Program& program, runtime::Program::PlanSlot& slot,
            Ref<const InstalledPlan> plan, const Ref<ObjectValue>& self,
            std::span<const IValue> args, const ops::RunContext& context);
  void set_result(const IValue& result) { result_ = deep_copy(result); }
  // Runs tier 0. None if it agrees, or if a weight was written since; else what differs first, and
  // at which node, found by running both tiers once more.
  std::optional<std::string> difference() const;

 private:
  IValue run(const runtime::Plan& plan, runtime::StepObserver* observer = nullptr) const;

  runtime::Program& program_;
  runtime::Program::PlanSlot& slot_;
  const Ref<const InstalledPlan> plan_;
  std::vector<IValue> args_;
  const ops::Policy policy_;
  IValue result_;
};

}  // namespace tierup::tier
