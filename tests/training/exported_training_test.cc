// Gradients of programs that PyTorch's exporter made into something else
// (tools/make_exported_training.py).
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

const std::string kData = "tests/data/exported_training/";

std::map<std::string, Tensor> tensors_of(const std::string& file) {
  std::map<std::string, Tensor> result;
  for (const auto& [name, tensor] : load_tensors(kData + file)) result.emplace(name, tensor);
  return result;
}

void expect_close(const Tensor& found, const Tensor& expected, const std::string& name) {
  ASSERT_TRUE(found.defined()) << name;
  ASSERT_EQ(found.element_count(), expected.element_count()) << name;
  const Tensor dense = found.contiguous();
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    ASSERT_NEAR(dense.data<float>()[i], expected.data<float>()[i], 1e-5) << name << " " << i;
  }
}

TEST(ExportedTraining, JointProgramsGiveTheRightGradientsOfAttention) {
  const Module module = Module::load(kData + "attention.joint.pt2");
  auto recorded = tensors_of("attention.safetensors");
  call_joint(module, {recorded.at("x"), recorded.at("target")});
  for (const auto& [name, parameter] : module.parameters()) {
    expect_close(grad_of(parameter), recorded.at("own." + name), name);
  }
}

// Which of a program's parameters a backward pass reaches, and with what.
void expect_gradients(const std::string& program, const std::string& whose) {
  const Module module = Module::load(kData + program);
  auto recorded = tensors_of("gated.safetensors");
  RunOptions options;
  options.gradients = true;
  backward(module.call({recorded.at("x")}, {}, options).to_tensor());
  for (const auto& [name, parameter] : module.parameters()) {
    const auto expected = recorded.find(whose + "." + name);
    if (expected == recorded.end()) {
      EXPECT_FALSE(grad_of(parameter).defined()) << name;
    } else {
      expect_close(grad_of(parameter), expected->second, name);
    }
  }
}

TEST(ExportedTraining, PartsUnderNoGradGiveNoGradients) {
  expect_gradients("gated.training.pt2", "own");
}

// A decomposition drops no_grad: the program says no more that it was there, to PyTorch neither.
TEST(ExportedTraining, GradientsFlowWhereADecompositionDroppedNoGrad) {
  expect_gradients("gated.core.pt2", "loaded");
}

}  // namespace
