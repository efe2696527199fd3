// GraphEditor: the only way to build or change a Graph.
//
// It keeps use lists, positions and types consistent at every step, and counts edits, so that
// analyses can tell whether they are stale. New nodes go to the insertion point.
#pragma once

#include <initializer_list>
#include <unordered_map>

#include "tierup/ir/graph.h"

namespace tierup::ir {

using ValueMap = std::unordered_map<const Value*, Value*>;

class GraphEditor {
 public:
  // Inserts at the end of the graph's own block until moved. The graph must outlive the editor.
  explicit GraphEditor(Graph& graph) : graph_(&graph), block_(&graph.block()) {}

  Graph& graph() const { return *graph_; }
  uint64_t edit_count() const { return edit_count_; }

  // Insertion point.
  void set_insert_end(Block* block) {
    block_ = block;
    before_ = nullptr;
  }
  void set_insert_before(Node* node) {
    block_ = node->owner();
    before_ = node;
  }
  void set_insert_after(Node* node);
  Block* insert_block() const { return block_; }
  // Source range and call chain given to nodes created from now on.
  void set_range(SourceRange range) { range_ = std::move(range); }
  const SourceRange& range() const { return range_; }
  void set_call_chain(CallChain chain) { chain_ = std::move(chain); }

  // Nodes. Outputs are added with add_output or by the typed helpers.
  Node* create(NodeKind kind, std::span<Value* const> inputs = {});
  Node* create(NodeKind kind, std::initializer_list<Value*> inputs) {
    return create(kind, std::span<Value* const>(inputs.begin(), inputs.size()));
  }
  // One output per return of the schema; type variables are left to the caller (set_type).
  Node* create_op(const Operator& op, std::span<Value* const> inputs);
  Node* create_bare_op(const Operator& op);               // Without inputs and outputs yet.
  Value* constant(IValue value, TypePtr type = nullptr);  // Type defaults to value.type().
  Value* add_output(Node* node, TypePtr type, std::string name = "");
  Block* add_block(Node* node);
  Value* add_param(Block* block, TypePtr type, std::string name = "");
  void add_return(Block* block, Value* value);
  void insert_return(Block* block, size_t index, Value* value);
  void add_input(Node* node, Value* value);
  // Before the one at `index`, which may be the end.
  void insert_input(Node* node, size_t index, Value* value);
  Value* insert_output(Node* node, size_t index, TypePtr type, std::string name = "");
  Value* insert_param(Block* block, size_t index, TypePtr type, std::string name = "");
  void set_attr(Node* node, AttrName name, AttrValue value);

  // Changes.
  void set_type(Value* value, TypePtr type);
  void set_name(Value* value, std::string name);
  void set_id(Value* value, int id);  // Must not be another value's; later values go above it.
  void set_node_range(Node* node, SourceRange range);
  void set_input(Node* node, size_t index, Value* value);
  void set_return(Block* block, size_t index, Value* value);
  void remove_input(Node* node, size_t index);
  void remove_output(Node* node, size_t index);   // Must have no uses.
  void remove_param(Block* block, size_t index);  // Must have no uses.
  void remove_return(Block* block, size_t index);
  void replace_uses(Value* from, Value* to);  // Everywhere.
  void remove(Node* node);                    // Outputs must have no uses; blocks go with it.
  void move_before(Node* node, Node* position);
  void move_to_end(Node* node, Block* block);
  // Copies every node of `source` (of any graph) to the insertion point; `map` gives the values to
  // use for outside ones (its parameters at least) and receives all copies. Returns the copies of
  // the block's returns. A constant for which `map` gives another value is not copied.
  // A copy keeps its range; the editor's call chain goes behind its own.
  std::vector<Value*> inline_block(const Block& source, ValueMap& map);

 private:
  // Joined call chains of one copying, one object per chain met.
  class ChainCache {
   public:
    const CallChain& extend(const CallChain& inner, const CallChain& outer);

   private:
    std::unordered_map<const void*, CallChain> joined_;
  };

  Value* new_value(TypePtr type, std::string name);
  void drop_use(Value* value, const Use& use);
  void move_use(Value* value, const Use& use, size_t index);
  void link(Node* node, Block* block, Node* before);
  void unlink(Node* node);
  void clear_block(Block* block);
  Node* copy_node(const Node& source, ValueMap& map, ChainCache& chains);
  static Value* mapped(const Value* value, const ValueMap& map);

  Graph* graph_;
  Block* block_;
  Node* before_ = nullptr;
  SourceRange range_;
  CallChain chain_;
  uint64_t edit_count_ = 0;
};

}  // namespace tierup::ir
