// Attention written out as operators, which nets make one layer of, and the gates of convolutions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;

int64_t attentions(Line& line, int output, const std::vector<IValue>& inputs) {
  net::LayerNet layers = net::resolve(line.program({output}), inputs);
  net::recognize(layers);
  return std::count_if(layers.layers.begin(), layers.layers.end(), [](const net::Layer& layer) {
    return layer.kind == net::LayerKind::kAttention;
  });
}

void expect_one_attention(Line& line, int output, const std::vector<IValue>& inputs) {
  EXPECT_EQ(attentions(line, output, inputs), 1);
  const Ref<NeuralNet> object = line.make({output});
  expect_same_thrice(*object, inputs);
}

Tensor hides_some(IntVector sizes) {
  const Tensor mask = Tensor::empty(sizes, ScalarType::kBool);
  for (int64_t i = 0; i < mask.numel(); ++i) mask.data<bool>()[i] = i % 3 == 1;
  return mask;
}

int softmax_of(Line& line, int scores) {
  return line.add("aten::softmax.int", {L::v(scores), L::c(-1), L::c({})});
}

TEST(NeuralNetAttention, OfThreeDimensionsWithAMaskThatIsFilledIn) {
  for (const double fill : {-1e9, -2.0, -std::numeric_limits<double>::infinity()}) {
    Line line;
    const int k = line.input();
    const int v = line.input();
    const int mask = line.input();
    const int turned = line.add("aten::transpose.int", {L::v(k), L::c(1), L::c(2)});
    const int product = line.add("aten::bmm", {L::v(0), L::v(turned)});
    const int scaled = line.add("aten::div.Scalar", {L::v(product), L::c(2.5)});
    const int filled = line.add("aten::masked_fill.Scalar", {L::v(scaled), L::v(mask), L::c(fill)});
    const int out = line.add("aten::bmm", {L::v(softmax_of(line, filled)), L::v(v)});
    expect_one_attention(line, out,
                         {numbers({6, 19, 8}, 1), numbers({6, 23, 8}, 2), numbers({6, 23, 5}, 3),
                          hides_some({6, 19, 23})});
  }
}

TEST(NeuralNetAttention, WithABiasThatIsAddedBeforeTheScale) {
  Line line;
  const int k = line.input();
  const int v = line.input();
  const int bias = line.input();
  const int query = line.add("aten::permute", {L::v(0), L::c(ints({0, 2, 1, 3}))});
  const int turned = line.add("aten::permute", {L::v(k), L::c(ints({0, 2, 3, 1}))});
  const int value = line.add("aten::permute", {L::v(v), L::c(ints({0, 2, 1, 3}))});
  const int product = line.add("aten::matmul", {L::v(query), L::v(turned)});
  const int sum = line.add("aten::add.Tensor", {L::v(bias), L::v(product), L::c(1)});
  const int scaled = line.add("aten::mul.Scalar", {L::v(sum), L::c(0.4)});
  const int out = line.add("aten::matmul", {L::v(softmax_of(line, scaled)), L::v(value)});
  expect_one_attention(line, out,
                       {numbers({2, 17, 5, 12}, 1), numbers({2, 17, 5, 12}, 2),
                        numbers({2, 17, 5, 12}, 3), numbers({2, 5, 17, 17}, 4)});
}

TEST(NeuralNetAttention, WhoseHeadsAreJoinedForTheProducts) {
  Line line;
  const int turned = line.input();
  const int v = line.input();
  const int mask = line.input();
  const int product = line.add("aten::bmm", {L::v(0), L::v(turned)});
  const int parted = line.add("aten::view", {L::v(product), L::c(ints({2, 3, 7, 9}))});
  const int sum = line.add("aten::add.Tensor", {L::v(parted), L::v(mask), L::c(1)});
  const int joined = line.add("aten::view", {L::v(softmax_of(line, sum)), L::c(ints({6, 7, 9}))});
  const int out = line.add("aten::bmm", {L::v(joined), L::v(v)});
  expect_one_attention(line, out,
                       {numbers({6, 7, 8}, 1), numbers({6, 8, 9}, 2), numbers({6, 9, 4}, 3),
                        numbers({2, 1, 1, 9}, 4)});
}

// softmax of what `meet` makes of scaled products [2, 3, 19, 21], times the values.
template <typename Meet>
void expect_attention_with_masks(const IntVector& batch, const Meet& meet,
                                 std::vector<IValue> masks) {
  IntVector rows = batch;
  rows.insert(rows.end(), {19, 8});
  IntVector turned = batch;
  turned.insert(turned.end(), {8, 21});
  IntVector values = batch;
  values.insert(values.end(), {21, 5});
  Line line;
  const int k = line.input();
  const int v = line.input();
  const int first = line.input();
  const int second = line.input();
  const int product = line.add("aten::matmul", {L::v(0), L::v(k)});
  const int met =
      meet(line, line.add("aten::div.Scalar", {L::v(product), L::c(2.5)}), first, second);
  const int out = line.add("aten::matmul", {L::v(softmax_of(line, met)), L::v(v)});
  std::vector<IValue> inputs{numbers(rows, 1), numbers(turned, 2), numbers(values, 3)};
  inputs.insert(inputs.end(), masks.begin(), masks.end());
  expect_one_attention(line, out, inputs);
}
int sum_of(Line& line, int a, int b) {
  return line.add("aten::add.Tensor", {L::v(a), L::v(b), L::c(1)});
}
constexpr double kLowest = -std::numeric_limits<double>::infinity();
int filled(Line& line, int scores, int mask, double fill = kLowest) {
  return line.add("aten::masked_fill.Scalar", {L::v(scores), L::v(mask), L::c(fill)});
}

// A bias of positions, and what hides later keys: whole squares of it hide all or nothing.
TEST(NeuralNetAttention, WithABiasAndAMaskThatIsFilledIn) {
  const Tensor later = Tensor::empty(IntVector{19, 21}, ScalarType::kBool);
  for (int64_t i = 0; i < later.numel(); ++i) later.data<bool>()[i] = i % 21 > i / 21;
  for (const Tensor& mask : {later, hides_some({19, 21}), hides_some({2, 1, 1, 21})}) {
    expect_attention_with_masks({2, 3},
                                [](Line& line, int scores, int bias, int mask_input) {
                                  return filled(line, sum_of(line, scores, bias), mask_input);
                                },
                                {numbers({3, 19, 21}, 4), mask});
  }
}

TEST(NeuralNetAttention, WithMasksInTheOrderInWhichTheyStand) {
  const auto scaled = [](Line& line, int scores) {
    return line.add("aten::mul.Scalar", {L::v(scores), L::c(0.5)});
  };
  expect_attention_with_masks(
      {2, 3},
      [&](Line& line, int scores, int mask, int bias) {
        return scaled(line, sum_of(line, bias, scaled(line, filled(line, scores, mask, 1.5))));
      },
      {hides_some({19, 21}), numbers({3, 19, 21}, 4)});
  expect_attention_with_masks({2, 3},
                              [&](Line& line, int scores, int bias, int mask) {
                                return sum_of(line, scaled(line, sum_of(line, scores, bias)), mask);
                              },
                              {numbers({3, 19, 21}, 4), numbers({2, 1, 19, 21}, 5)});
}

// Windows of images: each has a mask of its own, which all images share.
TEST(NeuralNetAttention, WithMasksOfWindows) {
  for (const int64_t images : {1, 2}) {
    const IntVector apart{images, 2, 3, 19, 21};
    expect_attention_with_masks(
        {images * 2, 3},
        [&](Line& line, int scores, int bias, int mask) {
          const int biased = sum_of(line, scores, bias);
          const int by_window = line.add("aten::view", {L::v(biased), L::c(ints(apart))});
          const int met = sum_of(line, by_window, mask);
          return line.add("aten::view", {L::v(met), L::c(ints({images * 2, 3, 19, 21}))});
        },
        {numbers({3, 19, 21}, 4), numbers({1, 2, 1, 19, 21}, 5)});
  }
}

// What a fill hides may be no number.
TEST(NeuralNetAttention, AFillHidesNumbersThatAreNone) {
  Line line;
  const int turned = line.input();
  const int v = line.input();
  const int bias = line.input();
  const int mask = line.input();
  const int product = line.add("aten::bmm", {L::v(0), L::v(turned)});
  const int met = filled(line, sum_of(line, product, bias), mask);
  const int out = line.add("aten::bmm", {L::v(softmax_of(line, met)), L::v(v)});
  const Tensor holes = numbers({1, 20, 9}, 4);
  const Tensor hidden = hides_some({1, 20, 9});
  for (int64_t i = 0; i < holes.numel(); ++i) {
    if (hidden.data<bool>()[i]) holes.data<float>()[i] = std::nanf("");
  }
  expect_one_attention(
      line, out,
      {numbers({1, 20, 8}, 1), numbers({1, 8, 9}, 2), numbers({1, 9, 4}, 3), holes, hidden});
}

TEST(NeuralNetAttention, IsNotWhereSomethingElseReadsTheWeights) {
  Line line;
  const int turned = line.input();
  const int v = line.input();
  const int product = line.add("aten::bmm", {L::v(0), L::v(turned)});
  const int weights = softmax_of(line, product);
  const int mixed = line.add("aten::bmm", {L::v(weights), L::v(v)});
  const int total =
      line.add("aten::mean.dim", {L::v(weights), L::c(ints({-1})), L::c(true), L::c({})});
  const int out = line.add("aten::add.Tensor", {L::v(mixed), L::v(total), L::c(1)});
  const std::vector<IValue> inputs{numbers({6, 7, 8}, 1), numbers({6, 8, 9}, 2),
                                   numbers({6, 9, 4}, 3)};
  EXPECT_EQ(attentions(line, out, inputs), 0);
  expect_same_thrice(*line.make({out}), inputs);
}

TEST(NeuralNetAttention, AQueryThatSeesNothingGivesWhatTheOperatorsGive) {
  Line line;
  const int turned = line.input();
  const int v = line.input();
  const int mask = line.input();
  const int product = line.add("aten::bmm", {L::v(0), L::v(turned)});
  const int sum = line.add("aten::add.Tensor", {L::v(product), L::v(mask), L::c(1)});
  const int out = line.add("aten::bmm", {L::v(softmax_of(line, sum)), L::v(v)});
  const Ref<NeuralNet> object = line.make({out});
  const Tensor hidden = numbers({1, 20, 9}, 4);
  std::fill_n(hidden.data<float>(), 9, -std::numeric_limits<float>::infinity());
  std::vector<IValue> inputs{numbers({1, 20, 8}, 1), numbers({1, 8, 9}, 2), numbers({1, 9, 4}, 3),
                             hidden};
  RunContext context;
  for (int i = 0; i < 3; ++i) {
    const Tensor result = object->run(inputs, context)[0].to_tensor();
    EXPECT_TRUE(std::isnan(result.data<float>()[0])) << i;
    EXPECT_FALSE(std::isnan(result.data<float>()[4])) << i;
  }
}

TEST(NeuralNetAttention, QueriesKeysAndValuesMayBeEntriesOfOneProduct) {
  Line line;
  const int packed =
      line.add("aten::linear", {L::v(0), L::c(numbers({36, 12}, 5)), L::c(numbers({36}, 6))});
  const int parts =
      line.add("aten::unflatten.int", {L::v(packed), L::c(2), L::c(ints({3, -1, 6}))});
  const int ordered = line.add("aten::permute", {L::v(parts), L::c(ints({2, 0, 3, 1, 4}))});
  const int q = line.add("aten::unbind.int", {L::v(ordered), L::c(0)}, 3);
  const int last = line.add("aten::select.int", {L::v(ordered), L::c(0), L::c(-1)});
  const int mixed = line.add(
      "aten::scaled_dot_product_attention",
      {L::v(q), L::v(q + 1), L::v(last), L::c({}), L::c(0.0), L::c(false), L::c({}), L::c(false)});
  const int rows = line.add("aten::transpose.int", {L::v(mixed), L::c(1), L::c(2)});
  const int joined = line.add("aten::flatten.using_ints", {L::v(rows), L::c(2), L::c(3)});
  const int out = line.add("aten::linear", {L::v(joined), L::c(numbers({12, 12}, 7)), L::c({})});
  expect_one_attention(line, out, {numbers({2, 21, 12}, 1)});
}

// [2, 2, 9, 8] to [2, 6, 9, 8].
int repeated(Line& line, int value) {
  const int apart = line.add("aten::unsqueeze", {L::v(value), L::c(2)});
  const int all = line.add("aten::expand", {L::v(apart), L::c(ints({2, 2, 3, 9, 8})), L::c(false)});
  return line.add("aten::reshape", {L::v(all), L::c(ints({2, 6, 9, 8}))});
}

TEST(NeuralNetAttention, HeadsThatShareKeysReadThemWhereTheyAre) {
  for (const bool is_written_out : {false, true}) {
    SCOPED_TRACE(is_written_out);
    Line line;
    const int k = line.input();
    const int v = line.input();
    const int keys = repeated(line, k);
    const int values = repeated(line, v);
    int out = 0;
    if (is_written_out) {
      const int turned = line.add("aten::transpose.int", {L::v(keys), L::c(2), L::c(3)});
      const int product = line.add("aten::matmul", {L::v(0), L::v(turned)});
      out = line.add("aten::matmul", {L::v(softmax_of(line, product)), L::v(values)});
    } else {
      out = line.add("aten::scaled_dot_product_attention",
                     {L::v(0), L::v(keys), L::v(values), L::c({}), L::c(0.0), L::c(true), L::c({}),
                      L::c(false)});
    }
    const std::vector<IValue> inputs{numbers({2, 6, 9, 8}, 1), numbers({2, 2, 9, 8}, 2),
                                     numbers({2, 2, 9, 8}, 3)};
    net::LayerNet layers = net::resolve(line.program({out}), inputs);
    net::recognize(layers);
    for (const net::Layer& layer : layers.layers) EXPECT_NE(layer.kind, net::LayerKind::kRepeat);
    expect_one_attention(line, out, inputs);
  }
}

// Products broadcast the one head of keys and values.
TEST(NeuralNetAttention, OneHeadOfKeysServesAllQueries) {
  Line line;
  const int k = line.input();
  const int v = line.input();
  const int bias = line.input();
  const int turned = line.add("aten::transpose.int", {L::v(k), L::c(-1), L::c(-2)});
  const int product = line.add("aten::matmul", {L::v(0), L::v(turned)});
  const int scaled = line.add("aten::mul.Scalar", {L::v(product), L::c(0.35)});
  const int sum = line.add("aten::add.Tensor", {L::v(scaled), L::v(bias), L::c(1)});
  const int out = line.add("aten::matmul", {L::v(softmax_of(line, sum)), L::v(v)});
  const std::vector<IValue> inputs{numbers({2, 6, 21, 8}, 1), numbers({2, 1, 21, 8}, 2),
                                   numbers({2, 1, 21, 8}, 3), numbers({6, 21, 21}, 4)};
  net::LayerNet layers = net::resolve(line.program({out}), inputs);
  net::recognize(layers);
  for (const net::Layer& layer : layers.layers) EXPECT_NE(layer.kind, net::LayerKind::kRepeat);
  expect_one_attention(line, out, inputs);
}

TEST(NeuralNetAttention, HeadsMayBeGrouped) {
  Line line;
  const int k = line.input();
  const int v = line.input();
  const int out =
      line.add("aten::scaled_dot_product_attention",
               {L::v(0), L::v(k), L::v(v), L::c({}), L::c(0.0), L::c(false), L::c({}), L::c(true)});
  expect_one_attention(
      line, out, {numbers({2, 6, 3, 8}, 1), numbers({2, 2, 9, 8}, 2), numbers({2, 2, 9, 5}, 3)});
}

TEST(NeuralNet, GatesOfConvolutionsAndOfRows) {
  Line line;
  const Tensor weight = numbers({32, 16, 1}, 1);
  const int wide =
      line.add("aten::conv1d", {L::v(0), L::c(weight), L::c(numbers({32}, 2)), L::c(ints({1})),
                                L::c(ints({0})), L::c(ints({1})), L::c(1)});
  const int gated = line.add("aten::glu", {L::v(wide), L::c(1)});
  const int rows = line.add("aten::transpose.int", {L::v(gated), L::c(1), L::c(2)});
  const int out = line.add("aten::glu", {L::v(rows), L::c(-1)});
  const Ref<NeuralNet> object = line.make({out});
  expect_same_thrice(*object, numbers({3, 16, 41}, 3));
}

}  // namespace
}  // namespace tierup::ops
