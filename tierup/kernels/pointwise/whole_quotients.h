// Quotients and remainders of integers, number by number.
#pragma once

#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {

// The plain loops over int32 or int64 of what vectors do too, where numbers are large or zero.
struct QuotientRuns {
  BlockRun div_floor, div_trunc, remainder, fmod;
};
const QuotientRuns& plain_quotient_runs(ScalarType type);

}  // namespace tierup::kernels
