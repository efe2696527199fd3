// Graph passes of the user's: rewrites of a model's graphs, by name and place.
//
//   tierup::Options options;
//   options.passes.push_back({"square", tierup::PassPlace::kTier0, [](tierup::PassGraph& graph) {
//     for (tierup::PassNode node : graph.nodes()) {
//       if (node.name() != "aten::mul.Tensor" || node.input(0) != node.input(1)) continue;
//       graph.replace(node, "aten::square", {node.input(0)});
//     }
//   }});
//
// Whether a rewrite gives the same values is its author's matter. That the graph is whole
// afterwards is verified; nodes without a use and without an effect then go by themselves.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/export.h"
#include "tierup/value.h"

namespace tierup::v1 {

class PassNode;

// A value of the graph. A handle, valid during the pass.
class TIERUP_API PassValue {
 public:
  std::string type() const;  // "Tensor", "int[]"; of specialised graphs with dtype and sizes.
  std::string debug_name() const;
  std::optional<Value> constant() const;     // Absent if it is none.
  std::optional<PassNode> producer() const;  // Absent for inputs of the graph and of blocks.
  size_t use_count() const;
  friend bool operator==(const PassValue&, const PassValue&) = default;

 private:
  friend struct Access;
  friend class PassGraph;
  friend class PassNode;
  explicit PassValue(void* value) : value_(value) {}
  void* value_;
};

// A node of the graph. A handle, valid during the pass.
class TIERUP_API PassNode {
 public:
  std::string name() const;  // "aten::add.Tensor", "prim::If", "prim::Constant".
  std::vector<PassValue> inputs() const;
  std::vector<PassValue> outputs() const;
  // Throw kOutOfRange.
  PassValue input(size_t index) const;
  PassValue output(size_t index = 0) const;
  std::string place() const;  // The model's own line.
  friend bool operator==(const PassNode&, const PassNode&) = default;

 private:
  friend struct Access;
  friend class PassGraph;
  friend class PassValue;
  explicit PassNode(void* node) : node_(node) {}
  void* node_;
};

// The graph that a pass works on. Functions throw Error; a pass that lets one out fails.
class TIERUP_API PassGraph {
 public:
  // All nodes in program order, as of now; one with blocks (an If, a Loop) stands before what is in
  // them.
  std::vector<PassNode> nodes() const;
  std::vector<PassValue> inputs() const;
  std::vector<PassValue> outputs() const;

  // A constant in front of `before`.
  PassValue constant(const Value& value, PassNode before);
  // An operator over these inputs in front of `before`; arguments behind the last take their
  // defaults. Throws kNotFound for an operator that neither tierup nor a plugin has.
  PassNode insert(std::string_view op, const std::vector<PassValue>& inputs, PassNode before);
  // Whoever used `from` uses `to`.
  void replace_uses(PassValue from, PassValue to);
  // Puts an operator with as many outputs in the node's place, and removes the node.
  PassNode replace(PassNode node, std::string_view op, const std::vector<PassValue>& inputs);
  // Throws kInvalidArgument while an output is used.
  void remove(PassNode node);
  // A line for explain.
  void note(std::string line);

 private:
  friend struct Access;
  explicit PassGraph(void* rewrite) : rewrite_(rewrite) {}
  void* rewrite_;
};

enum class PassPlace : unsigned char {
  kTier0,        // Once for each function: every plan has the rewritten graph.
  kSpecialized,  // In compile jobs, before tierup's passes: weights are constants, types known.
  kLast,         // In compile jobs, behind tierup's passes.
};

// Thread rule: `run` is called in any thread, for several graphs at once. A pass that fails at tier
// 0 fails the call; in a compile job, the graph stays at tier 0, and explain says why. Errors name
// the pass.
struct GraphPass {
  std::string name;  // Of its own: "disable_passes" of Options::tiering takes it.
  PassPlace place = PassPlace::kTier0;
  std::function<void(PassGraph& graph)> run;
};

}  // namespace tierup::v1
