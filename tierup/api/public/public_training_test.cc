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

// Rows of word numbers and their classes.
std::vector<Value> words() {
  Tensor ids = Tensor::zeros(std::vector<int64_t>{4, 5}, DType::kInt64);
  Tensor classes = Tensor::zeros(std::vector<int64_t>{4}, DType::kInt64);
  for (int64_t i = 0; i < 20; ++i) ids.data<int64_t>()[i] = (i * 7) % 12;
  for (int64_t i = 0; i < 4; ++i) classes.data<int64_t>()[i] = i % 3;
  return {ids, classes};
}

TEST(JointProgram, GivesItsLossAndItsGradientsByName) {
  const Module module = Module::load("tests/data/training/bag_classifier.joint.pt2");
  const Value result = module.call(words());
  ASSERT_EQ(result.items().size(), 3U);
  EXPECT_EQ(result.items()[0].to_tensor().element_count(), 1);
  EXPECT_EQ(result.items()[1].entries().size(), module.parameters().size());
  EXPECT_TRUE(result.items()[2].entries().empty());
}

TEST(JointProgram, Trains) {
  const Module module = Module::load("tests/data/training/bag_classifier.joint.pt2");
  const Optimizer optimizer("SGD", module, {{"lr", 0.1}});
  const float first = call_joint(module, words()).data<float>()[0];
  float last = first;
  for (int step = 0; step < 5; ++step) {
    optimizer.step();
    optimizer.zero_grad();
    last = call_joint(module, words()).data<float>()[0];
  }
  EXPECT_LT(last, first);
}

TEST_F(PublicTraining, OtherProgramsAreNotJoint) {
  const std::vector<Value> batch{filled({5, 6}, 0.3F), filled({5, 3}, 0.2F)};
  EXPECT_NE(error_of([&] { call_joint(module_, batch); }).find("no joint program"),
            std::string::npos);
}

TEST_F(PublicTraining, TheModeOfAnExportedProgramIsBakedIn) {
  const Module module = Module::load("tests/data/zoo/mlp3.pt2");
  EXPECT_NE(error_of([&] { module.train(); }).find("the mode of an exported program is baked in"),
            std::string::npos);
  EXPECT_NE(error_of([&] { module.eval(); }).find("Calling eval() is not supported yet"),
            std::string::npos);
}

// Arguments that require gradients, of a loss.
std::vector<Value> arguments(const Tensor& input) { return {input, filled({5, 3}, 0.2F)}; }

TEST_F(PublicTraining, CheckpointedCallsGiveTheSameGradients) {
  const Tensor input = filled({5, 6}, 0.3F);
  set_requires_grad(input);
  RunOptions recorded;
  recorded.gradients = true;
  backward(module_.call(arguments(input), {}, recorded).to_tensor());
  std::vector<Tensor> expected{grad_of(input).clone()};
  for (const auto& [name, parameter] : module_.parameters())
    expected.push_back(grad_of(parameter).clone());
  zero_grad(module_);
  zero_grad({input});

  const Tensor kept = call_checkpointed(module_, {.args = arguments(input)}).to_tensor();
  EXPECT_TRUE(requires_grad(kept));
  EXPECT_FALSE(is_leaf(kept));
  backward(kept);
  std::vector<Tensor> found{grad_of(input)};
  for (const auto& [name, parameter] : module_.parameters()) found.push_back(grad_of(parameter));
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_TRUE(found[k].defined()) << k;
    for (int64_t i = 0; i < expected[k].element_count(); ++i)
      EXPECT_FLOAT_EQ(found[k].data<float>()[i], expected[k].data<float>()[i]) << k << ", " << i;
  }
}

TEST_F(PublicTraining, CheckpointedCallsHaveSecondOrder) {
  const Tensor input = filled({5, 6}, 0.3F);
  set_requires_grad(input);
  const auto second = [&](const Tensor& loss) {
    const Tensor first = grad({loss}, {input}, {.create_graph = true})[0];
    const Tensor cotangent = filled({5, 6}, 0.1F);
    return grad({first}, {weight()}, {.gradients = {cotangent}})[0];
  };
  RunOptions recorded;
  recorded.gradients = true;
  const Tensor expected = second(module_.call(arguments(input), {}, recorded).to_tensor());
  const Tensor found = second(call_checkpointed(module_, {.args = arguments(input)}).to_tensor());
  for (int64_t i = 0; i < expected.element_count(); ++i)
    EXPECT_FLOAT_EQ(found.data<float>()[i], expected.data<float>()[i]) << i;
}

TEST_F(PublicTraining, CheckpointedCallsAreFreedByTheirPass) {
  const Tensor kept =
      call_checkpointed(module_, {.args = arguments(filled({5, 6}, 1))}).to_tensor();
  backward(kept, {.retain_graph = true});
  backward(kept);
  EXPECT_NE(error_of([&] { backward(kept); }).find("backward through the graph a second time"),
            std::string::npos);
}

TEST_F(PublicTraining, ArgumentsOfCheckpointedCallsThatWereWrittenAreNoticed) {
  const Tensor input = filled({5, 6}, 0.3F);
  const Tensor kept = call_checkpointed(module_, {.args = arguments(input)}).to_tensor();
  input.mark_written();
  EXPECT_NE(error_of([&] { backward(kept); }).find("modified by an inplace operation"),
            std::string::npos);
}

TEST(CheckpointedDropout, DrawsTheSameMasksAgain) {
  const Module module = Module::load("tests/data/training/seeded_dropout.train.pt");
  const Tensor input = filled({4, 5}, 0.3F);
  const Tensor target = Tensor::zeros(std::vector<int64_t>{4}, DType::kInt64);
  const auto gradient_of = [&](bool checkpointed) {
    module.set_seed(5);
    zero_grad(module);
    RunOptions recorded;
    recorded.gradients = true;
    const Value loss = checkpointed ? call_checkpointed(module, {.args = {input, target}})
                                    : module.call({input, target}, {}, recorded);
    module.set_seed(99);  // What was drawn since is nobody's business.
    backward(loss.to_tensor());
    return grad_of(module.parameters().front().second);
  };
  const Tensor expected = gradient_of(false).clone();
  const Tensor found = gradient_of(true);
  for (int64_t i = 0; i < expected.element_count(); ++i)
    EXPECT_FLOAT_EQ(found.data<float>()[i], expected.data<float>()[i]) << i;
}

// As named_parameters() of PyTorch; the state dict has each name.
TEST(TiedWeights, AreOneParameterWithTwoNames) {
  const Module module = Module::load("tests/data/modules/tied.pt");
  EXPECT_LT(module.parameters().size(), module.state_dict().size());
  EXPECT_EQ(Optimizer("sgd", module).parameters().size(), module.parameters().size());
  EXPECT_EQ(Optimizer("sgd", {{module.parameters(), {}}}).parameters().size(),
            module.parameters().size());
}

TEST(TiedWeights, HaveOneGradientOfCheckpointedCalls) {
  const Module module = Module::load("tests/data/modules/tied.pt");
  const Tensor ids = Tensor::zeros(std::vector<int64_t>{3, 6}, DType::kInt64);
  for (int64_t i = 0; i < 18; ++i) ids.data<int64_t>()[i] = i % 7;
  const auto gradient = [&](const Tensor& output) {
    zero_grad(module);
    backward(output, {.gradients = {filled({3, 6, 7}, 0.5F)}});
    const Tensor found = grad_of(module.parameters().front().second);
    return std::vector<float>(found.data<float>(), found.data<float>() + found.element_count());
  };
  RunOptions recorded;
  recorded.gradients = true;
  const std::vector<float> expected = gradient(module.call({ids}, {}, recorded).to_tensor());
  const Tensor kept = call_checkpointed(module, {.args = {ids}}).to_tensor();
  EXPECT_EQ(gradient(kept), expected);
}

TEST_F(PublicTraining, FrozenParametersGetNothing) {
  set_requires_grad(weight(), false);
  backward(loss());
  EXPECT_FALSE(grad_of(weight()).defined());
  EXPECT_TRUE(grad_of(module_.parameters()[1].second).defined());
}

}  // namespace
