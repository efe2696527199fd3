// Nets over a batch by pieces: which are cut, and that pieces make what the whole makes.
#include <gtest/gtest.h>

#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;

constexpr int64_t kEntries = 6;

class NetOfPieces : public ::testing::Test {
 protected:
  // A convolution with enough to do for two threads, of the batch [6, 3, 40, 40].
  static Tensor images() { return numbers({kEntries, 3, 40, 40}, 5); }
  static int convolution(Line& line) {
    return line.convolution(0, numbers({16, 3, 3, 3}, 1, 0.3F), numbers({16}, 2), 1, 1, 1, 1);
  }
  // Rows [6, 50, 64] through a product with enough to do.
  static Tensor rows() { return numbers({kEntries, 50, 64}, 7); }
  static int product(Line& line, int input = 0) {
    return line.add("aten::linear",
                    {L::v(input), L::c(numbers({64, 64}, 3, 0.1F)), L::c(numbers({64}, 4))});
  }
  static int turned(Line& line, int input) {
    return line.add("aten::transpose.int", {L::v(input), L::c(0), L::c(1)});
  }

  static bool is_cut(Line& line, std::vector<int> outputs, std::vector<IValue> inputs) {
    const auto weights = net::make_weight_store();
    net::CompileOptions options;
    options.threads = 2;
    const net::Program& program = line.program(std::move(outputs));
    return net::compile_net(program, inputs, options, weights)->pieces() > 1;
  }
  // By pieces, with tier 0's results and strides.
  static void expect_cut(Line& line, const std::vector<int>& outputs, std::vector<IValue> inputs) {
    EXPECT_TRUE(is_cut(line, outputs, inputs));
    expect_same_thrice(*line.make(outputs), std::move(inputs));
  }
  static void expect_whole(Line& line, const std::vector<int>& outputs,
                           std::vector<IValue> inputs) {
    EXPECT_FALSE(is_cut(line, outputs, inputs));
    expect_same_thrice(*line.make(outputs), std::move(inputs));
  }

  const ThreadCountScope threads_{2};
};

TEST_F(NetOfPieces, GivesEachEntryWhatTheWholeGivesIt) {
  Line line;
  const int y = line.add("aten::relu", {L::v(convolution(line))});
  const int z = line.add("aten::max_pool2d", {L::v(y), L::c(ints({2, 2})), L::c(ints({2, 2})),
                                              L::c(ints({0, 0})), L::c(ints({1, 1})), L::c(false)});
  const int flat = line.add("aten::flatten.using_ints", {L::v(z), L::c(1), L::c(-1)});
  expect_cut(line, {y, flat}, {images()});
}

TEST_F(NetOfPieces, TakesInputsThatDoNotLieInOrder) {
  Line line;
  const int y = line.add("aten::relu", {L::v(convolution(line))});
  const Tensor turned = numbers({40, kEntries, 3, 40}, 5);
  const Tensor images =
      turned.as_view(IntVector{kEntries, 3, 40, 40}, IntVector{120, 40, kEntries * 120, 1}, 0);
  expect_cut(line, {y}, {images});
  const Tensor one = numbers({1, 3, 40, 40}, 5);
  const Tensor repeated = one.as_view(images.sizes(), IntVector{0, 1600, 40, 1}, 0);
  expect_cut(line, {y}, {repeated});
}

TEST_F(NetOfPieces, MeetsAConstantThatAllEntriesShare) {
  Line line;
  const int y = product(line);
  const int z = line.add("aten::add.Tensor", {L::v(y), L::c(numbers({50, 64}, 9)), L::c(1)});
  const int n = line.add("aten::layer_norm", {L::v(z), L::c(ints({64})), L::c(numbers({64}, 8)),
                                              L::c(numbers({64}, 9)), L::c(1e-5), L::c(true)});
  expect_cut(line, {n}, {rows()});
}

TEST_F(NetOfPieces, IsNotMadeWhereAConstantHasANumberForEachEntry) {
  Line line;
  const Tensor each = numbers({kEntries, 50, 64}, 9);
  const int y = line.add("aten::add.Tensor", {L::v(product(line)), L::c(each), L::c(1)});
  expect_whole(line, {y}, {rows()});
}

TEST_F(NetOfPieces, IsNotMadeWhereEntriesMeet) {
  Line line;  // softmax over the batch.
  const int y = line.add("aten::flatten.using_ints", {L::v(product(line)), L::c(1), L::c(-1)});
  const int z = line.add("aten::softmax.int", {L::v(turned(line, y)), L::c(-1), L::c(IValue())});
  expect_whole(line, {turned(line, z)}, {rows()});
  Line cut;  // The first half of them.
  const int h = cut.add("aten::slice.Tensor",
                        {L::v(product(cut)), L::c(0), L::c(0), L::c(kEntries / 2), L::c(1)});
  EXPECT_FALSE(is_cut(cut, {cut.add("aten::relu", {L::v(h)})}, {rows()}));
}

TEST_F(NetOfPieces, IsNotMadeWhereResultsHaveTheBatchFurtherBack) {
  Line line;
  expect_whole(line, {turned(line, product(line))}, {rows()});
}

TEST_F(NetOfPieces, FollowsTheBatchThroughDimensionsThatChangePlaces) {
  Line line;  // As attention goes with the sequence first: [6, 50, 64] to [300, 64] and back.
  const int y = turned(line, product(line));
  const int rows_of_all = line.add("aten::view", {L::v(y), L::c(ints({-1, 64}))});
  const int z = line.add("aten::relu", {L::v(product(line, rows_of_all))});
  const int back = line.add("aten::view", {L::v(z), L::c(ints({50, -1, 64}))});
  const int made = line.add("aten::contiguous", {L::v(turned(line, back)), L::c(0)});
  EXPECT_TRUE(is_cut(line, {made}, {rows()}));
}

TEST_F(NetOfPieces, SeesThatANumberIsTheBatchsSize) {
  Line line;
  const int sizes = line.input();
  const int y = line.add("aten::view", {L::v(product(line)), L::v(sizes)});
  expect_cut(line, {y}, {rows(), ints({kEntries, 3200})});
}

TEST_F(NetOfPieces, MasksBelongToTheirEntries) {
  Line line;
  const int mask = line.input();
  const int heads =
      line.add("aten::unflatten.int", {L::v(product(line)), L::c(-1), L::c(ints({4, 16}))});
  const int q = line.add("aten::transpose.int", {L::v(heads), L::c(1), L::c(2)});
  const int a = line.add(
      "aten::scaled_dot_product_attention",
      {L::v(q), L::v(q), L::v(q), L::v(mask), L::c(0.0), L::c(false), L::c(IValue()), L::c(false)});
  Tensor hides = Tensor::empty(IntVector{kEntries, 1, 50, 50}, ScalarType::kBool);
  for (int64_t i = 0; i < hides.numel(); ++i)
    hides.data<bool>()[i] = i % 50 <= i / 2500 * 7;  // Entry by entry more of the keys.
  expect_cut(line, {a}, {rows(), hides});
}

TEST_F(NetOfPieces, LeavesACallToTheTwinForANaNInAnyEntry) {
  Line line;
  const Ref<NeuralNet> net = line.make({line.add("aten::relu", {L::v(convolution(line))})});
  RunContext context;
  Tensor given = images();
  std::vector<IValue> inputs{given};
  ASSERT_TRUE(net->prepare(inputs, 2));
  static_cast<void>(net->run(inputs, context));
  ASSERT_EQ(net->twin_calls(), 0);
  given.data<float>()[given.numel() - 1] = std::numeric_limits<float>::quiet_NaN();
  static_cast<void>(net->run(inputs, context));
  EXPECT_EQ(net->twin_calls(), 1);
}

TEST_F(NetOfPieces, IsMadeAgainForOtherWeights) {
  const auto twice = [](const IValue& constant) -> std::optional<IValue> {
    if (!constant.is_tensor()) return constant;
    const Tensor tensor = constant.to_tensor();
    const Tensor other = Tensor::empty(tensor.sizes(), ScalarType::kFloat);
    for (int64_t i = 0; i < tensor.numel(); ++i)
      other.data<float>()[i] = 2 * tensor.data<float>()[i];
    return IValue(other);
  };
  Line line;
  const Ref<NeuralNet> older = line.make({product(line)});
  std::vector<IValue> inputs{rows()};
  ASSERT_TRUE(older->prepare(inputs, 2));
  const Ref<NeuralNet> net = older->over(twice);
  ASSERT_NE(net, nullptr);
  RunContext context;
  Tensor wanted = older->run(inputs, context)[0].to_tensor();
  for (int64_t i = 0; i < wanted.numel(); ++i) wanted.data<float>()[i] *= 2;
  expect_close(wanted, net->run(inputs, context)[0]);
  EXPECT_EQ(net->twin_calls(), 0);
  EXPECT_EQ(net->notes().back(), older->notes()[older->notes().size() - 2]);  // "in pieces"
}

TEST_F(NetOfPieces, IsNotMadeForBatchesThatThreadsDoNotShareEvenly) {
  Line line;
  const std::vector<int> outputs{convolution(line)};
  EXPECT_FALSE(is_cut(line, outputs, {numbers({5, 3, 40, 40}, 5)}));
  EXPECT_FALSE(is_cut(line, outputs, {numbers({1, 3, 40, 40}, 5)}));
  EXPECT_TRUE(is_cut(line, outputs, {numbers({2, 3, 40, 40}, 5)}));
}

}  // namespace
}  // namespace tierup::ops
