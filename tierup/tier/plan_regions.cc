#include "tierup/tier/plan_regions.h"

#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/tier/differentiable_graph.h"

namespace tierup::tier {
namespace {

RegionReport describe(const ops::FusionGroup& group) {
  RegionReport report;
  report.kind = RegionReport::Kind::kFusionGroup;
  for (const ops::GroupMember& member : group.program().members) {
    if (member.result == 0) report.operators.push_back(member.op->schema().qualified_name());
  }
  report.text = group.to_string();
  report.compiled = group.kernel_count();
  report.twin_calls = group.twin_runs();
  if (group.refusal()) {
    report.notes.push_back(group.refusal().text());
    report.refused.push_back(
        {"group", std::string(group.refusal().name()), group.refusal().text(), report.text, {}});
  }
  return report;
}

RegionReport describe(const ops::NeuralNet& net) {
  RegionReport report;
  report.kind = RegionReport::Kind::kNet;
  report.operators = net.operators();
  report.compiled = net.net_count();
  report.twin_calls = static_cast<uint64_t>(net.twin_calls());
  report.held_bytes = net.held_bytes();
  report.notes = net.notes();
  for (const ops::RefusedNet& refusal : net.refusals()) {
    report.notes.push_back("refused: " + refusal.text());
    report.refused.push_back(
        {"net", std::string(refusal.name()), refusal.text(), net.step_report().what, {}});
  }
  return report;
}

class RegionFinder {
 public:
  RegionFinder(std::vector<RegionReport>& regions, std::vector<LeftOperator>& left)
      : regions_(regions), left_(left) {}

  void visit(const ir::Block& block) {
    for (const ir::Node* node : block.nodes()) {
      for (const ir::Block* inner : node->blocks()) visit(*inner);
      for (const auto& [name, value] : node->attrs()) {
        if (const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value))
          visit((*body)->block());
      }
      if (node->is(ir::NodeKind::kOp)) visit_operator(*node);
    }
  }

 private:
  void visit_operator(const ir::Node& node) {
    if (node.has_attr(ir::AttrName::kNote)) {
      left_.push_back({node.op()->schema().qualified_name(),
                       node.attr<std::string>(ir::AttrName::kNote), node.range().highlight()});
    }
    for (const ir::Value* input : node.inputs()) {
      const IValue* constant = passes::constant_of(input);
      if (constant == nullptr || !constant->is_capsule()) continue;
      const RefCounted* object = constant->to_capsule();
      if (const auto* group = dynamic_cast<const ops::FusionGroup*>(object)) {
        add(describe(*group), node);
      } else if (const auto* net = dynamic_cast<const ops::NeuralNet*>(object)) {
        add(describe(*net), node);
      } else if (const auto* part = dynamic_cast<const DifferentiableGraph*>(object)) {
        add(part->report(), node);
      }
    }
  }

  void add(RegionReport report, const ir::Node& node) {
    report.place = node.range().highlight();
    for (ops::RefusedOperator& refused : report.refused) refused.range = node.range();
    regions_.push_back(std::move(report));
  }

  std::vector<RegionReport>& regions_;
  std::vector<LeftOperator>& left_;
};

}  // namespace

void find_regions(const ir::Graph& graph, std::vector<RegionReport>& regions,
                  std::vector<LeftOperator>& left) {
  RegionFinder(regions, left).visit(graph.block());
}

}  // namespace tierup::tier
