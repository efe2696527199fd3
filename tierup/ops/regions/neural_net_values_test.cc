// Compiled nets over NaN, infinities, zeros of both signs and denormals: each kind of step, alone
// and hanging on what it may hang on, must answer as the operators at tier 0 do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;

constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
const std::vector<float> kFinite{0.0F,   -0.0F, kDenormal, -kDenormal, 1e9F, -1e9F,
                                 1e-30F, 0.25F, -0.25F,    7.5F,       -2.0F};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<float> kNotFinite{std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity,
                                    3e38F, -3e38F};

// Each of the values in a row (or image) of its own, among ordinary numbers.
Tensor with_values(const std::vector<float>& values, IntVector sizes, int64_t place) {
  sizes[0] = static_cast<int64_t>(values.size());
  const Tensor t = numbers(sizes, 11);
  const int64_t each = t.numel() / sizes[0];
  for (int64_t i = 0; i < sizes[0]; ++i)
    t.data<float>()[i * each + place] = values[static_cast<size_t>(i)];
  return t;
}

// NaN where NaN is, infinities where they are, and near elsewhere.
void expect_like(const Tensor& want, const Tensor& have) {
  ASSERT_EQ(shape_string(want.sizes()), shape_string(have.sizes()));
  for (int64_t i = 0; i < want.numel(); ++i) {
    const float a = want.data<float>()[i];
    const float b = have.data<float>()[i];
    if (std::isfinite(a) && std::isfinite(b)) {
      EXPECT_NEAR(a, b, 1e-5F * std::max(1.0F, std::abs(a))) << "at " << i;
    } else {
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
          << b << " instead of " << a << " at " << i;
    }
  }
}

// `by_net`: the net itself must have answered.
void expect_tier_0(NeuralNet& net, const Tensor& input, bool by_net) {
  RunContext context;
  std::vector<IValue> one{input};
  const ThreadCountScope threads(1);
  const std::vector<IValue> wanted = net.run(one, context);  // By the twin.
  ASSERT_TRUE(net.prepare(one, 1)) << ::testing::PrintToString(net.notes());
  const int64_t before = net.twin_calls();
  const std::vector<IValue> given = net.run(one, context);
  if (by_net) {
    EXPECT_EQ(net.twin_calls(), before);
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    expect_like(wanted[i].to_tensor(), given[i].to_tensor());
}

void expect_tier_0(NeuralNet& net, const IntVector& sizes, int64_t place) {
  expect_tier_0(net, with_values(kFinite, sizes, place), true);
  expect_tier_0(net, with_values(kNotFinite, sizes, place), false);
}

struct Step {
  const char* name;
  std::vector<net::Arg> rest;  // Behind the value.
};

const std::vector<Step>& steps() {
  static const std::vector<Step> steps{
      {"aten::relu", {}},
      {"aten::relu6", {}},
      {"aten::hardtanh", {L::c(-1.0), L::c(2.0)}},
      {"aten::hardswish", {}},
      {"aten::hardsigmoid", {}},
      {"aten::silu", {}},
      {"aten::sigmoid", {}},
      {"aten::tanh", {}},
      {"aten::gelu", {L::c("none")}},
      {"aten::gelu", {L::c("tanh")}},
      {"aten::leaky_relu", {L::c(0.1)}},
      {"aten::prelu", {L::c(numbers({1}, 2))}},
      {"aten::elu", {L::c(0.7), L::c(1), L::c(1)}},
      {"aten::clamp", {L::c(-0.5), L::c(0.5)}},
      {"aten::clamp", {L::c(0.0), L::c({})}},
      {"aten::clamp", {L::c({}), L::c(0.5)}},
      {"aten::add.Scalar", {L::c(0.5), L::c(1)}},
      {"aten::mul.Scalar", {L::c(0.0)}},
      {"aten::mul.Scalar", {L::c(-2.0)}},
      {"aten::div.Scalar", {L::c(3.0)}},
      {"aten::pow.Tensor_Scalar", {L::c(2.0)}},
      {"aten::pow.Tensor_Scalar", {L::c(3.0)}},
      {"aten::softmax.int", {L::c(-1), L::c({})}},
      {"aten::neg", {}},
      {"aten::mean.dim", {L::c(ints({-1})), L::c(true), L::c({})}},
  };
  return steps;
}

int step_on(Line& line, const Step& step, int value) {
  std::vector<net::Arg> args{L::v(value)};
  args.insert(args.end(), step.rest.begin(), step.rest.end());
  return line.add(step.name, std::move(args));
}

std::string text_of(const Step& step) {
  std::string text = step.name;
  for (const net::Arg& arg : step.rest) text += " " + to_text(arg.constant);
  return text;
}

TEST(NeuralNetValues, of_steps_alone) {
  for (const Step& step : steps()) {
    SCOPED_TRACE(text_of(step));
    Line line;
    expect_tier_0(*line.make({step_on(line, step, 0)}), {1, 5, 3, 6}, 7);
  }
}

TEST(NeuralNetValues, of_steps_on_linear_layers) {
  for (const Step& step : steps()) {
    SCOPED_TRACE(text_of(step));
    Line line;
    const int y = line.add("aten::linear", {L::v(0), L::c(numbers({20, 9}, 1)), L::c({})});
    expect_tier_0(*line.make({step_on(line, step, y)}), {1, 9}, 4);
  }
}

TEST(NeuralNetValues, of_steps_on_convolutions) {
  for (const int64_t groups : {1, 8}) {
    for (const Step& step : steps()) {
      SCOPED_TRACE(text_of(step));
      Line line;
      const int y =
          line.convolution(0, numbers({8, 8 / groups, 3, 3}, 1), numbers({8}, 2), 2, 1, 1, groups);
      expect_tier_0(*line.make({step_on(line, step, y)}), {1, 8, 7, 7}, 24);
    }
  }
}

TEST(NeuralNetValues, of_sums_and_steps_on_layers) {
  for (const Step& step : steps()) {
    SCOPED_TRACE(text_of(step));
    Line line;
    const int y = line.convolution(0, numbers({8, 8, 1, 1}, 1), numbers({8}, 2), 1, 0, 1, 1);
    const int s = line.add("aten::add.Tensor", {L::v(y), L::v(0), L::c(1)});
    const int a = step_on(line, step, s);
    const int m = line.add("aten::mul.Tensor", {L::v(a), L::v(y)});
    expect_tier_0(*line.make({a, m}), {1, 8, 5, 5}, 33);
  }
}

TEST(NeuralNetValues, of_steps_one_after_the_other) {
  for (const Step& first : steps()) {
    for (const Step& second : steps()) {
      SCOPED_TRACE(text_of(first) + ", " + text_of(second));
      Line line;
      const int y = line.add("aten::linear", {L::v(0), L::c(numbers({8, 4}, 1)), L::c({})});
      const int a = step_on(line, first, y);
      const auto net = line.make({step_on(line, second, a)});
      // Large numbers to large powers may end in NaN.
      for (const auto& values : {kFinite, kNotFinite})
        expect_tier_0(*net, with_values(values, {1, 4}, 2), false);
    }
  }
}

// A factor times a factor overflows later, a summand plus a summand is rounded less: two linear
// steps are two steps, as at tier 0.
TEST(NeuralNetValues, of_linear_steps_one_after_the_other_overflow_and_round_in_between) {
  const std::vector<Step> linear{
      {"aten::mul.Scalar", {L::c(-2.0)}},          {"aten::div.Scalar", {L::c(3.0)}},
      {"aten::mul.Scalar", {L::c(1e30)}},          {"aten::mul.Scalar", {L::c(1e-30)}},
      {"aten::add.Scalar", {L::c(1e9), L::c(1)}},  {"aten::sub.Scalar", {L::c(1e9), L::c(1)}},
      {"aten::add.Scalar", {L::c(3e38), L::c(1)}}, {"aten::sub.Scalar", {L::c(3e38), L::c(1)}},
      {"aten::add.Scalar", {L::c(0.5), L::c(1)}},  {"aten::mul.Scalar", {L::c(-1.0)}},
  };
  const std::vector<float> values{3e38F, -3e38F, 1.0F, -0.75F, 1e-20F, -kInfinity};
  for (const Step& first : linear) {
    for (const Step& second : linear) {
      for (const Step& third : {linear[0], linear[1], linear[9]}) {
        SCOPED_TRACE(text_of(first) + ", " + text_of(second) + ", " + text_of(third));
        Line line;
        Tensor one = numbers({1, 1}, 1);
        one.data<float>()[0] = 1;
        const int y = line.add("aten::linear", {L::v(0), L::c(one), L::c({})});
        const int a = step_on(line, first, y);
        const int b = step_on(line, second, a);
        const auto net = line.make({step_on(line, third, b)});
        expect_tier_0(*net, with_values(values, {6, 1}, 0), false);
      }
    }
  }
}

// The same with a factor or a summand for each channel, which go into the weights.
TEST(NeuralNetValues, of_channel_factors_one_after_the_other_overflow_and_round_in_between) {
  const auto each = [](float a, float b) {
    const Tensor t = numbers({2}, 1);
    t.data<float>()[0] = a;
    t.data<float>()[1] = b;
    return L::c(t);
  };
  const std::vector<Step> factors{
      {"aten::mul.Tensor", {each(-2, 1)}},
      {"aten::mul.Tensor", {each(1.0F / 3, 0.5F)}},
      {"aten::mul.Tensor", {each(1e30F, 1)}},
      {"aten::mul.Tensor", {each(1, 1e-30F)}},
      {"aten::mul.Tensor", {each(1e-30F, 1e-30F)}},
      {"aten::add.Tensor", {each(1e9F, 3e38F), L::c(1)}},
      {"aten::sub.Tensor", {each(1e9F, 3e38F), L::c(1)}},
      {"aten::mul.Tensor", {each(-1, 1)}},
  };
  const std::vector<float> values{3e38F, -3e38F, 1.0F, -0.75F};
  for (const Step& first : factors) {
    for (const Step& second : factors) {
      for (const float weight : {1.0F, 1e-30F}) {
        SCOPED_TRACE(text_of(first) + ", " + text_of(second));
        Line line;
        Tensor ones = numbers({2, 1}, 1);
        ones.data<float>()[0] = weight;
        ones.data<float>()[1] = weight;
        const int y = line.add("aten::linear", {L::v(0), L::c(ones), L::c({})});
        const int a = step_on(line, first, y);
        const int b = step_on(line, second, a);
        // So that what is near zero is seen.
        const int c = line.add("aten::mul.Scalar", {L::v(b), L::c(weight == 1 ? 1.0 : 1e30)});
        const auto net = line.make({c});
        // Apart: a weight that is lost makes a NaN of it, and the net's twin answers.
        expect_tier_0(*net, with_values(values, {1, 1}, 0), true);
        expect_tier_0(*net, with_values({-kInfinity}, {1, 1}, 0), false);
      }
    }
  }
}

TEST(NeuralNetValues, of_pools_and_norms) {
  const auto one = [](const char* name, std::vector<net::Arg> rest) {
    SCOPED_TRACE(name);
    Line line;
    expect_tier_0(*line.make({step_on(line, {name, std::move(rest)}, 0)}), {1, 6, 8, 8}, 100);
  };
  const IValue two = ints({2, 2});
  const IValue none = ints({0, 0});
  one("aten::max_pool2d", {L::c(two), L::c(two), L::c(none), L::c(ints({1, 1})), L::c(false)});
  one("aten::max_pool2d",
      {L::c(ints({3, 3})), L::c(two), L::c(ints({1, 1})), L::c(ints({1, 1})), L::c(false)});
  one("aten::avg_pool2d", {L::c(two), L::c(two), L::c(none), L::c(false), L::c(true), L::c({})});
  one("aten::adaptive_avg_pool2d", {L::c(ints({1, 1}))});
  one("aten::adaptive_avg_pool2d", {L::c(two)});
  one("aten::amax", {L::c(ints({2, 3})), L::c(false)});
  one("aten::mean.dim", {L::c(ints({2, 3})), L::c(true), L::c({})});
  one("aten::layer_norm",
      {L::c(ints({8})), L::c(numbers({8}, 2)), L::c(numbers({8}, 3)), L::c(1e-5), L::c(true)});
  one("aten::rms_norm", {L::c(ints({8})), L::c(numbers({8}, 2)), L::c(1e-5)});
  one("aten::rms_norm", {L::c(ints({8})), L::c({}), L::c({})});
  Line roots;  // Of what is negative: NaN.
  const auto net = roots.make({roots.add("aten::rsqrt", {L::v(0)})});
  for (const auto& values : {kFinite, kNotFinite})
    expect_tier_0(*net, with_values(values, {1, 9}, 4), false);
  one("aten::batch_norm", {L::c(numbers({6}, 2)), L::c(numbers({6}, 3)), L::c(numbers({6}, 5)),
                           L::c(variances(6)), L::c(false), L::c(0.1), L::c(1e-5), L::c(true)});
}

int transposed(Line& line, const IntVector& kernel, int64_t stride, const IntVector& padding) {
  return line.add("aten::conv_transpose2d.input",
                  {L::v(0), L::c(numbers({6, 5, kernel[0], kernel[1]}, 1)), L::c({}),
                   L::c(ints({stride, stride})), L::c(ints(padding)),
                   L::c(ints({stride - 1, stride - 1})), L::c(1), L::c(ints({1, 1}))});
}
// A NaN alone: what comes of infinities is noticed by itself.
Tensor with_nan() {
  return with_values({std::numeric_limits<float>::quiet_NaN()}, {2, 6, 7, 8}, 100);
}

// Between the points that a stride leaves out, and beside a padding that is wider than the kernel,
// no window reads anything.
TEST(NeuralNetValues, of_transposed_convolutions) {
  for (const int64_t stride : {1, 2, 3}) {
    SCOPED_TRACE(stride);
    for (const IntVector& padding : {IntVector{0, 1}, IntVector{1, 2}}) {
      Line line;
      const int y = transposed(line, {1, 2}, stride, padding);
      expect_tier_0(*line.make({y}), with_nan(), false);
    }
  }
}

// Then nobody looks for a NaN among the results.
TEST(NeuralNetValues, of_transposed_convolutions_and_shuffles_that_leave_out_no_point) {
  for (const int64_t stride : {1, 2, 3}) {
    SCOPED_TRACE(stride);
    Line line;
    const int y = transposed(line, {2 * stride, stride}, stride, {0, 0});
    expect_tier_0(*line.make({y}), with_nan(), true);
  }
  Line line;
  const int y = line.convolution(0, numbers({12, 6, 1, 1}, 1), numbers({12}, 2), 1, 0, 1, 1);
  const auto net = line.make({line.add("aten::pixel_shuffle", {L::v(y), L::c(2)})});
  expect_tier_0(*net, with_nan(), true);
}

// At every level: oneDNN's code for one of them knows no number below the least finite one.
TEST(NeuralNetValues, of_windows_of_infinities) {
  Tensor lowest = numbers({2, 84, 9, 9}, 1);
  std::fill_n(lowest.data<float>(), lowest.numel() / 2 + 40, -kInfinity);
  const auto windows = [](int64_t kernel, int64_t stride, int64_t padding) -> Step {
    return {"aten::max_pool2d",
            {L::c(ints({kernel, kernel})), L::c(ints({stride, stride})),
             L::c(ints({padding, padding})), L::c(ints({1, 1})), L::c(true)}};
  };
  for (const kernels::InstructionSet most :
       {kernels::InstructionSet::kBase, kernels::InstructionSet::kAvx2,
        kernels::InstructionSet::kAvx512}) {
    kernels::limit_instruction_set(most);
    for (const auto& step : {windows(2, 2, 0), windows(3, 1, 1), windows(3, 2, 1)}) {
      Line line;
      expect_tier_0(*line.make({step_on(line, step, 0)}), lowest, false);
    }
  }
}

// A NaN that a worker meets, in a layer large enough to be shared.
TEST(NeuralNetValues, of_what_workers_do) {
  const ThreadCountScope threads(2);
  Line line;
  const int y = line.convolution(0, numbers({32, 32, 3, 3}, 1, 0.1F), numbers({32}, 2), 1, 1, 1, 1);
  const auto net = line.make({line.add("aten::relu", {L::v(y)})});
  const Tensor clean = numbers({4, 32, 40, 40}, 3);
  RunContext context;
  std::vector<IValue> one{clean};
  ASSERT_TRUE(net->prepare(one, 2)) << ::testing::PrintToString(net->notes());
  net->run(one, context);
  EXPECT_EQ(net->twin_calls(), 0);
  for (const int64_t image : {0, 3}) {
    const Tensor spoiled = numbers({4, 32, 40, 40}, 3);
    float& spot = spoiled.data<float>()[(image * 32 + 5) * 1600 + 777];
    spot = std::numeric_limits<float>::quiet_NaN();
    std::vector<IValue> other{spoiled};
    const Tensor result = net->run(other, context)[0].to_tensor();
    const auto* numbers = result.data<float>();
    EXPECT_EQ(std::count_if(numbers, numbers + result.numel(), [](float x) { return x != x; }),
              9 * 32)
        << "image " << image;
  }
  EXPECT_EQ(net->twin_calls(), 2);
  net->run(one, context);
  EXPECT_EQ(net->twin_calls(), 2) << "a NaN of an earlier call counts no more";
}

}  // namespace
}  // namespace tierup::ops
