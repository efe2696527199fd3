// What an error says about the step it came from and the calls that led there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tierup/runtime/plan.h"

namespace tierup::runtime {

// The operator with its schema and arguments, the program's own line, and the calls that were
// inlined around it, innermost first. `inputs` are the values of the arguments where the
// step has them gathered; else they are read from `slots`.
std::vector<std::string> describe_step(const Plan& plan, const Step& step,
                                       std::span<const IValue> inputs, const IValue* slots);
// "called at model.py:12 ..." for a step that was calling; empty if it has no place.
std::string describe_call(const Plan& plan, const Step& step);

// "Float[2, 3]", "3", "[1, 2]", "'text'": short, whatever the value.
std::string describe_value(const IValue& value);

}  // namespace tierup::runtime
