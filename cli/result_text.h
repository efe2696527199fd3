// Results of a call as text for people and as the tree of a case file.
#pragma once

#include <string>

#include "tierup/cases/case_file.h"
#include "tierup/module.h"

namespace tierup::cli {

// One line per leaf: "[0]: Float[1, 10] 0.25 -1.5 ...".
std::string result_text(const v1::Value& value);
// "largest error 1.5e-05, 2.7e-07 of the largest value": elementwise ratios say nothing where
// values are zero.
std::string error_text(const api::ResultComparison& comparison);
// The tree in JSON; its tensors are added as "out.N". Throws kUnsupported for values that a case
// cannot hold (objects, futures).
std::string result_tree(const v1::Value& value, v1::NamedTensors& tensors);

}  // namespace tierup::cli
