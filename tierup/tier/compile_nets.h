// compile_nets: the step of a compile job that compiles what the pass neural_regions has formed,
// for the sizes that the profile saw.
//
// A net that is refused because of one of its operators comes apart again, and new regions are
// formed without that operator: what stands around it may do.
#pragma once

#include <atomic>

#include "tierup/passes/core/pass.h"

namespace tierup::tier {

void compile_nets(passes::PassContext& context, const std::atomic<bool>& cancelled);

}  // namespace tierup::tier
