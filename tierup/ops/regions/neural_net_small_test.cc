// Small and broadcast work in a net, which own loops do where oneDNN's calls or its reference code
// would take longer: against the twin.
#include <gtest/gtest.h>

#include "tierup/base/parallel.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;

int linear(Line& line, int input, int64_t in, int64_t out, uint32_t seed) {
  return line.add("aten::linear", {L::v(input), L::c(numbers({out, in}, seed, 0.3F)),
                                   L::c(numbers({out}, seed + 1))});
}

// One half of the channels gates the other, in rows and with channels inside (WaveNet).
TEST(NeuralNet, halves_gate_each_other) {
  for (const int64_t columns : {8, 48}) {
    SCOPED_TRACE(columns);
    Line line;
    const int y = linear(line, 0, 12, 2 * columns, 1);
    const int a = line.add("aten::chunk", {L::v(y), L::c(2), L::c(-1)}, 2);
    const int t = line.add("aten::tanh", {L::v(a)});
    const int g = line.add("aten::mul.Tensor", {L::v(t), L::v(a + 1)});
    expect_same_thrice(*line.make({linear(line, g, columns, 7, 3)}), numbers({2, 5, 12}, 8));
  }
  Line line;
  const int y = line.convolution(0, numbers({16, 8, 3, 3}, 1), numbers({16}, 2), 1, 1, 1, 1);
  const int a = line.add("aten::chunk", {L::v(y), L::c(2), L::c(1)}, 2);
  const int t = line.add("aten::tanh", {L::v(a)});
  const int s = line.add("aten::sigmoid", {L::v(a + 1)});
  const int g = line.add("aten::mul.Tensor", {L::v(t), L::v(s)});
  const auto object = line.make({g, line.add("aten::add.Tensor", {L::v(g), L::v(a), L::c(1)})});
  expect_same_thrice(*object, numbers({2, 8, 6, 5}, 8));
}

// Several constant matrices, one for each entry, as an einsum over a window's lines gives.
TEST(NeuralNet, entries_are_multiplied_by_constant_matrices) {
  for (const int64_t entries : {1, 3}) {
    SCOPED_TRACE(entries);
    Line line;
    const int y = linear(line, 0, 8, 6, 1);
    const int z = line.add("aten::matmul", {L::v(y), L::c(numbers({entries, 6, 5}, 3, 0.3F))});
    const auto object = line.make({line.add("aten::relu", {L::v(z)})});
    expect_same_thrice(*object, numbers({3, 4, 8}, 8));
    EXPECT_TRUE(object->refusals().empty());
  }
}

// Heads that lie inside the positions, times one factor for all heads, or for each head.
TEST(NeuralNet, heads_are_rotated_and_scaled) {
  for (const IntVector& factors : {IntVector{1, 1, 7, 6}, IntVector{2, 4, 7, 1}, IntVector{7, 1},
                                   IntVector{6}, IntVector{2, 1, 1, 6}}) {
    SCOPED_TRACE(shape_string(factors));
    Line line;
    const int factor = line.input();
    const int y = linear(line, 0, 24, 24, 1);
    const int h = line.add("aten::view", {L::v(y), L::c(ints({2, -1, 4, 6}))});
    const int t = line.add("aten::transpose.int", {L::v(h), L::c(1), L::c(2)});
    const int m = line.add("aten::mul.Tensor", {L::v(t), L::v(factor)});
    const int p = line.add("aten::add.Tensor", {L::v(m), L::v(factor), L::c(1)});
    expect_same_thrice(*line.make({p}), {numbers({2, 7, 24}, 8), numbers(factors, 3)});
  }
}

// One position, as a decoder's steps have: halves of heads, of which a dimension of one entry
// stands between those of more.
TEST(NeuralNet, halves_of_heads_of_one_position_are_scaled) {
  for (const int64_t positions : {1, 3}) {
    Line line;
    const int factor = line.input();
    const int y = linear(line, 0, 128, 128, 1);
    const int h = line.add("aten::view", {L::v(y), L::c(ints({1, positions, 2, 64}))});
    const int t = line.add("aten::transpose.int", {L::v(h), L::c(1), L::c(2)});
    const int half = line.add("aten::chunk", {L::v(t), L::c(2), L::c(-1)}, 2);
    const int a = line.add("aten::mul.Tensor", {L::v(half), L::v(factor)});
    const int b = line.add("aten::add.Tensor", {L::v(half + 1), L::v(factor), L::c(1)});
    expect_same_thrice(*line.make({a, b}), {numbers({1, positions, 128}, 8), numbers({32}, 3)});
  }
}

TEST(NeuralNet, groups_of_a_matrix_are_normalized) {
  Line line;
  const int y = linear(line, 0, 24, 24, 1);
  const int n = line.add("aten::group_norm", {L::v(y), L::c(4), L::c(numbers({24}, 2)),
                                              L::c(numbers({24}, 3)), L::c(1e-5), L::c(true)});
  expect_same_thrice(*line.make({linear(line, n, 24, 8, 5)}), numbers({7, 24}, 8));
}

// Norms whose factors are rows of one parameter.
TEST(NeuralNet, rows_of_a_constant_are_constants) {
  const Tensor rows = numbers({3, 24}, 4);
  Line line;
  const int y = linear(line, 0, 24, 24, 1);
  const int row = line.add("aten::select.int", {L::c(rows), L::c(0), L::c(-1)});
  const int m = line.add("aten::mul.Tensor", {L::v(y), L::v(row)});
  expect_same_thrice(*line.make({linear(line, m, 24, 8, 5)}), numbers({2, 7, 24}, 8));
}

// A loop written out: each product reads the same matrix, which is packed once.
TEST(NeuralNet, products_of_one_matrix_share_its_packed_form) {
  const Tensor matrix = numbers({256, 256}, 1, 0.1F);
  const Tensor other = numbers({256, 256}, 2, 0.1F);
  const auto held_by = [&](const Tensor& second) {
    Line line;
    const int y = line.add("aten::linear", {L::v(0), L::c(matrix), L::c({})});
    const int t = line.add("aten::tanh", {L::v(y)});
    const auto object = line.make({line.add("aten::linear", {L::v(t), L::c(second), L::c({})})});
    expect_same_thrice(*object, numbers({1, 256}, 8));
    return static_cast<double>(object->held_bytes());
  };
  EXPECT_NEAR(held_by(other), 2 * held_by(matrix), 16384);
}

// A decoder's step over weights that no cache holds: memory has them once. Many rows pack them.
TEST(NeuralNet, few_rows_read_weights_that_stay_in_no_cache_where_they_lie) {
  constexpr int64_t kWidth = 1472;  // 17 MB both matrices.
  Line line;
  const int y = line.add("aten::linear", {L::v(0), L::c(numbers({kWidth, kWidth}, 1, 0.02F)),
                                          L::c(numbers({kWidth}, 2))});
  const int t = line.add("aten::gelu", {L::v(y), L::c("none")});
  const int s = line.add("aten::add.Tensor", {L::v(t), L::v(0), L::c(1)});
  const int z = line.add("aten::matmul", {L::v(s), L::c(numbers({kWidth, kWidth}, 3, 0.02F))});
  const auto object = line.make({z, s});
  constexpr size_t kMatrix = kWidth * kWidth * sizeof(float);
  expect_same_thrice(*object, numbers({1, kWidth}, 8));
  EXPECT_LT(object->held_bytes(), size_t{1} << 20);
  expect_same_thrice(*object,
                     numbers({3, kWidth}, 9));  // The matrix that lies row by row is packed.
  EXPECT_LT(object->held_bytes(), kMatrix * 3 / 2);
  expect_same_thrice(*object, numbers({17, kWidth}, 9));
  EXPECT_GT(object->held_bytes(), 2 * kMatrix);
  expect_same_thrice(*object, numbers({1, 1, kWidth}, 10));
}

// A factor for each position, as root mean square norms have.
TEST(NeuralNet, positions_are_scaled) {
  Line line;
  const int factor = line.input();
  const int y = linear(line, 0, 24, 40, 1);
  const int m = line.add("aten::mul.Tensor", {L::v(y), L::v(factor)});
  expect_same_thrice(*line.make({linear(line, m, 40, 3, 5)}),
                     {numbers({2, 7, 24}, 8), numbers({2, 7, 1}, 3)});
}

// Of lower rank, but as large as the whole.
TEST(NeuralNet, embedded_positions_are_added) {
  Line line;
  const int positions = line.input();
  const int y =
      line.add("aten::conv1d", {L::v(0), L::c(numbers({24, 5, 3}, 1)), L::c({}), L::c(ints({1})),
                                L::c(ints({1})), L::c(ints({1})), L::c(1)});
  const int t = line.add("aten::transpose.int", {L::v(y), L::c(1), L::c(2)});
  const int s = line.add("aten::add.Tensor", {L::v(t), L::v(positions), L::c(1)});
  expect_same_thrice(*line.make({linear(line, s, 24, 3, 5), s}),
                     {numbers({1, 5, 7}, 8), numbers({7, 24}, 3)});
}

TEST(NeuralNet, rows_take_every_activation_and_sum) {
  const ThreadCountScope threads(2);
  const std::vector<std::pair<const char*, std::vector<net::Arg>>> activations{
      {"aten::relu", {}},
      {"aten::sigmoid", {}},
      {"aten::tanh", {}},
      {"aten::silu", {}},
      {"aten::hardswish", {}},
      {"aten::gelu", {L::c("none")}},
      {"aten::gelu", {L::c("tanh")}},
      {"aten::leaky_relu", {L::c(0.2)}},
      {"aten::elu", {L::c(0.7), L::c(1), L::c(1)}},
      {"aten::clamp", {L::c(-0.5), L::c({})}},
  };
  for (const int64_t rows : {1, 5, 300}) {
    for (const auto& [name, extra] : activations) {
      SCOPED_TRACE(::testing::Message() << name << " of " << rows << " rows");
      Line line;
      const int y = linear(line, 0, 20, 33, 1);
      std::vector<net::Arg> args{L::v(y)};
      args.insert(args.end(), extra.begin(), extra.end());
      const int z = linear(line, line.add(name, args), 33, 20, 3);
      const int s = line.add("aten::add.Tensor", {L::v(z), L::v(0), L::c(1)});
      const int r = line.add("aten::relu", {L::v(s)});
      expect_same_thrice(*line.make({linear(line, r, 20, 5, 5), s}), numbers({rows, 20}, 8));
    }
  }
}

// Whether such an input lies as planes, which the choice of the algorithm goes by, is known only
// once what makes it is compiled.
TEST(NeuralNet, images_of_few_channels_behind_another_layer_are_measured) {
  for (const bool is_behind_view : {false, true}) {
    SCOPED_TRACE(is_behind_view);
    Line line;
    const int image =
        is_behind_view ? line.add("aten::unsqueeze", {L::v(0), L::c(1)})
                       : line.convolution(0, numbers({5, 3, 3, 3}, 1), numbers({5}, 2), 1, 1, 1, 1);
    const int64_t channels = is_behind_view ? 1 : 5;
    const int y =
        line.convolution(image, numbers({32, channels, 3, 3}, 3), numbers({32}, 4), 1, 1, 1, 1);
    const auto net = line.make({line.add("aten::relu", {L::v(y)})});
    std::vector<IValue> inputs{
        numbers(is_behind_view ? IntVector{2, 23, 29} : IntVector{2, 3, 23, 29}, 8)};
    RunContext context;
    const IValue expected = net->run(inputs, context)[0];  // By the twin.
    EXPECT_TRUE(net->prepare(inputs, 1))
        << (net->refusals().empty() ? "not refused" : net->refusals().back().text());
    expect_close(expected, net->run(inputs, context)[0]);
  }
}

// Each position's number times a row: of few columns, of whole vectors and of a rest.
TEST(NeuralNet, products_with_one_row_of_weights) {
  for (const int64_t columns : {1, 5, 16, 37, 130}) {
    SCOPED_TRACE(columns);
    Line line;
    const int other = line.input();
    const int y = linear(line, 0, 1, columns, 1);
    const int s = line.add("aten::add.Tensor", {L::v(y), L::v(other), L::c(1)});
    const int t = line.add("aten::tanh", {L::v(s)});
    const int z = linear(line, t, columns, 3, 3);
    std::vector<IValue> inputs{numbers({2, 33, 1}, 8), numbers({2, 33, columns}, 9)};
    expect_same_thrice(*line.make({t, z}), inputs);
    const auto measured = line.make({t, z});
    RunContext context;
    const std::vector<IValue> expected = measured->run(inputs, context);  // By the twin.
    ASSERT_TRUE(measured->prepare(inputs, 2));
    const std::vector<IValue> found = measured->run(inputs, context);
    for (size_t i = 0; i < found.size(); ++i) expect_close(expected[i], found[i]);
  }
}

// Padding is cleared between convolutions, products and norms.
TEST(NeuralNet, fills_by_masks) {
  const Tensor mask = Tensor::empty(IntVector{2, 1, 1, 7}, ScalarType::kBool);
  for (int64_t i = 0; i < mask.numel(); ++i) mask.data<bool>()[i] = i % 3 == 1;
  for (const bool is_image : {false, true}) {
    SCOPED_TRACE(is_image);
    Line line;
    const int given = line.input();
    const int y = is_image
                      ? line.convolution(0, numbers({20, 6, 3, 3}, 1), numbers({20}, 2), 1, 1, 1, 1)
                      : linear(line, 0, 7, 7, 1);
    const int f = line.add("aten::masked_fill.Scalar", {L::v(y), L::v(given), L::c(-0.5)});
    const int r = line.add("aten::relu", {L::v(f)});
    const int s = line.add("aten::add.Tensor", {L::v(r), L::v(y), L::c(1)});
    const int z = is_image
                      ? line.convolution(s, numbers({5, 20, 1, 1}, 3), numbers({5}, 4), 1, 0, 1, 1)
                      : linear(line, s, 7, 5, 3);
    expect_same_thrice(*line.make({z}), {numbers({2, 6, 5, 7}, 8), mask});
  }
}

TEST(NeuralNet, small_parts_are_joined) {
  for (const int64_t axis : {0, 1, 2}) {
    SCOPED_TRACE(axis);
    Line line;
    const int a = linear(line, 0, 12, 12, 1);
    const int b = line.add("aten::transpose.int", {L::v(a), L::c(0), L::c(1)});
    const int c = line.add("aten::relu", {L::v(0)});
    const int j = line.add("aten::cat", {L::v(line.list({a, b, c})), L::c(axis)});
    expect_same_thrice(*line.make({line.add("aten::tanh", {L::v(j)})}), numbers({4, 4, 12}, 8));
  }
}

}  // namespace
}  // namespace tierup::ops
