// Passes of plugins: GraphRewrite as plain C sees it.
#pragma once

#include <string>
#include <vector>

#include "tierup/executor/graph_rewrite.h"
#include "tierup/executor/plugin_call.h"

// What a pass holds a pointer to. Nodes and values are the IR's own.
struct tierup_pass_graph {
  tierup::executor::GraphRewrite& rewrite;
  std::vector<tierup::ir::Node*> nodes;  // As of the last count.
  std::string name;                      // The last one asked for.
  tierup::IValue constant;               // The last one asked for.
  tierup_plugin_call constant_call;
  std::string message;
};

namespace tierup::executor {

// `table` outlives the pass. Throws kInvalidArgument for an incomplete one.
UserPass pass_of(const tierup_plugin_pass& table);

// Of tierup_host.
size_t pass_node_count(tierup_pass_graph* graph);
tierup_pass_node* pass_node(tierup_pass_graph* graph, size_t index);
const char* pass_node_name(tierup_pass_graph* graph, const tierup_pass_node* node);
size_t pass_input_count(const tierup_pass_node* node);
tierup_pass_value* pass_input(const tierup_pass_node* node, size_t index);
size_t pass_output_count(const tierup_pass_node* node);
tierup_pass_value* pass_output(const tierup_pass_node* node, size_t index);
size_t pass_use_count(const tierup_pass_value* value);
tierup_pass_node* pass_producer(const tierup_pass_value* value);
tierup_plugin_call* pass_constant(tierup_pass_graph* graph, const tierup_pass_value* value);
tierup_pass_value* pass_make_none(tierup_pass_graph* graph, tierup_pass_node* before);
tierup_pass_value* pass_make_int(tierup_pass_graph* graph, tierup_pass_node* before, int64_t value);
tierup_pass_value* pass_make_float(tierup_pass_graph* graph, tierup_pass_node* before,
                                   double value);
tierup_pass_value* pass_make_bool(tierup_pass_graph* graph, tierup_pass_node* before, int value);
tierup_pass_node* pass_insert(tierup_pass_graph* graph, const char* op,
                              tierup_pass_value* const* inputs, size_t count,
                              tierup_pass_node* before);
int pass_replace(tierup_pass_graph* graph, tierup_pass_value* from, tierup_pass_value* to);
int pass_remove(tierup_pass_graph* graph, tierup_pass_node* node);
void pass_note(tierup_pass_graph* graph, const char* line);
int pass_fail(tierup_pass_graph* graph, const char* message);

}  // namespace tierup::executor
