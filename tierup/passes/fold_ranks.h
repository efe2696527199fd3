// fold_ranks: the rank of a tensor becomes a constant where it follows from the inputs' types.
//
// Ranks of inputs are checked by the entry guard. From there they are carried through operators
// that keep a tensor's rank (convolutions, normalisations, activations, pools), so that the checks
// that layers written in Python make ("expected 4D input") fold away.
#pragma once

#include "tierup/passes/pass.h"

namespace tierup::passes {

void fold_ranks(PassContext& context);

}  // namespace tierup::passes
