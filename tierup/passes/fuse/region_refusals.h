// Why products and convolutions of a graph run in no compiled net: see neural_regions.h.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tierup/ops/regions/refusal.h"
#include "tierup/passes/core/pass.h"
#include "tierup/passes/fuse/region_members.h"

namespace tierup::passes {

// Why a node of this kind goes into no net, whatever stands around it: constants do not stand where
// the kind needs them, or something is known to be otherwise than nets take it. kNone if it may go.
kernels::net::NetRefusal net_refusal(const ir::Node& node, kernels::net::OpKind kind,
                                     const ir::ValueHints& hints);

// What is known of the operators of one graph, until the last round of looking for regions.
class RegionRefusals {
 public:
  // From now on, only these operators' refusals are reported.
  void watch(const std::vector<ir::Node*>& nodes);
  // Of an operator that is worth a net by itself; of others there is nothing to say.
  void note(const ir::Node* node, kernels::net::NetRefusal reason);
  // No net of its line was compiled because of it: it is not tried again.
  void exclude(const ir::Node* node, ops::RefusedNet refusal);
  // Several; whether there are any.
  bool exclude_all(const std::vector<const ir::Node*>& nodes, kernels::net::NetRefusal reason);
  bool is_excluded(const ir::Node* node) const { return excluded_.contains(node); }
  size_t excluded_count() const { return excluded_.size(); }
  // It stands in a net, or goes.
  void forget(const ir::Node* node);
  // In program order.
  void report(PassContext& context, const ir::Block& block) const;

 private:
  bool is_watched(const ir::Node* node) const {
    return watched_.empty() || watched_.contains(node);
  }

  std::unordered_set<const ir::Node*> watched_;
  std::unordered_map<const ir::Node*, kernels::net::NetRefusal> noted_;
  std::unordered_map<const ir::Node*, ops::RefusedNet> excluded_;
};

}  // namespace tierup::passes
