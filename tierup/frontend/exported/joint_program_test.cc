// Losses and gradients among a program's outputs.
#include "tierup/frontend/exported/joint_program.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

using Kind = OutputSpec::Kind;

OutputSpec output(Kind kind, const std::string& value, const std::string& target = {}) {
  OutputSpec spec;
  spec.kind = kind;
  spec.argument.kind = Argument::Kind::kTensor;
  spec.argument.text = value;
  spec.target = target;
  return spec;
}

ProgramData program_of_two_inputs() {
  ProgramData program;
  program.inputs.resize(3);
  program.inputs[0].kind = InputSpec::Kind::kParameter;
  program.forward_arg_names = {"x", "target"};
  return program;
}

TEST(JointOutputs, StandLossFirstThenParametersThenInputs) {
  const ProgramData program = program_of_two_inputs();
  JointOutputs joint;
  joint.add(output(Kind::kGradientToUserInput, "g2", "arg1_1"), program);
  joint.add(output(Kind::kGradientToParameter, "g1", "head.weight"), program);
  EXPECT_TRUE(joint.is_joint());
  joint.add(output(Kind::kLossOutput, "loss"), program);
  std::vector<std::string> names;
  for (const Argument& argument : joint.in_order()) names.push_back(argument.text);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "g1", "g2"}));
  const TreeSpec spec = joint.structure(TreeSpec());
  EXPECT_EQ(spec.leaf_count(), 3U);
  EXPECT_EQ(spec.children[1].keys[0].to_str(), "head.weight");
  EXPECT_EQ(spec.children[2].keys[0].to_str(), "x");
}

TEST(JointOutputs, OfNoneOrSeveralLossesAreRefused) {
  const ProgramData program = program_of_two_inputs();
  JointOutputs joint;
  joint.add(output(Kind::kGradientToParameter, "g", "w"), program);
  EXPECT_THROW(joint.in_order(), Error);
  joint.add(output(Kind::kLossOutput, "a"), program);
  EXPECT_EQ(joint.in_order().size(), 2U);
  joint.add(output(Kind::kLossOutput, "b"), program);
  EXPECT_THROW(joint.in_order(), Error);
}

}  // namespace
}  // namespace tierup::frontend::exported
