// LiveCheck: runs tier 0 on what a specialised plan was given, and compares.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tierup/tier/plan_table.h"
#include "tierup/tier/sample_call.h"

namespace tierup::tier {

// The first difference between two results, with its place in them; none if they agree within what
// live checking lets pass, which is relative to the largest value of each tensor.
std::optional<std::string> first_difference(const IValue& expected, const IValue& got);

// One call of a pure plan. Made in the caller's thread, finished in a job.
class LiveCheck {
 public:
  LiveCheck(runtime::Program& program, runtime::Program::PlanSlot& slot,
            Ref<const InstalledPlan> plan, const Ref<ObjectValue>& self,
            std::span<const IValue> args, const ops::RunContext& context);
  void set_result(const IValue& result) { call_.set_result(result); }

  enum class Outcome : uint8_t {
    kAgrees,
    kDiffers,
    kNotCompared,  // The result is none that can be, or a weight was written since.
  };
  struct Verdict {
    Outcome outcome;
    std::string difference;  // What differs first, and at which node.
  };
  // Runs tier 0; both tiers once more to find the node where they part.
  Verdict compare() const;

 private:
  runtime::Program& program_;
  runtime::Program::PlanSlot& slot_;
  const Ref<const InstalledPlan> plan_;
  SampleCall call_;  // As the plan answered it.
};

}  // namespace tierup::tier
