// The first node at which two tiers differ, for a call of which the results are known to differ.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tierup/runtime/plan.h"
#include "tierup/runtime/step_observer.h"

namespace tierup::tier {

// Runs the plan on the call's arguments, with the observer.
using ObservedRun = std::function<void(const runtime::Plan& plan, runtime::StepObserver& observer)>;

// The first operator of `expected` that made another value than `got` has for it, and where it
// stands in the model. Values that specialisation keeps have the same number in both graphs; what
// became part of a net or a group has none, so that the node found may stand behind the one at
// fault.
std::optional<std::string> first_differing_node(const runtime::Plan& expected,
                                                const runtime::Plan& got, const ObservedRun& run);

}  // namespace tierup::tier
