// See check_strict_fusion.h.
#include "tierup/passes/cleanup/check_strict_fusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/analysis/effects.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::Role;

namespace {

bool gives_tensor(const Node& node) {
  return std::any_of(node.outputs().begin(), node.outputs().end(), [](const Value* output) {
    const TypePtr& type = output->type();
    return type->is(TypeKind::kTensor) ||
           (type->is(TypeKind::kList) && type->element()->is(TypeKind::kTensor));
  });
}

struct Region {
  const Node* enter = nullptr;
  std::vector<const Node*> fused;
  std::vector<const Node*> unfused;

  void add(const Node& node) {
    for (const Block* block : node.blocks()) {
      for (const Node* inner : block->nodes()) add(*inner);
    }
    if (!node.is(NodeKind::kOp)) return;
    const Role role = role_of(node);
    if (role == Role::kFusionGroup || role == Role::kNeuralNet) {
      fused.push_back(&node);
    } else if (gives_tensor(node)) {
      unfused.push_back(&node);
    }
  }
};

void report(PassContext& context, const Region& region) {
  std::string text;
  if (!region.unfused.empty()) {
    text = "Found unfused operators:";
    for (const Node* node : region.unfused) text += "\n\t" + node->op()->schema().to_string();
    context.count("unfused", static_cast<int64_t>(region.unfused.size()));
  } else if (region.fused.size() > 1) {
    text = fmt::format("Found multiple fusions: {}", region.fused.size());
    context.count("fusions", static_cast<int64_t>(region.fused.size()));
  } else {
    return;
  }
  const std::string place = region.enter->range().location();
  context.note(text + (place.empty() ? "" : "\nin the strict_fusion region at " + place));
}

void visit(PassContext& context, const Block& block) {
  std::vector<Region> open;
  for (const Node* node : block.nodes()) {
    if (node->is(NodeKind::kEnter) && analysis::is_strict_fusion(node->input())) {
      open.push_back({node, {}, {}});
    } else if (node->is(NodeKind::kExit) && analysis::is_strict_fusion(node->input()) &&
               !open.empty()) {
      report(context, open.back());
      open.pop_back();
    } else if (!open.empty()) {
      open.back().add(*node);
    }
    for (const Block* inner : node->blocks()) visit(context, *inner);
  }
}

}  // namespace

void check_strict_fusion(PassContext& context) { visit(context, context.graph().block()); }

}  // namespace tierup::passes
