// Gradients through the public API, on a training module of the zoo.
#include <gtest/gtest.h>

#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

Tensor filled(std::vector<int64_t> shape, float value) {
  Tensor tensor = Tensor::zeros(shape, DType::kFloat32);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    tensor.data<float>()[i] = value * static_cast<float>(i % 5);
  }
  return tensor;
}

class PublicTraining : public ::testing::Test {
 protected:
  Tensor loss(bool gradients = true) const {
    RunOptions options;
    options.gradients = gradients;
    return module_.call({filled({5, 6}, 0.3F), filled({5, 3}, 0.2F)}, {}, options).to_tensor();
  }
  Tensor weight() const { return module_.parameters().front().second; }
  template <typename F>
  static std::string error_of(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  Module module_ = Module::load("tests/data/training/mlp_mse.train.pt");
};

TEST_F(PublicTraining, GradientsAccumulateAndAreTakenAway) {
  backward(loss());
  for (const auto& [name, parameter] : module_.parameters()) {
    ASSERT_TRUE(grad_of(parameter).defined()) << name;
  }
  const float first = grad_of(weight()).data<float>()[1];
  backward(loss());
  EXPECT_FLOAT_EQ(grad_of(weight()).data<float>()[1], 2 * first);
  zero_grad(module_);
  EXPECT_FALSE(grad_of(weight()).defined());
}

TEST_F(PublicTraining, AStepAlongTheGradientLowersTheLoss) {
  const float before = loss(false).data<float>()[0];
  backward(loss());
  for (const auto& [name, parameter] : module_.parameters()) {
    const Tensor gradient = grad_of(parameter).contiguous();
    for (int64_t i = 0; i < parameter.element_count(); ++i) {
      parameter.data<float>()[i] -= 0.01F * gradient.data<float>()[i];
    }
    parameter.mark_written();
  }
  EXPECT_LT(loss(false).data<float>()[0], before);
}

TEST_F(PublicTraining, CallsAreRecordedOnlyWhereAsked) {
  EXPECT_FALSE(requires_grad(loss(false)));
  EXPECT_TRUE(requires_grad(loss()));
  EXPECT_NE(error_of([&] { backward(loss(false)); }).find("does not require grad"),
            std::string::npos);
}

TEST_F(PublicTraining, WeightsWrittenInBetweenAreNoticed) {
  const Tensor recorded = loss();
  weight().mark_written();
  module_.parameters()[2].second.mark_written();
  EXPECT_NE(error_of([&] { backward(recorded); }).find("modified by an inplace operation"),
            std::string::npos);
}

TEST_F(PublicTraining, GradTouchesNoLeaf) {
  const std::vector<Tensor> gradients = grad({loss()}, {weight()});
  EXPECT_TRUE(gradients[0].defined());
  EXPECT_FALSE(grad_of(weight()).defined());
}

TEST_F(PublicTraining, HooksSeeAndReplaceGradients) {
  int calls = 0;
  add_grad_hook(weight(), [&](const Tensor& gradient) {
    ++calls;
    return Tensor::zeros(gradient.shape(), gradient.dtype());
  });
  add_after_grad_hook(weight(), [&] { calls += 10; });
  backward(loss());
  EXPECT_EQ(calls, 11);
  EXPECT_EQ(grad_of(weight()).data<float>()[1], 0);
}

TEST_F(PublicTraining, AssignedGradientsFitTheirTensor) {
  EXPECT_NE(error_of([&] {
              set_grad(weight(), filled({2}, 1));
            }).find("attempting to assign a gradient of size"),
            std::string::npos);
  set_grad(weight(), filled({12, 6}, 1));
  EXPECT_TRUE(grad_of(weight()).defined());
}

TEST_F(PublicTraining, FrozenParametersGetNothing) {
  set_requires_grad(weight(), false);
  backward(loss());
  EXPECT_FALSE(grad_of(weight()).defined());
  EXPECT_TRUE(grad_of(module_.parameters()[1].second).defined());
}

}  // namespace
