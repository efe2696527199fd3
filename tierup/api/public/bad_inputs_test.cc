// What cannot be differentiated, and what may not be done where gradients are recorded: each with
// PyTorch's words, the operator, and the model's own line.
#include <gtest/gtest.h>

#include <limits>

#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

Tensor three() { return Tensor::of(std::vector<float>{0.5F, 0.25F, 0.125F}, {3}); }

std::vector<float> numbers(const Tensor& tensor) {
  const Tensor row = tensor.contiguous();
  return {row.data<float>(), row.data<float>() + row.element_count()};
}

template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class BadInputs : public ::testing::Test {
 protected:
  Value run(const std::string& method, const Tensor& x = three()) const {
    return module_.run(method, {x}, {}, {.gradients = true});
  }
  Tensor weight() const { return module_.parameters().front().second; }

  Module module_ = Module::load("tests/data/bad_training/bad_inputs.pt");
};

struct Refusal {
  const char* method;
  const char* words;
  const char* line;      // Of the model.
  bool is_late = false;  // By the backward pass, not by the call.
};

class RefusedMethods : public BadInputs, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedMethods, SayWhyAndWhere) {
  const Refusal& refusal = GetParam();
  Tensor result;
  const std::string at_call = error_of([&] { result = run(refusal.method).to_tensor(); });
  std::string found = at_call;
  if (refusal.is_late) {
    ASSERT_EQ(at_call, "no error");
    found = error_of([&] { backward(result); });
  }
  EXPECT_NE(found.find(refusal.words), std::string::npos) << found;
  EXPECT_NE(found.find(refusal.line), std::string::npos) << found;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedMethods,
    testing::Values(
        Refusal{"no_derivative", "derivative for aten::heaviside is not implemented",
                "torch.heaviside(self.w, x)", true},
        Refusal{"igamma", "the derivative for 'igamma", "torch.special.gammainc", true},
        Refusal{"complete_qr", "not differentiable when mode='complete' and nrows > ncols",
                "torch.linalg.qr", true},
        Refusal{"overwrites_saved",
                "[torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected "
                "version 0",
                "self.w.exp()", true},
        Refusal{"twice", "backward through the graph a second time", "y.backward()"},
        Refusal{"not_scalar", "grad can be implicitly created only for scalar outputs",
                "y.backward()"},
        Refusal{"other_sizes", "grad_output[0] has a shape of [2] and output[0] has a shape of [3]",
                "torch.autograd.backward"},
        Refusal{"nothing_recorded", "does not require grad and does not have a grad_fn",
                "y.sum().backward()"},
        Refusal{"of_integers", "does not require grad and does not have a grad_fn", "y.backward()"},
        Refusal{"under_no_grad", "does not require grad and does not have a grad_fn",
                "y.backward()"},
        Refusal{"writes_leaf", "a leaf Variable that requires grad is being used in an in-place",
                "self.w.add_(1.0)"},
        Refusal{"writes_view_of_leaf",
                "a view of a leaf Variable that requires grad is being used in an in-place",
                "self.w[1:].add_(1.0)"},
        Refusal{"writes_one_of_several", "Output 0 of Unbind is a view and is being modified",
                "a.mul_(2)"},
        Refusal{"writes_base_of_several", "is a view and its base or another view of its base",
                "parts[0].sum()"},
        Refusal{"writes_view_of_no_grad", "A view was created in no_grad mode", "v.mul_(2)"},
        Refusal{"writes_leafs_view_of_no_grad", "A view was created in no_grad mode", "v.mul_(2)"},
        Refusal{"steps_in_between", "is at version 1; expected version 0 instead", "self.w*self.w"},
        Refusal{"out_argument", "add(): functions with out=... arguments don't support automatic",
                "torch.add(self.w, x, out=y)"},
        Refusal{"one_value_a_channel", "Expected more than 1 value per channel when training",
                "bad_inputs"},
        Refusal{"flag_of_computed", "you can only change requires_grad flags of leaf variables",
                "z.requires_grad_(False)"},
        Refusal{"detaches_view", "Can't detach views in-place", "z.detach_()"},
        Refusal{"resizes", "cannot resize variables that require grad", "z.resize_(6)"},
        Refusal{"sets_other_sizes", "cannot be broadcast", "self.w*self.w"}),
    [](const auto& info) { return info.param.method; });

// A plan knows which call made the value, and where.
TEST(BadInputsOfPlans, ASavedValueThatWasWrittenIsNamedWithItsLine) {
  Options options;
  options.tiering = "compile=blocking,profiled_runs=1";
  const Module module = Module::load("tests/data/bad_training/bad_inputs.pt", options);
  for (int call = 0; call < 4; ++call) {
    const Tensor result =
        module.run("overwrites_saved", {three()}, {}, {.gradients = true}).to_tensor();
    const std::string found = error_of([&] { backward(result); });
    EXPECT_NE(found.find("which is output 0 of Exp"), std::string::npos) << found;
    EXPECT_NE(found.find("self.w.exp()"), std::string::npos) << found;
  }
}

TEST_F(BadInputs, NewDataServesTheCallsThatSavedTheOld) {
  run("sets_data");
  EXPECT_EQ(numbers(grad_of(weight())), (std::vector<float>{5, 3, 1.75F}));
  EXPECT_EQ(numbers(weight()), (std::vector<float>{5, 6, 7}));
  EXPECT_TRUE(requires_grad(weight()));
}

TEST_F(BadInputs, AnOptimisersStepInBetweenIsNoticed) {
  const Tensor x = three();
  set_requires_grad(x);  // So that the product saves the weight.
  const Tensor loss = run("square", x).to_tensor();
  const Optimizer optimizer("SGD", module_, {{"lr", 0.1}});
  set_grad(weight(), three());
  optimizer.step();
  const std::string found = error_of([&] { backward(loss); });
  EXPECT_NE(found.find("is at version 1; expected version 0 instead"), std::string::npos) << found;
  EXPECT_NE(found.find("self.w * x * x"), std::string::npos) << found;
}

TEST_F(BadInputs, ResultsRetainTheirGradientsInPrograms) {
  EXPECT_EQ(numbers(run("retains").to_tensor()), (std::vector<float>{2, 2, 1.5F}));
}

TEST_F(BadInputs, ALeafThatIsSwitchedOffInBetweenGetsNothing) {
  run("freezes");
  EXPECT_FALSE(grad_of(weight()).defined());
  EXPECT_FALSE(requires_grad(weight()));
}

TEST_F(BadInputs, AMillionRecordedCallsAreRunAndFreed) {
  const Tensor sum = run("chain").to_tensor();
  backward(sum);
  EXPECT_EQ(numbers(grad_of(weight())), (std::vector<float>{1, 1, 1}));
}

TEST_F(BadInputs, ALoopThatRecordsForEverMeetsTheLimitOfMemory) {
  set_memory_limit(64 << 20);
  const std::string found = error_of([&] { run("records_for_ever"); });
  set_memory_limit(0);
  EXPECT_NE(found.find("gradients are recorded in this run"), std::string::npos) << found;
  EXPECT_NE(found.find("run backward more often"), std::string::npos) << found;
  EXPECT_NE(found.find("y = y.exp()"), std::string::npos) << found;
  EXPECT_LT(memory_stats().live_bytes, 1 << 20);  // Nothing of it is left.
}

// What is recorded of calls takes memory too, where tensors are small.
TEST_F(BadInputs, SmallCallsThatAreRecordedForEverMeetTheLimitOfMemory) {
  set_memory_limit(64 << 20);
  const std::string found = error_of([&] { run("chain"); });
  set_memory_limit(0);
  EXPECT_NE(found.find("gradients are recorded in this run"), std::string::npos) << found;
}

TEST_F(BadInputs, ScopesDecideWhatIsRecorded) {
  const auto recorded = [&](bool asked) {
    return requires_grad(module_.run("square", {three()}, {}, {.gradients = asked}).to_tensor());
  };
  EXPECT_TRUE(recorded(true));
  EXPECT_FALSE(recorded(false));
  {
    const GradScope no_grad(GradMode::kNoGrad);
    EXPECT_FALSE(recorded(true));
    {
      const GradScope enabled(GradMode::kEnabled);
      EXPECT_TRUE(recorded(false));
    }
    EXPECT_FALSE(recorded(true));
    EXPECT_FALSE(requires_grad(call_checkpointed(module_, {.args = {three()}}).to_tensor()));
  }
  EXPECT_TRUE(recorded(true));
  EXPECT_FALSE(recorded(false));
}

TEST_F(BadInputs, WhatInferenceModeMadeIsNotReliedOn) {
  const Tensor x = three();
  std::vector<Value> made;
  {
    const GradScope inference(GradMode::kInference);
    made = module_.run("gives", {x}, {}, {.gradients = true}).items();
  }
  const Tensor computed = made[0].to_tensor();
  EXPECT_TRUE(is_inference(computed));
  EXPECT_FALSE(requires_grad(computed));
  for (size_t k = 1; k < made.size(); ++k) EXPECT_FALSE(is_inference(made[k].to_tensor())) << k;
  EXPECT_FALSE(is_inference(x));
  EXPECT_FALSE(is_inference(weight()));

  EXPECT_NE(error_of([&] {
              run("square", computed);
            }).find("Inference tensors cannot be saved for backward"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              run("doubles_in_place", computed);
            }).find("Inplace update to inference tensor outside InferenceMode"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              set_requires_grad(computed);
            }).find("Setting requires_grad=True on inference tensor"),
            std::string::npos);
  EXPECT_EQ(numbers(computed), (std::vector<float>{1, 0.5F, 0.25F}));
  EXPECT_TRUE(requires_grad(run("square", computed.clone()).to_tensor()));
  {
    const GradScope no_grad(GradMode::kNoGrad);
    run("doubles_in_place", computed);
  }
  EXPECT_EQ(numbers(computed), (std::vector<float>{2, 1, 0.5F}));
}

TEST_F(BadInputs, FlagsAndGradientsFitTheirTensors) {
  const Tensor integers = Tensor::zeros(std::vector<int64_t>{3}, DType::kInt64);
  EXPECT_NE(error_of([&] {
              set_requires_grad(integers);
            }).find("only Tensors of floating point dtype can require gradients"),
            std::string::npos);
  const Tensor loss = run("square").to_tensor();
  EXPECT_NE(error_of([&] {
              set_requires_grad(loss, false);
            }).find("you can only change requires_grad flags of leaf variables"),
            std::string::npos);
  set_requires_grad(loss, true);  // It does.
  EXPECT_NE(error_of([&] {
              set_grad(weight(), Tensor::zeros(std::vector<int64_t>{3}, DType::kFloat64));
            }).find("attempting to assign a gradient with dtype"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              add_grad_hook(three(), [](const Tensor& g) { return g; });
            }).find("cannot register a hook on a tensor that doesn't require gradient"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              retain_grad(three());
            }).find("can't retain_grad on Tensor that has requires_grad=False"),
            std::string::npos);
}

TEST_F(BadInputs, GradOfWhatWasNotUsedIsRefused) {
  const Tensor other = three();
  const Tensor loss = run("square").to_tensor();
  EXPECT_NE(error_of([&] {
              grad({loss}, {other});
            }).find("One of the differentiated Tensors does not require grad"),
            std::string::npos);
  set_requires_grad(other);
  EXPECT_NE(error_of([&] {
              grad({loss}, {weight(), other}, {.retain_graph = true});
            }).find("The differentiated Tensor at index 1 appears to not have been used"),
            std::string::npos);
  const auto found = grad({loss}, {weight(), other}, {.allow_unused = true});
  EXPECT_TRUE(found[0].defined());
  EXPECT_FALSE(found[1].defined());
}

}  // namespace
