// Nets over other weights: what was compared with tier 0 for the older one is not compared again.
#include <gtest/gtest.h>

#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;

Ref<NeuralNet> two_layers(Line& line, uint32_t seed, double slope = 0.1) {
  const int y = line.add("aten::linear", {L::v(0), L::c(numbers({32, 24}, seed)), L::c({})});
  const int r = line.add("aten::leaky_relu", {L::v(y), L::c(slope)});
  return line.make(
      {line.add("aten::linear", {L::v(r), L::c(numbers({8, 32}, seed + 1)), L::c({})})});
}

std::optional<IValue> other_numbers(const IValue& constant) {
  if (!constant.is_tensor()) return constant;
  const IntSpan sizes = constant.to_tensor().sizes();
  return IValue(numbers(IntVector(sizes.begin(), sizes.end()), 11));
}

bool was_compared(const NeuralNet& net) {
  for (const std::string& note : net.notes()) {
    if (note.find("largest difference from tier 0") != std::string::npos) return true;
  }
  return false;
}

class OlderNet : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(older_->prepare(given_, 1)); }
  Ref<NeuralNet> prepared_like_older(Ref<NeuralNet> net) {
    EXPECT_TRUE(net->prepare(given_, 1, &*older_)) << ::testing::PrintToString(net->notes());
    return net;
  }

  std::vector<IValue> given_{numbers({5, 24}, 3)};
  Line line_;
  Ref<NeuralNet> older_ = two_layers(line_, 1);
};

TEST_F(OlderNet, spares_the_comparison_of_what_differs_in_weights_alone) {
  Line line;
  const Ref<NeuralNet> net = two_layers(line, 7);
  ASSERT_TRUE(net->differs_in_weights_alone(*older_));
  EXPECT_TRUE(was_compared(*older_));
  EXPECT_FALSE(was_compared(*prepared_like_older(net)));
  expect_same_thrice(*net, given_);
  // And hands it on.
  Line third;
  const Ref<NeuralNet> next = two_layers(third, 9);
  EXPECT_TRUE(next->prepare(given_, 1, &*net));
  EXPECT_FALSE(was_compared(*next));
}

TEST_F(OlderNet, says_nothing_of_other_numbers_or_operators) {
  Line steeper;
  EXPECT_FALSE(two_layers(steeper, 1, 0.2)->differs_in_weights_alone(*older_));
  Line shorter;
  const int y = shorter.add("aten::linear", {L::v(0), L::c(numbers({32, 24}, 1)), L::c({})});
  EXPECT_FALSE(shorter.make({y})->differs_in_weights_alone(*older_));
  Line wider;
  const int z = wider.add("aten::linear", {L::v(0), L::c(numbers({33, 24}, 1)), L::c({})});
  const int r = wider.add("aten::leaky_relu", {L::v(z), L::c(0.1)});
  const Ref<NeuralNet> other =
      wider.make({wider.add("aten::linear", {L::v(r), L::c(numbers({8, 33}, 2)), L::c({})})});
  EXPECT_FALSE(other->differs_in_weights_alone(*older_));
}

TEST_F(OlderNet, says_nothing_of_sizes_that_it_was_not_compared_for) {
  Line line;
  const Ref<NeuralNet> net = two_layers(line, 7);
  given_ = {numbers({6, 24}, 3)};
  EXPECT_TRUE(was_compared(*prepared_like_older(net)));
}

// A weight of one number may decide what is compiled.
TEST_F(OlderNet, says_nothing_where_a_single_number_differs) {
  const auto scaled = [](Line& line, float factor) {
    const Tensor one = numbers({1}, 1);
    one.data<float>()[0] = factor;
    const int y = line.add("aten::linear", {L::v(0), L::c(numbers({32, 24}, 1)), L::c({})});
    return line.make({line.add("aten::mul.Tensor", {L::v(y), L::c(one)})});
  };
  Line first;
  Line second;
  EXPECT_FALSE(scaled(first, 2)->differs_in_weights_alone(*scaled(second, 3)));
}

// Each would need a compile job of its own, beside the calls that a swap of weights comes between.
TEST_F(OlderNet, hands_on_the_sizes_that_calls_came_with) {
  const std::vector<IValue> others{numbers({6, 24}, 3)};
  const ThreadCountScope one_thread(1);
  RunContext context;
  for (int call = 0; call < 3; ++call) {
    std::vector<IValue> inputs = others;
    older_->run(inputs, context);
  }
  const Ref<NeuralNet> net = older_->over(other_numbers);
  ASSERT_TRUE(net);
  EXPECT_FALSE(was_compared(*net));
  for (const std::vector<IValue>& sizes : {given_, others}) {
    std::vector<IValue> inputs = sizes;
    net->run(inputs, context);
  }
  EXPECT_EQ(net->twin_calls(), 0);
}

// Whose transforms are the same for all weights: each swap would run tier 0 beside calls.
TEST_F(OlderNet, spares_the_comparison_of_Winograd_convolutions) {
  Line line;
  const int y = line.convolution(0, numbers({64, 64, 3, 3}, 1), numbers({64}, 2), 1, 1, 1, 1);
  const Ref<NeuralNet> older = line.make({y});
  const std::vector<IValue> images{numbers({1, 64, 28, 28}, 3)};
  ASSERT_TRUE(older->prepare(images, 1));
  const Ref<NeuralNet> net = older->over(other_numbers);
  ASSERT_TRUE(net);
  EXPECT_FALSE(was_compared(*net));
  const ThreadCountScope one_thread(1);
  RunContext context;
  std::vector<IValue> inputs = images;
  net->run(inputs, context);
  EXPECT_EQ(net->twin_calls(), 0);
}

}  // namespace
}  // namespace tierup::ops
