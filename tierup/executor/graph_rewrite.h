// GraphRewrite: a graph as the passes of users see and change it.
//
// A small part of GraphEditor that stays as it is while the IR changes: walk nodes, read constants,
// put operators in the place of others. include/tierup/pass.h (C++) and plugin.h (C) are faces of
// it. Nothing here knows what an operator means: whether a rewrite gives the same is its author's
// matter. Whether the graph is whole afterwards is checked by the IR's verifier.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/ir/graph_editor.h"
#include "tierup/ops/table/external.h"

namespace tierup::executor {

// Thread rule: one thread. Valid during the pass only.
class GraphRewrite {
 public:
  // `operators`, besides the table's, may be null.
  GraphRewrite(ir::GraphEditor& editor, const ops::ExternalOperators* operators)
      : editor_(editor), operators_(operators) {}

  const ir::Graph& graph() const { return editor_.graph(); }
  // Every node in program order, as of now: one with blocks stands before what is in them.
  std::vector<ir::Node*> nodes() const;
  // Null unless a constant node made the value.
  static const IValue* constant_of(const ir::Value& value);

  // A constant in front of `before`.
  ir::Value* constant(IValue value, ir::Node& before);
  // An operator of the table or of the model's plugins in front of `before`, with its place in the
  // model's source. Arguments behind the last of `inputs` take their defaults. Throws kNotFound for
  // an unknown operator, kInvalidArgument for too many or too few inputs. Types are the verifier's.
  ir::Node* insert(std::string_view op, std::span<ir::Value* const> inputs, ir::Node& before);
  // Whoever used `from` uses `to`. Throws kInvalidArgument if `to` is of another type.
  void replace_uses(ir::Value& from, ir::Value& to);
  // Throws kInvalidArgument while an output is used, and for a node that was removed.
  void remove(ir::Node& node);
  // Lines for the plan's report.
  void note(std::string line) { notes_.push_back(std::move(line)); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const ir::Operator& find(std::string_view op) const;

  ir::GraphEditor& editor_;
  const ops::ExternalOperators* operators_;
  std::vector<std::string> notes_;
};

// When a user's pass runs.
enum class PassPlace : uint8_t {
  kTier0,        // Once for each function, behind tier 0's own passes: every plan has it.
  kSpecialized,  // In compile jobs: weights are constants, types are known; before tierup's passes.
  kLast,         // In compile jobs, behind tierup's passes: nets are made, point-wise groups not.
};
struct UserPass {
  std::string name;
  PassPlace place = PassPlace::kTier0;
  std::function<void(GraphRewrite& graph)> run;
};

}  // namespace tierup::executor
