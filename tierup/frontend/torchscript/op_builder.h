// OpBuilder: puts operator nodes into the graph under construction, and traps for those not there.
//
// A method that nobody calls may name operators that tierup lacks, so an unknown one is no error:
// it becomes a kTrap node with its name and a reason, which missing_operators (module_loader.h)
// finds for everything that the entry points reach. What a trap yields is "poisoned": whatever
// uses it becomes a trap as well, silently, since its own types are not known.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tierup/ir/graph_editor.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::frontend::torchscript {

class OpBuilder {
 public:
  explicit OpBuilder(ir::Graph& graph) : editor_(graph) {}

  ir::GraphEditor& editor() { return editor_; }

  // The node of an operator with complete inputs, by "aten::add.Tensor". Its one output; a
  // poisoned value if the table lacks it.
  ir::Value* op(std::string_view qualified_name, std::span<ir::Value* const> inputs);
  ir::Value* op(std::string_view qualified_name, std::initializer_list<ir::Value*> inputs) {
    return op(qualified_name, std::span<ir::Value* const>(inputs.begin(), inputs.size()));
  }

  // A trap for an operator that the table lacks, with its name (kName) and one sentence or the
  // overloads that did not match (kNote); its output is poisoned.
  ir::Value* trap(std::string name, std::string reason, std::span<ir::Value* const> inputs);
  // A trap for what follows from another one; reported nowhere.
  ir::Value* trap_after(std::span<ir::Value* const> inputs);
  bool is_poisoned(const ir::Value* value) const {
    return !poisoned_.empty() && poisoned_.contains(value);
  }
  bool any_poisoned(std::span<ir::Value* const> values) const;
  void poison(const ir::Value* value) { poisoned_.insert(value); }

  ir::Value* constant(IValue value) { return editor_.constant(std::move(value)); }
  ir::Value* none() { return editor_.constant(IValue(), Type::none()); }
  // A node of a kind with one output.
  ir::Value* node(ir::NodeKind kind, std::span<ir::Value* const> inputs, TypePtr type);
  ir::Value* node(ir::NodeKind kind, std::initializer_list<ir::Value*> inputs, TypePtr type) {
    return node(kind, std::span<ir::Value* const>(inputs.begin(), inputs.size()), std::move(type));
  }
  ir::Value* unchecked_cast(ir::Value* value, TypePtr type);
  ir::Value* uninitialized(TypePtr type);
  std::vector<ir::Value*> unpack_tuple(ir::Value* tuple);

 private:
  ir::GraphEditor editor_;
  std::unordered_set<const ir::Value*> poisoned_;
};

}  // namespace tierup::frontend::torchscript
