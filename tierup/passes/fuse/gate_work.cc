// See gate_work.h.
#include "tierup/passes/fuse/gate_work.h"

#include <algorithm>

#include "tierup/ops/table/op.h"
#include "tierup/passes/fuse/region_members.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

bool GateWork::visit(const Node& node) {
  if (node.is(NodeKind::kListUnpack)) {
    if (gives_gates(node.input()->node()))
      gates_.insert(node.outputs().begin(), node.outputs().end());
    return false;
  }
  if (!node.is(NodeKind::kOp) || ops::op_of(*node.op()).body() == nullptr) return false;
  const bool is_gate_work = std::any_of(node.inputs().begin(), node.inputs().end(),
                                        [&](const Value* input) { return gates_.contains(input); });
  if (is_gate_work) gates_.insert(node.outputs().begin(), node.outputs().end());
  return is_gate_work;
}

bool GateWork::gives_gates(const Node* node) const {
  constexpr int64_t kMostRows = 8;
  if (node == nullptr || !ops::gives_parts(kind_of(*node))) return false;
  const TensorFacts seen = seen_facts(node->input(0), *hints_);
  if (!seen.sizes || seen.sizes->size() >= 3 || seen.sizes->empty()) return false;
  return std::all_of(seen.sizes->begin(), seen.sizes->end() - 1, [](const Dim& dim) {
    return dim.kind == Dim::Kind::kStatic && dim.value <= kMostRows;
  });
}

}  // namespace tierup::passes
