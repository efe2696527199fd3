// AliasAnalysis: which values may share memory, and which nodes read and write it.
//
// Everything follows from the alias marks of the schemas; a call whose body is not known may read,
// write and keep whatever it can reach. Each allocation of the graph is a *location*; a value holds
// the set of locations it may be. Memory that the outside knows (inputs, attributes, what calls
// return) is one location, the wildcard, told apart by type only; a value stored where the
// outside can find it *escapes* and counts as wildcard too. Containers have contents, one set per
// location. The sets hold for the whole graph, not for a point in it (flow-insensitive), so they
// stay right when nodes move, and a pass that only removes nodes may keep the analysis.
//
// Cost: about half a microsecond per node; loops are gone over until nothing changes.
#pragma once

#include <unordered_map>
#include <vector>

#include "tierup/base/small_vector.h"
#include "tierup/ir/graph.h"

namespace tierup::analysis {

// Sorted, without duplicates.
using LocationSet = SmallVector<uint32_t, 2>;

class AliasAnalysis {
 public:
  // The graph must outlive the analysis.
  explicit AliasAnalysis(const ir::Graph& graph);

  // Whether writing to one may be seen through the other. False for immutable types.
  bool may_alias(const ir::Value* a, const ir::Value* b) const;
  // Whether the outside of the graph may hold this memory: an input, an attribute, or escaped.
  bool is_wildcard(const ir::Value* value) const;

  // The same, or the graph returns it: somebody may hold it when the graph has run.
  bool leaves(const ir::Value* value) const;

  // Nodes that may write the memory of `value` itself (not of its elements), innermost ones only.
  std::vector<const ir::Node*> writers(const ir::Value* value) const;
  bool has_writers(const ir::Value* value) const;
  // Also of anything reachable from it.
  bool has_writers_inside(const ir::Value* value) const;

  // A node with blocks reads and writes what the nodes inside do.
  bool reads(const ir::Node* node, const ir::Value* value) const;
  bool writes(const ir::Node* node, const ir::Value* value) const;
  bool writes_anything(const ir::Node* node) const;
  // Whether `writer` may change what `reader` reads or writes: the two must keep their order.
  bool conflict(const ir::Node* writer, const ir::Node* reader) const;

  // Whether running the node does anything besides giving its outputs that a caller, or memory
  // known outside, can notice: prints, raises, draws no (see is_random), sets attributes, calls
  // unknown code, or writes wildcard memory. Writes to the graph's own memory do not count.
  bool has_effects(const ir::Node* node) const;

  // For dead code elimination.
  const LocationSet& locations(const ir::Value* value) const;
  const LocationSet& written(const ir::Node* node) const;
  const LocationSet& read(const ir::Node* node) const;
  const LocationSet& contents(uint32_t location) const { return locations_[location].contents; }
  bool escapes(uint32_t location) const { return locations_[location].escaped; }
  bool is_returned(uint32_t location) const { return locations_[location].returned; }
  size_t location_count() const { return locations_.size(); }

 private:
  struct Location {
    LocationSet contents;
    bool escaped = false;   // The outside may hold it while the graph runs.
    bool returned = false;  // The outside holds it afterwards.
    // Of memory that does not escape: indices into writing_nodes_, ascending.
    std::vector<uint32_t> writers;
  };
  struct Access {
    LocationSet reads;
    LocationSet writes;
    bool has_effects = false;
  };
  static constexpr uint32_t kWildcard = 0;

  // Building.
  void visit_block(const ir::Block& block);
  void visit_node(const ir::Node& node);
  void visit_op(const ir::Node& node);
  void visit_kept(const ir::Node& node);
  void visit_taken(const ir::Value* output, const ir::Node& node);
  void visit_fresh(const ir::Value* output);
  void visit_unmarked(const ir::Value* output, const ir::Node& node);
  void visit_container(const ir::Node& node);
  void visit_extraction(const ir::Node& node);
  void visit_if(const ir::Node& node);
  void visit_loop(const ir::Node& node);
  void visit_unknown(const ir::Node& node);
  uint32_t own_location(const ir::Value* value);
  void add(const ir::Value* value, const LocationSet& more);
  void add_contents(uint32_t location, const LocationSet& more);
  void escape(const LocationSet& set);
  LocationSet marked(const ir::Node& node, const std::string& sets) const;
  LocationSet reachable(const LocationSet& set) const;
  LocationSet contents_of(const LocationSet& set) const;
  bool merge(LocationSet& into, const LocationSet& more);

  // Accesses, after the sets are final.
  Access& record_block(const ir::Block& block, Access& access);
  void record_node(const ir::Node& node);
  void record_op(const ir::Node& node, Access& access) const;
  void record_reads(const ir::Node& node, Access& access) const;
  void record_writer(const ir::Node& node, const LocationSet& written);

  bool intersect(const LocationSet& a, const LocationSet& b) const;
  bool is_wild(const LocationSet& set) const;
  bool is_written(const LocationSet& set) const;  // As far as it does not escape.
  const Access& access(const ir::Node* node) const;

  std::vector<Location> locations_;
  std::vector<LocationSet> values_;  // By value id.
  std::vector<uint32_t> own_;        // By value id: the location its producer allocates; 0: none.
  std::unordered_map<const ir::Node*, Access> accesses_;
  std::vector<const ir::Node*> writing_nodes_;  // Without blocks, in program order.
  std::vector<uint32_t> wild_writers_;          // Of memory that escapes; ascending.
  bool changed_ = false;
  bool has_loop_ = false;
};

// Whether values of this type may be of several other types (Any, a union, an interface...).
bool is_open(const Type& type);
// Whether a value of one type can be the same object or share storage with one of the other.
bool types_may_alias(const TypePtr& a, const TypePtr& b);

// Whether running the graph once more is noticed by nobody: it writes to its own memory alone,
// draws no random numbers, sets no attributes and calls no code that is not known here. Prints and
// errors do not count.
bool leaves_no_trace(const ir::Graph& graph);

}  // namespace tierup::analysis
