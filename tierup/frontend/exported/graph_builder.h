// GraphBuilder: turns the graph of an exported program (and its subgraphs) into IR nodes.
//
// Values are bound by name within one graph; a subgraph starts a fresh namespace and binds its
// inputs by position. An operator that the table lacks becomes a trap and is noted; the loader
// reports all of them at once.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tierup/frontend/exported/program_data.h"
#include "tierup/frontend/exported/symbolic_expression.h"
#include "tierup/frontend/missing_operator.h"
#include "tierup/ir/graph_editor.h"
#include "tierup/ops/table/external.h"

namespace tierup::frontend::exported {

// Values of one graph by name.
using Environment = std::unordered_map<std::string, ir::Value*>;

class GraphBuilder {
 public:
  // `operators`: those besides the table's; may be null.
  GraphBuilder(ir::Graph& graph, SymbolTable& symbols, const ops::ExternalOperators* operators)
      : editor_(graph), symbols_(symbols), operators_(operators) {}

  ir::GraphEditor& editor() { return editor_; }
  const std::vector<MissingOperator>& missing() const { return missing_; }

  // Appends the nodes of `graph` at the insertion point. Throws kCorruptArchive for names that are
  // used before they are defined, or defined twice.
  void add_nodes(const GraphData& graph, Environment& environment) {
    add_nodes(graph.nodes, graph, environment);
  }
  // Some of the graph's nodes.
  void add_nodes(std::span<const NodeData> nodes, const GraphData& graph, Environment& environment);
  // Appends a subgraph with its inputs bound to `operands` and returns its outputs.
  std::vector<ir::Value*> inline_graph(const GraphData& graph,
                                       std::span<ir::Value* const> operands);
  // The value of an argument: a name of the environment, or a constant. `formal` (may be null) is
  // the type that the schema wants.
  ir::Value* convert(const Argument& argument, const TypePtr& formal,
                     const Environment& environment);
  // Appends a call of an operator of the table, and returns its result.
  ir::Value* call(std::string_view name, std::initializer_list<ir::Value*> inputs);
  // Binds `value` to the name of an output argument, refined by what the file knows of it.
  void bind(const Argument& output, ir::Value* value, const GraphData& graph,
            Environment& environment);
  // The operator of a call target, "torch.ops.aten.add.Tensor"; null if there is none.
  const ops::Op* find_operator(std::string_view target) const;
  // Operators added from now on get their arguments as autocasting to this dtype gives them; none
  // without one. Returns what stood before.
  std::optional<ScalarType> set_autocast(std::optional<ScalarType> dtype) {
    return std::exchange(autocast_, dtype);
  }
  // The type of a tensor value with the file's facts: dtype, device, sizes.
  TypePtr tensor_type(const TensorMeta& meta);

 private:
  friend class HigherOrderBuilder;
  void add_node(const NodeData& node, const GraphData& graph, Environment& environment);
  void add_operator(const NodeData& node, std::string_view target, const GraphData& graph,
                    Environment& environment);
  // The arguments of an operator in an autocast region (autocast_casts.cc).
  void cast_inputs(const ops::Op& op, std::vector<ir::Value*>& inputs);
  // The operator to take in place of `op`, where it would view memory that may lie in another way
  // than where the program was written (attention_views.cc).
  const ops::Op& for_any_layout(const ops::Op& op, std::span<ir::Value* const> inputs) const;
  // Notes results whose memory may lie so.
  void note_layouts(const NodeData& node, const ir::Node& created, const GraphData& graph);
  ir::Value* truth_of(ir::Value* condition);
  void add_scalar_operator(const NodeData& node, const GraphData& graph, Environment& environment);
  void add_trap(const NodeData& node, std::string name, std::string reason, const GraphData& graph,
                Environment& environment);
  void bind_outputs(const NodeData& node, std::span<ir::Value* const> results,
                    const GraphData& graph, Environment& environment);
  void bind_list(const Argument& output, ir::Value* list, const GraphData& graph,
                 Environment& environment);
  ir::Value* convert_list(const Argument& argument, const TypePtr& formal,
                          const Environment& environment);
  ir::Value* convert_number(const Argument& argument, const TypePtr& formal);

  ir::GraphEditor editor_;
  SymbolTable& symbols_;
  const ops::ExternalOperators* operators_;
  std::vector<MissingOperator> missing_;
  std::optional<ScalarType> autocast_;
  std::unordered_set<const ir::Value*> laid_otherwise_;
};

// Builds the nodes of one higher-order operator; false if it is not one that tierup knows.
bool build_higher_order(GraphBuilder& builder, std::string_view name, const NodeData& node,
                        const Environment& environment, std::vector<ir::Value*>& results);

// The user's own line out of a Python stack trace, innermost frame; empty without one.
ir::SourceRange range_of_trace(const std::string& stack_trace);

}  // namespace tierup::frontend::exported
