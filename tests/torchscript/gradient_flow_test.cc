// Gradients of functions that a profiling executor has found hard to differentiate (T44 to T60 of
// docs/coverage.md): the same in each of six calls, under every way of making plans.
#include <gtest/gtest.h>

#include <cmath>

#include "script_program.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/shape/conversion.h"

namespace tierup {
namespace {

using Floats = std::vector<float>;

constexpr int kCalls = 6;

constexpr const char* kFunctions = R"(
def chain(a: Tensor, b: Tensor) -> Tensor:
  c = torch.mul(a, b)
  d = torch.mul(c, b)
  e = torch.mul(d, b)
  return torch.add(d, e)
def sigmoids(x: Tensor) -> Tensor:
  return torch.sigmoid(torch.sigmoid(x))
def biased(x: Tensor, bias: Tensor) -> Tensor:
  return torch.relu(torch.add(x, bias))
def squared(a: Tensor, b: Tensor) -> Tensor:
  return torch.mul(torch.mul(a, b), b)
def multiples(x: Tensor) -> Tuple[Tensor, Tensor]:
  return (torch.mul(x, 2), torch.mul(x, 3))
def beside(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
  a = torch.mul(w, x)
  n = torch.abs(torch.select(torch.detach(a), 0, 0))
  b = torch.zeros([int(n)])
  return torch.mul(a, torch.add(torch.mul(y, 2), torch.sum(b)))
def branched(x: Tensor, k: Tensor, flag: bool) -> Tensor:
  y = torch.mul(x, 1.5)
  if flag:
    k0 = torch.add(k, y)
  else:
    k0 = k
  return torch.mul(y, k0)
def views(x: Tensor, flag: bool) -> Tensor:
  y = torch.mul(torch.mul(x, 2), x)
  if flag:
    z = torch.select(y, 0, 0)
    k = torch.select(y, 0, 1)
    _0 = torch.add_(z, 3)
    out = torch.add(torch.add(z, k), 3.5)
  else:
    out = torch.select(y, 0, 0)
  return torch.mul(out, out)
def both(x: Tensor) -> Tuple[Tensor, Tensor]:
  a = torch.relu(torch.mul(x, 2))
  return (a, torch.t(a))
def ties(x: Tensor, y: Tensor, z: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  return (torch.max(x, y), torch.threshold(z, 0, 0), torch.relu6(torch.add(z, 6)))
def cube(x: Tensor) -> Tensor:
  return torch.sum(torch.mul(torch.mul(x, x), x))
def spectrum(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
  z = torch.mm(torch.complex(x, y), torch.complex(w, torch.zeros_like(w)))
  return torch.abs(torch.exp(z))
def counted(x: Tensor) -> Tuple[Tensor, Tensor]:
  y = torch.mul(torch.tanh(x), x)
  return (y, torch.argmax(y))
def channel_norm(x: Tensor, gamma: Tensor) -> Tensor:
  mean = torch.mean(x, [1], True)
  var = torch.var(x, [1], False, True)
  return torch.mul(torch.div(torch.sub(x, mean), torch.sqrt(torch.add(var, 1e-05))), gamma)
def shared(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  h = torch.tanh(x)
  return (torch.mul(h, 2), torch.mul(h, 3), torch.sigmoid(torch.mul(x, 2)))
def apart(x: Tensor) -> Tuple[Tensor, Tensor]:
  y = torch.mul(x, 2)
  return (torch.tanh(y), torch.add(torch.neg(y), 3))
def listed(x: Tensor, y: Tensor) -> Tuple[Tensor, List[Tensor]]:
  all = [torch.add(x, 1), torch.add(y, 1)]
  return (torch.cat(all), all)
)";

Tensor leaf(IntVector sizes, const Floats& values, bool requires_grad = true) {
  const Tensor tensor = Tensor::empty(std::move(sizes), ScalarType::kFloat);
  for (int64_t i = 0; i < tensor.numel(); ++i)
    tensor.data<float>()[i] = values[static_cast<size_t>(i) % values.size()];
  tensor.set_requires_grad(requires_grad);
  return tensor;
}

Floats numbers(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  const Tensor dense = kernels::contiguous(tensor);
  return {dense.data<float>(), dense.data<float>() + dense.numel()};
}

class GradientFlow : public ::testing::TestWithParam<const char*> {
 protected:
  IValue call(const std::string& name, std::vector<IValue> args, bool records = true) {
    IValue result = program_.run_recorded(name, std::move(args), records ? &tape_ : nullptr);
    program_.wait_for_jobs();
    return result;
  }
  // Of the sum of the outputs.
  std::vector<Tensor> gradients(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& inputs, bool create = false) {
    ops::BackwardRequest request;
    for (const Tensor& output : outputs) {
      request.outputs.push_back(output);
      request.cotangents.push_back(Tensor::empty(output.sizes(), ScalarType::kFloat));
      kernels::fill_(request.cotangents.back(), Scalar(1.0));
    }
    request.inputs = inputs;
    request.create_graph = create;
    request.allow_unused = true;
    ops::RunContext context;
    context.policy.grad_mode = true;
    context.tape = &tape_;
    return tape_.grad(context, request);
  }
  Floats gradient(const Tensor& output, const Tensor& input) {
    return numbers(gradients({output}, {input})[0]);
  }

 private:
  static tier::TieringOptions options() {
    tier::TieringOptions tiering;
    tiering.apply(GetParam());
    return tiering;
  }

  autodiff::RecordingTape tape_;
  ScriptProgram program_{kFunctions, Preparation::kTiered, 10, options()};
};

TEST_P(GradientFlow, OfAChainIsTheSameInEachCall) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor a = leaf({1}, {2});
    const Tensor b = leaf({1}, {3});
    const Tensor y = call("chain", {a, b}).to_tensor();
    EXPECT_EQ(numbers(y), Floats{72});
    const auto found = gradients({y}, {a, b});
    EXPECT_EQ(numbers(found[0]), Floats{36});
    EXPECT_EQ(numbers(found[1]), Floats{66});
  }
}

TEST_P(GradientFlow, OfSigmoids) {
  Floats first;
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({2, 3}, {-1, 0, 0.5F, 2});
    const Floats found = gradient(call("sigmoids", {x}).to_tensor(), x);
    if (i == 0) first = found;
    EXPECT_EQ(found, first);
    const double s = 1 / (1 + std::exp(1.0));
    const double outer = 1 / (1 + std::exp(-s));
    EXPECT_NEAR(found[0], outer * (1 - outer) * s * (1 - s), 1e-7);
  }
}

TEST_P(GradientFlow, IsForInputsThatRequireIt) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({4}, {-2, -1, 1, 2});
    const Tensor bias = leaf({4}, {0.5F}, false);
    const auto found = gradients({call("biased", {x, bias}).to_tensor()}, {x});
    EXPECT_EQ(numbers(found[0]), (Floats{0, 0, 1, 1}));
  }
}

TEST_P(GradientFlow, IsSummedOverWhatWasBroadcast) {
  for (const bool is_wide : {false, true}) {
    for (int i = 0; i < kCalls; ++i) {
      const Tensor a = is_wide ? leaf({2, 2}, {1}) : leaf({1}, {1});
      const Tensor b = leaf({1}, {1});
      const auto found = gradients({call("squared", {a, b}).to_tensor()}, {a, b});
      EXPECT_EQ(numbers(found[0]), Floats(is_wide ? 4 : 1, 1));
      EXPECT_EQ(numbers(found[1]), Floats{is_wide ? 8.0F : 2.0F});
    }
  }
}

TEST_P(GradientFlow, ComesFromTheResultsThatAreUsed) {
  for (int i = 0; i < 2 * kCalls; ++i) {
    const Tensor x = leaf({2}, {1, -4});
    const auto results = call("multiples", {x}).to_tuple().items;
    std::vector<Tensor> used{results[0].to_tensor()};
    if (i >= kCalls) used.push_back(results[1].to_tensor());
    EXPECT_EQ(numbers(gradients(used, {x})[0]), Floats(2, i < kCalls ? 2 : 5));
  }
}

TEST_P(GradientFlow, PassesByWhatHasNone) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor w = leaf({2}, {2, 3});
    const Tensor x = leaf({2}, {1, 5});
    const Tensor y = leaf({2}, {4, 0.5F});
    const auto found = gradients({call("beside", {w, x, y}).to_tensor()}, {w, y});
    EXPECT_EQ(numbers(found[0]), (Floats{8, 5}));
    EXPECT_EQ(numbers(found[1]), (Floats{4, 30}));
  }
}

TEST_P(GradientFlow, GoesByTheBranchThatWasTaken) {
  for (int i = 0; i < 2 * kCalls; ++i) {
    const bool flag = i % 3 != 0;
    const Tensor x = leaf({2}, {2, -4});
    const Tensor k = leaf({2}, {3, 1});
    const auto found = gradients({call("branched", {x, k, flag}).to_tensor()}, {x, k});
    // 1.5 x (k + 1.5 x), or 1.5 x k.
    EXPECT_EQ(numbers(found[0]), flag ? (Floats{13.5F, -16.5F}) : (Floats{4.5F, 1.5F}));
    EXPECT_EQ(numbers(found[1]), (Floats{3, -6}));
  }
}

TEST_P(GradientFlow, GoesThroughViewsThatAreWritten) {
  for (int i = 0; i < 2 * kCalls; ++i) {
    const bool flag = i % 2 == 0;
    const Tensor x = leaf({2}, {2, 1});
    const auto found = gradients({call("views", {x, flag}).to_tensor()}, {x});
    // (2 x0^2 + 3 + 2 x1^2 + 3.5)^2, or (2 x0^2)^2.
    EXPECT_EQ(numbers(found[0]), flag ? (Floats{264, 132}) : (Floats{128, 0}));
  }
}

TEST_P(GradientFlow, OfAResultAndItsView) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({2, 3}, {-1, 1, 2});
    const auto results = call("both", {x}).to_tuple().items;
    const auto found = gradients({results[0].to_tensor(), results[1].to_tensor()}, {x});
    EXPECT_EQ(numbers(found[0]), (Floats{0, 4, 4, 0, 4, 4}));
  }
}

TEST_P(GradientFlow, AtTiesAndBoundsIsThatOfTheFirstCall) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({2}, {1, 2});
    const Tensor y = leaf({2}, {1, 1});
    const Tensor z = leaf({2}, {0, -6});
    const auto results = call("ties", {x, y, z}).to_tuple().items;
    const auto of_maximum = gradients({results[0].to_tensor()}, {x, y});
    EXPECT_EQ(numbers(of_maximum[0]), (Floats{0.5F, 1}));
    EXPECT_EQ(numbers(of_maximum[1]), (Floats{0.5F, 0}));
    EXPECT_EQ(gradient(results[1].to_tensor(), z), (Floats{0, 0}));
    EXPECT_EQ(gradient(results[2].to_tensor(), z), (Floats{0, 0}));
  }
}

TEST_P(GradientFlow, OfSecondOrder) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({1}, {2});
    const auto first = gradients({call("cube", {x}).to_tensor()}, {x}, true);
    EXPECT_EQ(numbers(first[0]), Floats{12});
    EXPECT_EQ(gradient(first[0], x), Floats{12});
  }
}

TEST_P(GradientFlow, ThroughComplexNumbers) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor w = leaf({1, 1}, {0.5F});
    const Tensor y =
        call("spectrum", {leaf({1, 1}, {2}, false), leaf({1, 1}, {3}, false), w}).to_tensor();
    EXPECT_TRUE(y.requires_grad());
    // |exp((x + iy) w)| = exp(x w).
    EXPECT_NEAR(gradient(y, w)[0], 2 * std::exp(1.0), 1e-5);
  }
}

TEST_P(GradientFlow, IsThereAgainAfterCallsWithoutIt) {
  for (int i = 0; i < 3 * kCalls; ++i) {
    const bool records = i / 3 % 2 == 0;
    const Tensor a = leaf({1}, {2});
    const Tensor b = leaf({1}, {3});
    const Tensor y = call("chain", {a, b}, records).to_tensor();
    EXPECT_EQ(y.requires_grad(), records);
    if (records) {
      EXPECT_EQ(gradient(y, a), Floats{36});
    }
  }
}

TEST_P(GradientFlow, OfInputsThatTakeTurns) {
  for (int i = 0; i < 100; ++i) {
    const bool is_first = i % 2 == 0;
    const Tensor a = leaf({1}, {2}, is_first);
    const Tensor b = leaf({1}, {3}, !is_first);
    const Tensor y = call("chain", {a, b}).to_tensor();
    ASSERT_EQ(gradient(y, is_first ? a : b), Floats{is_first ? 36.0F : 66.0F});
  }
}

TEST_P(GradientFlow, BesideIntegerResults) {
  Floats first;
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({3}, {0.5F, 2, -1});
    const auto results = call("counted", {x}).to_tuple().items;
    EXPECT_FALSE(results[1].to_tensor().requires_grad());
    EXPECT_EQ(results[1].to_tensor().data<int64_t>()[0], 1);
    const Floats found = gradient(results[0].to_tensor(), x);
    if (i == 0) first = found;
    EXPECT_EQ(found, first);
    EXPECT_NEAR(found[1], std::tanh(2.0) + 2 * (1 - std::tanh(2.0) * std::tanh(2.0)), 1e-6);
  }
}

TEST_P(GradientFlow, OfANormOverChannels) {
  std::vector<Floats> first;
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({2, 32, 16}, {0.5F, -2, 1, 0.25F, 3, -0.75F, 1.5F});
    const Tensor gamma = leaf({32, 1}, {1, 2, 0.5F});
    const Tensor y = call("channel_norm", {x, gamma}).to_tensor();
    std::vector<Floats> found{numbers(y)};
    for (const Tensor& one : gradients({y}, {x, gamma})) found.push_back(numbers(one));
    if (i == 0) first = found;
    for (size_t k = 0; k < found.size(); ++k) {
      ASSERT_EQ(found[k].size(), first[k].size());
      for (size_t n = 0; n < found[k].size(); ++n)
        EXPECT_NEAR(found[k][n], first[k][n], 1e-5 * std::max(1.0F, std::abs(first[k][n])));
    }
  }
}

TEST_P(GradientFlow, IsKeptForEachElementOfAList) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({2}, {1, 2});
    const Tensor y = leaf({2}, {3, 4}, false);
    const auto results = call("listed", {x, y}).to_tuple().items;
    const auto& items = results[1].to_list().items;
    EXPECT_TRUE(results[0].to_tensor().requires_grad());
    EXPECT_TRUE(items[0].to_tensor().requires_grad());
    EXPECT_FALSE(items[1].to_tensor().requires_grad());
    EXPECT_EQ(gradient(results[0].to_tensor(), x), (Floats{1, 1}));
  }
}

// Results may be passed back from one after the other as long as no saved value is read twice.
TEST_P(GradientFlow, IsRefusedWhereAFirstPassHasLetValuesGo) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({2}, {0, 1});
    const auto results = call("shared", {x}).to_tuple().items;
    EXPECT_EQ(gradient(results[0].to_tensor(), x)[0], 2);
    EXPECT_THROW(gradient(results[0].to_tensor(), x), Error);
    EXPECT_THROW(gradient(results[1].to_tensor(), x), Error);
    EXPECT_EQ(gradient(results[2].to_tensor(), x)[0], 0.5F);
    EXPECT_THROW(gradient(results[2].to_tensor(), x), Error);
  }
}

// Of a result that saved nothing any number of passes may come, whatever became of the other.
TEST_P(GradientFlow, OfWhatSavedNothingComesAgainAndOfTheOtherResultDoesNot) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = leaf({4}, {0.5F, -0.25F, 1, 2});
    const auto outputs = call("apart", {IValue(x)}).to_tuple().items;
    const Tensor saves = outputs[0].to_tensor();
    const Tensor saves_nothing = outputs[1].to_tensor();
    const Floats expected(4, -2);
    for (int pass = 0; pass < 2; ++pass)
      EXPECT_EQ(numbers(gradients({saves_nothing}, {x})[0]), expected) << i;
    if (i < kCalls / 2) continue;  // The plan is made for the result that saved nothing.
    EXPECT_NO_THROW(gradients({saves}, {x})) << i;
    EXPECT_THROW(gradients({saves}, {x}), Error) << i;
    EXPECT_EQ(numbers(gradients({saves_nothing}, {x})[0]), expected) << i;
  }
}

TEST_P(GradientFlow, IsRefusedWhereASavedTensorWasWritten) {
  for (int i = 0; i < kCalls; ++i) {
    const Tensor a = leaf({1}, {2});
    const Tensor b = leaf({1}, {3}, false);
    const Tensor y = call("chain", {a, b}).to_tensor();
    kernels::fill_(b, Scalar(5.0));
    b.bump_version();
    EXPECT_THROW(gradient(y, a), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryPolicy, GradientFlow,
    ::testing::Values("compile=off", "compile=background", "compile=blocking,profiled_runs=1",
                      "compile=blocking,profiled_runs=1,fusion=off",
                      "compile=blocking,profiled_runs=1,guards_fail=on",
                      "compile=blocking,profiled_runs=1,poison=on,verify_passes=on",
                      "policy=reference,compile=blocking,fusion_strategy=static:2+dynamic:10",
                      "policy=reference,compile=blocking,profiled_runs=1,fusion_strategy=static:12",
                      "policy=reference,compile=blocking,profiled_runs=1,"
                      "fusion_strategy=dynamic:12"));

}  // namespace
}  // namespace tierup
