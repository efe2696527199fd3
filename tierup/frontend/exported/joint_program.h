// Joint programs: a loss and its gradients as one graph, which torch.export makes and PyTorch
// cannot call. Called here they give a named tuple: the loss, the parameters' gradients by name,
// the inputs' gradients by the inputs' names, and, if there are others than the loss, all outputs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tierup/frontend/exported/program_data.h"
#include "tierup/frontend/exported/tree_spec.h"

namespace tierup::frontend::exported {

// The type of that tuple; its fields are loss, gradients, input_gradients, outputs.
inline constexpr const char* kJointResult = "JointResult";

class JointOutputs {
 public:
  // Notes a loss or a gradient among the program's outputs.
  void add(const OutputSpec& output, const ProgramData& program);
  // Whether there are gradients.
  bool is_joint() const { return !parameters_.empty() || !inputs_.empty(); }
  // The loss and the gradients in the tuple's order. Throws kUnsupported unless there is one loss.
  std::vector<Argument> in_order() const;
  // The tuple's structure; `outputs` is that of what the program returned before it became joint.
  TreeSpec structure(TreeSpec outputs) const;

 private:
  using NamedGradient = std::pair<std::string, Argument>;
  static TreeSpec by_name(const std::vector<NamedGradient>& gradients);

  std::vector<Argument> losses_;
  std::vector<NamedGradient> parameters_;
  std::vector<NamedGradient> inputs_;
};

}  // namespace tierup::frontend::exported
