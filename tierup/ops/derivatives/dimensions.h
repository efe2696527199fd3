// What formulas of reductions share: which dimensions a call takes, and the way back.
#pragma once

#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {

// The dimensions, wrapped; none given are all. `i` names an argument that lists them.
IntVector reduced_dims(const GradContext& c, ArgIndex i);
IntVector all_dims(const GradContext& c);
// How many elements of argument 0 go into one result.
int64_t reduced_count(const GradContext& c, const IntVector& dims);
// A result, or its gradient, with the reduced dimensions of argument 0 as size 1.
Term restored(GradContext& c, const Term& value, const IntVector& dims, bool keepdim);
// The same spread over argument 0.
Term spread(GradContext& c, const Term& value, const IntVector& dims, bool keepdim);
// `indices` along `dim` of argument 0 get `gradient`, all else zeros; no keepdim: as restored.
Term placed(GradContext& c, const Term& gradient, const Term& indices, int64_t dim, bool keepdim);
// The gradient of the p-norm of argument 0 over `dims`.
void norm_gradient(GradContext& c, const Scalar& p, const IntVector& dims, bool keepdim);

}  // namespace tierup::ops::derivatives
