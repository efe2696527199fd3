#include "tierup/frontend/exported/joint_program.h"

#include <charconv>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

// Gradients of inputs are for "arg3_1", number 3 of all inputs; the input itself has a name.
std::string name_of_input(const std::string& target, const ProgramData& program) {
  const size_t count = program.inputs.size();
  size_t index = count;
  if (target.starts_with("arg")) {
    const char* end = target.data() + target.size();
    const auto [rest, error] = std::from_chars(target.data() + 3, end, index);
    const bool is_number = error == std::errc() && std::string_view(rest, end) == "_1";
    if (!is_number) index = count;
  }
  if (index >= count || program.inputs[index].kind != InputSpec::Kind::kUserInput) return target;
  size_t before = 0;
  for (size_t i = 0; i < index; ++i) {
    if (program.inputs[i].kind == InputSpec::Kind::kUserInput) ++before;
  }
  const auto& names = program.forward_arg_names;
  return before < names.size() ? names[before] : program.inputs[index].argument.text;
}

}  // namespace

void JointOutputs::add(const OutputSpec& output, const ProgramData& program) {
  using Kind = OutputSpec::Kind;
  if (output.kind == Kind::kLossOutput) {
    losses_.push_back(output.argument);
  } else if (output.kind == Kind::kGradientToParameter) {
    parameters_.emplace_back(output.target, output.argument);
  } else {
    TIERUP_CHECK(output.kind == Kind::kGradientToUserInput);
    inputs_.emplace_back(name_of_input(output.target, program), output.argument);
  }
}

std::vector<Argument> JointOutputs::in_order() const {
  require(losses_.size() == 1, ErrorCode::kUnsupported,
          "the program returns gradients of {} losses; a joint program has one", losses_.size());
  std::vector<Argument> result{losses_[0]};
  for (const NamedGradient& one : parameters_) result.push_back(one.second);
  for (const NamedGradient& one : inputs_) result.push_back(one.second);
  return result;
}

TreeSpec JointOutputs::by_name(const std::vector<NamedGradient>& gradients) {
  TreeSpec spec;
  spec.kind = TreeSpec::Kind::kDict;
  for (const NamedGradient& one : gradients) spec.keys.emplace_back(one.first);
  spec.children.resize(gradients.size());
  return spec;
}

TreeSpec JointOutputs::structure(TreeSpec outputs) const {
  TreeSpec spec;
  spec.kind = TreeSpec::Kind::kNamedTuple;
  spec.type = kJointResult;
  spec.fields = {"loss", "gradients", "input_gradients"};
  spec.children = {TreeSpec(), by_name(parameters_), by_name(inputs_)};
  if (outputs.leaf_count() > 1) {
    spec.fields.emplace_back("outputs");
    spec.children.push_back(std::move(outputs));
  }
  return spec;
}

}  // namespace tierup::frontend::exported
