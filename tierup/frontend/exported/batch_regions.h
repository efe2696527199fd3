// BatchRegion: what a torch.vmap of an exported program computes for single examples of a batch,
// as a loop over them.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "tierup/frontend/exported/graph_builder.h"

namespace tierup::frontend::exported {

// How many of `nodes`, from the first on, one vmap takes from its opening mark to its closing one;
// 1 for any other node. Throws kCorruptArchive for a vmap that is not closed, kRecursionLimit for
// too many in each other.
size_t batch_region_length(std::span<const NodeData> nodes);

class BatchRegion {
 public:
  BatchRegion(GraphBuilder& builder, const GraphData& graph, Environment& environment);

  // Appends the nodes from an opening mark to its closing one, and binds what leaves the region.
  // Throws kUnsupported for a vmap whose random numbers are to be shared or told apart.
  void add(std::span<const NodeData> marked);

 private:
  using Nodes = std::span<const NodeData>;

  // Nodes, and whole regions among them, that depend on an example. The others are appended: they
  // may be used behind the region, too.
  std::vector<Nodes> per_example(Nodes body);
  // Appends them for the example at `index`; null: for one of zeros, since there are none. Their
  // names end with the region.
  void add_example(ir::Value* index);
  ir::Value* example_of(const NodeData& entry, ir::Value* index);
  void bind_results(bool is_empty);

  GraphBuilder& builder_;
  ir::GraphEditor& editor_;
  const GraphData& graph_;
  Environment& environment_;
  std::vector<Nodes> units_;
  std::unordered_set<std::string> names_;  // Of what depends on an example.
  std::vector<ir::Value*> rows_;           // A list of tensors for each result.
};

}  // namespace tierup::frontend::exported
