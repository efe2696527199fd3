// The plan of another generation of weights, made from the plan of an older one.
//
// Passes, fusion and the choice of algorithms go by the sizes of weights, so that their outcome is
// that of the older plan: its graph is copied, each weight's successor put in its place, and what
// was packed of weights is packed anew. A plan that follows from the numbers of its weights in any
// other way is made from the beginning: where an operator on weights was folded to a constant, a
// weight of one number or of no floats differs, or a step is of a kind that this does not know.
#pragma once

#include "tierup/tier/specializer.h"

namespace tierup::tier {

// `request.older` over the weights of `request.self`; null if it has to be made from the beginning.
Ref<InstalledPlan> plan_for_weights(const SpecializeRequest& request,
                                    const TieringOptions& options);

}  // namespace tierup::tier
