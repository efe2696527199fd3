#include "tierup/tier/live_check.h"

#include <fmt/format.h>

#include "tierup/tensor/comparison.h"
#include "tierup/tier/first_node.h"

namespace tierup::tier {
namespace {

// An order above what algorithms chosen by "accuracy=fast" may add up to in a deep network. A
// number may have been an element of a tensor of any dtype.
ComparisonOptions comparison() {
  Tolerances tolerances = Tolerances::uniform({5e-2, 0});
  tolerances.set(ScalarType::kFloat, {1e-3, 0});
  tolerances.set(ScalarType::kComplexFloat, {1e-3, 0});
  tolerances.set(ScalarType::kDouble, {1e-9, 0});
  tolerances.set(ScalarType::kComplexDouble, {1e-9, 0});
  tolerances.set(ScalarType::kHalf, {1e-2, 0});
  tolerances.set(ScalarType::kBFloat16, {5e-2, 0});
  tolerances.set_number({1e-3, 0});
  return {tolerances, true};
}

}  // namespace

std::optional<std::string> first_difference(const IValue& expected, const IValue& got) {
  static const ComparisonOptions kOptions = comparison();
  std::string difference = find_difference(got, expected, kOptions);
  if (difference.empty()) return std::nullopt;
  return difference;
}

LiveCheck::LiveCheck(runtime::Program& program, runtime::Program::PlanSlot& slot,
                     Ref<const InstalledPlan> plan, const Ref<ObjectValue>& self,
                     std::span<const IValue> args, const ops::RunContext& context)
    : program_(program), slot_(slot), plan_(std::move(plan)), call_(args, self, context.policy) {}

LiveCheck::Verdict LiveCheck::compare() const {
  const IValue* result = call_.result();
  if (result == nullptr) return {Outcome::kNotCompared, ""};
  std::optional<std::string> difference;
  try {
    difference = first_difference(call_.run(program_, program_.plan_of(slot_)), *result);
  } catch (const Error& error) {
    // Memory that is there for the caller may be missing for the check.
    if (error.code() == ErrorCode::kOutOfMemory) return {Outcome::kNotCompared, ""};
    difference = fmt::format("tier 0 raised: {}", error.what());
  }
  if (!plan_->guard.weights_hold()) return {Outcome::kNotCompared, ""};
  if (!difference) return {Outcome::kAgrees, ""};
  try {
    const auto node =
        first_differing_node(program_.plan_of(slot_), *plan_->plan,
                             [&](const runtime::Plan& plan, runtime::StepObserver& observer) {
                               call_.run(program_, plan, &observer);
                             });
    if (node) *difference += "; first at " + *node;
  } catch (const std::exception&) {
    *difference += "; nothing could be found out about the operator";
  }
  return {Outcome::kDiffers, std::move(*difference)};
}

}  // namespace tierup::tier
