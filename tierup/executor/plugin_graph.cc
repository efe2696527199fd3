#include "tierup/executor/plugin_graph.h"

#include "tierup/ops/table/external.h"

void tierup_plugin_graph::run(std::span<const tierup::IValue> args,
                              std::span<tierup::IValue> results,
                              tierup::ops::RunContext& context) const {
  using tierup::IValue;
  std::vector<IValue> values(value_count);
  for (size_t i = 0; i < inputs.size(); ++i) values[inputs[i]] = args[i];
  for (size_t i = 0; i < constants.size(); ++i) values[first_constant + i] = constants[i];
  std::vector<IValue> operands;
  for (const Node& node : nodes) {
    operands.clear();
    for (const uint32_t input : node.inputs) operands.push_back(values[input]);
    if (const auto* target = tierup::ops::external_target(*node.op)) {
      operands.push_back(IValue::capsule(tierup::Ref<tierup::RefCounted>(target->get())));
    }
    // The outputs of a node are numbered one after the other.
    const std::span<IValue> made(values.data() + node.outputs.front(), node.outputs.size());
    tierup::ops::OpCall call{operands, made, context};
    node.op->kernel()(call);
  }
  for (size_t i = 0; i < outputs.size(); ++i) results[i] = values[outputs[i]];
}

namespace tierup::executor {

size_t graph_node_count(const tierup_plugin_graph* graph) { return graph->nodes.size(); }

void graph_node(const tierup_plugin_graph* graph, size_t index, tierup_plugin_node* node) {
  *node = {};
  if (index >= graph->nodes.size()) return;
  const tierup_plugin_graph::Node& from = graph->nodes[index];
  node->op = from.name.c_str();
  node->inputs = from.inputs.data();
  node->input_count = from.inputs.size();
  node->outputs = from.outputs.data();
  node->output_count = from.outputs.size();
}

size_t graph_input_count(const tierup_plugin_graph* graph) { return graph->inputs.size(); }
uint32_t graph_input(const tierup_plugin_graph* graph, size_t index) {
  return index < graph->inputs.size() ? graph->inputs[index] : graph->value_count;
}
size_t graph_output_count(const tierup_plugin_graph* graph) { return graph->outputs.size(); }
uint32_t graph_output(const tierup_plugin_graph* graph, size_t index) {
  return index < graph->outputs.size() ? graph->outputs[index] : graph->value_count;
}

int64_t graph_constant_index(const tierup_plugin_graph* graph, uint32_t value) {
  const bool is_constant =
      value >= graph->first_constant && value < graph->first_constant + graph->constants.size();
  return is_constant ? static_cast<int64_t>(value - graph->first_constant) : -1;
}

tierup_plugin_call* graph_constants(const tierup_plugin_graph* graph) {
  graph->constant_call.args = graph->constants;
  return &graph->constant_call;
}

}  // namespace tierup::executor
