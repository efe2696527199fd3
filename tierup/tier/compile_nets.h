// compile_nets: the step of a compile job that compiles what the pass neural_regions has formed,
// for the sizes that the profile saw.
//
// A net that is refused because of one of its operators comes apart again, and new regions are
// formed without that operator: what stands around it may do.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/core/pass.h"

namespace tierup::tier {

// When a net is compared with tier 0: as it is compiled, or later, with the whole plan, where the
// profile says how its outputs lie.
enum class NetComparison : uint8_t { kNow, kLater };

// `older`: nets of the same function over other weights, which were compared with tier 0. Returns
// those that NeuralNet::confirm() has to be called for.
std::vector<Ref<ops::NeuralNet>> compile_nets(passes::PassContext& context,
                                              const std::atomic<bool>& cancelled,
                                              NetComparison comparison = NetComparison::kNow,
                                              std::span<const ops::NeuralNet* const> older = {});

}  // namespace tierup::tier
