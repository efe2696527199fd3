// Nets that read the same weights, as the steps of a loop that was written out do.
#include <gtest/gtest.h>

#include "tierup/kernels/shape/conversion.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;

class SharedWeights : public ::testing::Test {
 protected:
  // A product and a point-wise step, which tell the nets apart.
  Ref<NeuralNet> product(const Tensor& weight, double slope) const {
    Line line;
    const int y = line.add("aten::linear", {L::v(0), L::c(weight), L::c({})});
    const Ref<NeuralNet> net = line.make({line.add("aten::leaky_relu", {L::v(y), L::c(slope)})});
    EXPECT_TRUE(net->prepare(rows_, 1));
    return net;
  }
  // A convolution, and a normalisation that is folded into its weight.
  Ref<NeuralNet> convolution(const Tensor& weight, uint32_t seed) const {
    Line line;
    const int y = line.convolution(0, weight, numbers({64}, 2), 1, 1, 1, 1);
    const Tensor variance = numbers({64}, seed + 2);
    for (float& v : std::span(variance.data<float>(), 64)) v = 1 + v * v;
    const Ref<NeuralNet> net = line.make({line.add(
        "aten::batch_norm", {L::v(y), L::c(numbers({64}, seed)), L::c(numbers({64}, seed + 1)),
                             L::c(numbers({64}, seed + 3)), L::c(variance), L::c(false), L::c(0.1),
                             L::c(1e-5), L::c(false)})});
    EXPECT_TRUE(net->prepare(images_, 1));
    return net;
  }

  const std::vector<IValue> rows_{numbers({20, 256}, 1)};
  const std::vector<IValue> images_{numbers({1, 64, 12, 12}, 1)};
};

TEST_F(SharedWeights, ArePackedOnceForAll) {
  const Tensor weight = numbers({256, 256}, 3, 0.1F);
  const size_t alone = product(weight, 0.1)->held_bytes();
  const Ref<NeuralNet> first = product(weight, 0.1);
  const Ref<NeuralNet> second = product(weight, 0.3);
  EXPECT_LT(first->held_bytes() + second->held_bytes(), alone + weight.bytes() / 2);
  expect_same_thrice(*first, rows_);
  expect_same_thrice(*second, rows_);
}

TEST_F(SharedWeights, ArePackedAnewAfterTheyWereWritten) {
  const Tensor weight = numbers({256, 256}, 3, 0.1F);
  const Ref<NeuralNet> before = product(weight, 0.1);
  kernels::fill_(weight, Scalar(0.5));
  weight.storage()->bump_version();
  const Ref<NeuralNet> after = product(weight, 0.1);
  expect_same_thrice(*after, rows_);
}

TEST_F(SharedWeights, OfOneConvolutionAreNotThoseOfAnotherNormalisation) {
  const Tensor weight = numbers({64, 64, 3, 3}, 3, 0.1F);
  const Ref<NeuralNet> first = convolution(weight, 5);
  const Ref<NeuralNet> second = convolution(weight, 11);
  const Ref<NeuralNet> third = convolution(weight, 5);
  EXPECT_LT(third->held_bytes(), second->held_bytes());
  for (const Ref<NeuralNet>& net : {first, second, third}) {
    // A net that is wrong is made again, with other algorithms.
    for (const std::string& note : net->notes())
      EXPECT_EQ(note.find("differs from tier 0"), std::string::npos) << note;
    expect_same_thrice(*net, images_);
  }
}

}  // namespace
}  // namespace tierup::ops
