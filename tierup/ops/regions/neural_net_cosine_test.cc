// Vectors of unit length in a net, attention of them with a factor for each head, factors of planes
// that lie one after the other, and repeated operands, against the twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"
#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using kernels::InstructionSet;
using L = Line;
using net::LayerKind;

class NetOfUnitVectors : public kernels::OnInstructionSet {};

// As torch.nn.functional.normalize: x / max(its length, eps).expand_as(x).
int unit(Line& line, int x, double eps = 1e-12) {
  const int length = line.add("aten::linalg_vector_norm",
                              {L::v(x), L::c(2), L::c(ints({-1})), L::c(true), L::c(IValue())});
  const int bound = line.add("aten::clamp_min", {L::v(length), L::c(eps)});
  const int whole = line.add("aten::expand_as", {L::v(bound), L::v(x)});
  return line.add("aten::div.Tensor", {L::v(x), L::v(whole)});
}

// softmax(factors * unit(q) unit(k)^T + bias + mask + mask) v over [2, 3, 17, 8].
struct CosineAttention {
  Tensor factors = numbers({3, 1, 1}, 9, 5);
  bool has_mask_before = false;  // The factors multiply a sum with a mask.

  std::vector<IValue> inputs() const {
    return {numbers({2, 3, 17, 8}, 1), numbers({2, 3, 19, 8}, 2), numbers({2, 3, 19, 5}, 3),
            numbers({1, 3, 17, 19}, 4), numbers({2, 1, 1, 19}, 5)};
  }
  int write(Line& line) const {
    const int k = line.input();
    const int v = line.input();
    const int bias = line.input();
    const int mask = line.input();
    const auto add = [&](int a, int b) {
      return line.add("aten::add.Tensor", {L::v(a), L::v(b), L::c(1)});
    };
    const int query = unit(line, 0);
    const int turned = line.add("aten::transpose.int", {L::v(unit(line, k)), L::c(-2), L::c(-1)});
    int scores = line.add("aten::matmul", {L::v(query), L::v(turned)});
    if (has_mask_before) scores = add(scores, bias);
    scores = line.add("aten::mul.Tensor", {L::v(scores), L::c(factors)});
    if (!has_mask_before) scores = add(scores, bias);
    scores = add(add(scores, mask), mask);
    const int weights = line.add("aten::softmax.int", {L::v(scores), L::c(-1), L::c({})});
    return line.add("aten::matmul", {L::v(weights), L::v(v)});
  }
};

TEST_P(NetOfUnitVectors, cosine_attention_is_attention_of_scaled_queries) {
  const ThreadCountScope threads(2);
  const CosineAttention form;
  Line line;
  const int out = form.write(line);
  const net::LayerNet layers = recognized(line, out, form.inputs());
  EXPECT_EQ(count_of(layers, LayerKind::kAttention), 1);
  EXPECT_EQ(count_of(layers, LayerKind::kRmsNorm), 2);
  EXPECT_EQ(count_of(layers, LayerKind::kBatchGemm), 0);
  EXPECT_EQ(count_of(layers, LayerKind::kRepeat), 0);
  expect_same_thrice(*line.make({out}), form.inputs());
}

TEST_P(NetOfUnitVectors, factors_of_a_sum_with_a_mask_are_no_factors_of_queries) {
  const CosineAttention form{.has_mask_before = true};
  Line line;
  const int out = form.write(line);
  EXPECT_EQ(count_of(recognized(line, out, form.inputs()), LayerKind::kAttention), 0);
  expect_same_thrice(*line.make({out}), form.inputs());
}

TEST_P(NetOfUnitVectors, factors_that_would_lose_places_of_queries_stay) {
  CosineAttention form;
  form.factors.data<float>()[1] = 1e-20F;
  Line line;
  const int out = form.write(line);
  EXPECT_EQ(count_of(recognized(line, out, form.inputs()), LayerKind::kAttention), 0);
  expect_same_thrice(*line.make({out}), form.inputs());
}

TEST_P(NetOfUnitVectors, short_vectors_are_divided_by_the_least_length) {
  const std::vector<IValue> inputs{numbers({6, 11, 20}, 1, 1e-3F)};
  for (const double eps : {0.0, 1e-12, 0.5}) {
    Line line;
    const int out = unit(line, 0, eps);
    EXPECT_EQ(count_of(recognized(line, out, inputs), LayerKind::kRmsNorm), 1);
    expect_same_thrice(*line.make({out}), inputs);
  }
}

TEST_P(NetOfUnitVectors, factors_of_columns_go_into_the_same_layer) {
  const std::vector<IValue> inputs{numbers({6, 11, 20}, 1)};
  Line line;
  const int out = line.add("aten::mul.Tensor", {L::v(unit(line, 0)), L::c(numbers({20}, 2))});
  const net::LayerNet layers = recognized(line, out, inputs);
  ASSERT_EQ(layers.layers.size(), 1U);
  EXPECT_EQ(layers.layers[0].kind, LayerKind::kRmsNorm);
  expect_same_thrice(*line.make({out}), inputs);
}

TEST_P(NetOfUnitVectors, lengths_that_are_bounded_from_above_stay_written_out) {
  const std::vector<IValue> inputs{numbers({6, 11, 20}, 1)};
  Line line;
  const int length = line.add("aten::linalg_vector_norm",
                              {L::v(0), L::c(2), L::c(ints({-1})), L::c(true), L::c(IValue())});
  const int bound = line.add("aten::clamp_max", {L::v(length), L::c(2.0)});
  const int out = line.add("aten::div.Tensor", {L::v(0), L::v(bound)});
  EXPECT_EQ(count_of(recognized(line, out, inputs), LayerKind::kRmsNorm), 0);
  expect_same_thrice(*line.make({out}), inputs);
}

TEST_P(NetOfUnitVectors, factors_of_planes_are_met_as_they_lie) {
  const ThreadCountScope threads(2);
  for (const IntVector& sizes : {IntVector{2, 5, 9, 7}, IntVector{3, 2, 4100},
                                 IntVector{4, 33, 1, 3}, IntVector{4, 33, 20, 20}}) {
    SCOPED_TRACE(shape_string(sizes));
    const int64_t channels = sizes[1];
    IntVector one(sizes.size() - 1, 1);
    one[0] = channels;
    Line line;
    const int other = line.input();
    const int scaled = line.add("aten::mul.Tensor", {L::v(0), L::c(numbers(one, 3))});
    const int moved = line.add("aten::add.Tensor", {L::v(scaled), L::c(numbers(one, 4)), L::c(1)});
    const int bent = line.add("aten::prelu", {L::v(moved), L::c(numbers({channels}, 5))});
    const int sum = line.add("aten::add.Tensor", {L::v(bent), L::v(other), L::c(1)});
    expect_same_thrice(*line.make({line.add("aten::tanh", {L::v(sum)})}),
                       {numbers(sizes, 1), numbers(sizes, 2)});
  }
}

TEST_P(NetOfUnitVectors, a_repeated_operand_is_broadcast) {
  const std::vector<IValue> inputs{numbers({3, 8, 5}, 1), numbers({1, 8, 1}, 2)};
  for (const char* name : {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor"}) {
    for (const bool comes_first : {false, true}) {
      Line line;
      const int small = line.input();
      const int whole = line.add("aten::expand_as", {L::v(small), L::v(0)});
      std::vector<net::Arg> args{L::v(0), L::v(whole)};
      if (comes_first) std::swap(args[0], args[1]);
      if (std::string(name) != "aten::mul.Tensor") args.push_back(L::c(1));
      const int out = line.add("aten::tanh", {L::v(line.add(name, args))});
      if (std::string(name) != "aten::sub.Tensor")
        EXPECT_EQ(count_of(recognized(line, out, inputs), LayerKind::kRepeat), 0) << name;
      expect_same_thrice(*line.make({out}), inputs);
    }
  }
}

// As FocalNet's modulation has it: a number for each channel by one for each point.
TEST_P(NetOfUnitVectors, an_outer_product_no_larger_than_other_values_is_taken) {
  const ThreadCountScope threads(2);
  for (const char* name : {"aten::add.Tensor", "aten::mul.Tensor"}) {
    for (const bool points_first : {false, true}) {
      Line line;
      const auto mean = [&](IntVector dims) {
        return line.add("aten::mean.dim", {L::v(0), L::c(ints(dims)), L::c(true), L::c(IValue())});
      };
      std::vector<net::Arg> args{L::v(mean({2, 3})), L::v(mean({1}))};
      if (points_first) std::swap(args[0], args[1]);
      if (std::string(name) == "aten::add.Tensor") args.push_back(L::c(1));
      const int outer = line.add(name, args);
      const int out = line.add("aten::add.Tensor", {L::v(0), L::v(outer), L::c(1)});
      expect_same_thrice(*line.make({out}), numbers({2, 6, 5, 7}, 1));
    }
  }
}

// Of rows of images that a convolution gives with channels innermost.
TEST_P(NetOfUnitVectors, factors_along_another_axis_are_met) {
  Line line;
  const int y = line.convolution(0, numbers({16, 3, 3, 3}, 1, 0.3F), numbers({16}, 2), 1, 1, 1, 1);
  const int scaled = line.add("aten::mul.Tensor", {L::v(y), L::c(numbers({9, 1}, 3))});
  expect_same_thrice(*line.make({line.add("aten::tanh", {L::v(scaled)})}),
                     numbers({2, 3, 9, 7}, 4));
}

TEST_P(NetOfUnitVectors, an_operand_is_repeated_as_a_constant_is_large) {
  Line line;
  const int whole = line.add("aten::expand_as", {L::v(0), L::c(numbers({4, 6, 5}, 1))});
  expect_same_thrice(*line.make({line.add("aten::tanh", {L::v(whole)})}), numbers({6, 1}, 2));
}

// The quotient is as large as the repeated divisor, which the dividend is not.
TEST_P(NetOfUnitVectors, a_repeated_divisor_gives_the_quotient_its_sizes) {
  struct Sizes {
    IntVector dividend, divisor, repeated;
  };
  for (const Sizes& sizes : {Sizes{{8, 1}, {1, 1}, {1, 8}}, Sizes{{4, 6}, {1, 1, 1}, {3, 4, 1}}}) {
    Line line;
    const int divisor = line.input();
    const int whole =
        line.add("aten::expand", {L::v(divisor), L::c(ints(sizes.repeated)), L::c(false)});
    const int out = line.add("aten::div.Tensor", {L::v(0), L::v(whole)});
    const std::vector<IValue> inputs{numbers(sizes.dividend, 1), numbers(sizes.divisor, 2)};
    try {
      const net::LayerNet layers = net::resolve(line.program({out}), inputs);
      const IntVector& found = layers.values[static_cast<size_t>(layers.outputs[0])].sizes;
      EXPECT_EQ(shape_string(found),
                shape_string(broadcast_shapes(sizes.dividend, sizes.repeated)));
    } catch (const net::Refused& error) {
      EXPECT_EQ(error.reason(), net::NetRefusal::kBothBroadcast);
    }
  }
}

TEST_P(NetOfUnitVectors, broadcast_operands_without_elements_are_refused) {
  for (const bool first : {false, true}) {
    Line line;
    const int other = line.input();
    std::vector<net::Arg> args{L::v(0), L::v(other), L::c(1)};
    if (first) std::swap(args[0], args[1]);
    const int out = line.add("aten::add.Tensor", args);
    for (const IntVector& small : {IntVector{1, 5, 8}, IntVector{5, 8}, IntVector{0, 1, 8}}) {
      const net::LayerNet layers = net::resolve(
          line.program({out}), std::vector<IValue>{numbers({0, 5, 8}, 1), numbers(small, 2)});
      EXPECT_EQ(layers.layers.size(), 1U);
    }
    EXPECT_THROW(net::resolve(line.program({out}),
                              std::vector<IValue>{numbers({0, 5, 1}, 1), numbers({1, 1, 8}, 2)}),
                 net::Refused);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NetOfUnitVectors,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::ops
