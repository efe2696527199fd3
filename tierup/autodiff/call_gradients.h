// The gradients of one call of a row, without a tape: for tests of formulas.
#pragma once

#include <vector>

#include "tierup/autodiff/eager_builder.h"

namespace tierup::autodiff {

// One call run forward and differentiated. `args` are all of the schema's; results are filled in.
struct CallGradients {
  std::vector<IValue> results;
  // By argument: a tensor, None where nothing was given; for a list argument, a list of those.
  std::vector<IValue> gradients;
};

// Every floating or complex tensor argument for which `wants` is true (all, if it is empty) wants a
// gradient. `cotangents`: one a result, None for undefined; a list for a result that is a list.
// Only what the probe found may be read: everything else is withheld from the formula, which makes
// this a test of the probe as well. Throws what the row and its formula throw.
CallGradients differentiate_call(const ops::Op& op, std::vector<IValue> args,
                                 const std::vector<bool>& wants,
                                 const std::vector<IValue>& cotangents);

}  // namespace tierup::autodiff
