// gradient_sums: a weight that was used many times gets one product in place of a sum of products.
//
//   mm(g1', x1) + mm(g2', x2) + ...        =>   mm(cat(g1, g2, ...)', cat(x1, x2, ...))
//   sum(g1, 0) + sum(g2, 0) + ...          =>   sum(cat(g1, g2, ...), 0)
//
// What a loop over time leaves of a recurrent layer's weights and biases. It sums in another order
// than tier 0, so it is not for runs that want tier 0's bits.
#pragma once

#include "tierup/autodiff/call_trace.h"

namespace tierup::autodiff {

// Adds the calls to the trace, whose backward pass is over, and gives what stands for `gradients`
// afterwards: the same where nothing was to gain, that is where copying rows together costs more
// memory traffic than adding up.
std::vector<TraceId> join_gradient_sums(CallTrace& trace, std::vector<TraceId> gradients,
                                        ops::RunContext& context);

}  // namespace tierup::autodiff
