// A run of neighbouring nodes as a delegate sees it, and as the host can still compute it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tierup/executor/plugin_call.h"
#include "tierup/ops/table/op.h"

// Constant once made. Values are numbered: inputs, constants, then what the nodes make.
struct tierup_plugin_graph {
  struct Node {
    const tierup::ops::Op* op = nullptr;
    std::string name;
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
  };
  std::vector<Node> nodes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  uint32_t value_count = 0;
  uint32_t first_constant = 0;
  mutable std::vector<tierup::IValue> constants;
  mutable tierup_plugin_call constant_call;

  // What the nodes compute, by their own kernels.
  void run(std::span<const tierup::IValue> args, std::span<tierup::IValue> results,
           tierup::ops::RunContext& context) const;
};

namespace tierup::executor {

// Of tierup_host.
size_t graph_node_count(const tierup_plugin_graph* graph);
void graph_node(const tierup_plugin_graph* graph, size_t index, tierup_plugin_node* node);
size_t graph_input_count(const tierup_plugin_graph* graph);
uint32_t graph_input(const tierup_plugin_graph* graph, size_t index);
size_t graph_output_count(const tierup_plugin_graph* graph);
uint32_t graph_output(const tierup_plugin_graph* graph, size_t index);
int64_t graph_constant_index(const tierup_plugin_graph* graph, uint32_t value);
tierup_plugin_call* graph_constants(const tierup_plugin_graph* graph);

}  // namespace tierup::executor
