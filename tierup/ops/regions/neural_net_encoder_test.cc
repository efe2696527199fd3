// Layers of nn.TransformerEncoder, which are one operator each, in nets.
#include <limits>

#include "tierup/ops/regions/neural_net_fixture.h"

namespace tierup::ops {
namespace {

using L = Line;

constexpr int64_t kBatch = 3;
constexpr int64_t kLength = 11;
constexpr int64_t kWidth = 12;

Tensor near_one(int64_t count, uint32_t seed) {
  const Tensor t = numbers({count}, seed, 0.2F);
  for (int64_t i = 0; i < count; ++i) t.data<float>()[i] += 1;
  return t;
}

// Some positions hidden, of each row other ones.
Tensor hiding(IntVector sizes, ScalarType type) {
  const Tensor mask = Tensor::empty(sizes, type);
  for (int64_t i = 0; i < mask.numel(); ++i) {
    const bool hides = i % 4 == 1;
    if (type == ScalarType::kBool) {
      mask.data<bool>()[i] = hides;
    } else {
      mask.data<float>()[i] = hides ? -std::numeric_limits<float>::infinity() : 0.25F;
    }
  }
  return mask;
}

void expect_layer(bool use_gelu, bool norm_first, const IValue& mask, const IValue& mask_type) {
  Line line;
  const net::Arg mask_at = mask.is_none() ? L::c({}) : L::v(line.input());
  const int out =
      line.add("aten::_transformer_encoder_layer_fwd", {L::v(0),
                                                        L::c(kWidth),
                                                        L::c(int64_t{3}),
                                                        L::c(numbers({3 * kWidth, kWidth}, 1)),
                                                        L::c(numbers({3 * kWidth}, 2)),
                                                        L::c(numbers({kWidth, kWidth}, 3)),
                                                        L::c(numbers({kWidth}, 4)),
                                                        L::c(use_gelu),
                                                        L::c(norm_first),
                                                        L::c(1e-5),
                                                        L::c(near_one(kWidth, 5)),
                                                        L::c(numbers({kWidth}, 6)),
                                                        L::c(near_one(kWidth, 7)),
                                                        L::c(numbers({kWidth}, 8)),
                                                        L::c(numbers({20, kWidth}, 9)),
                                                        L::c(numbers({20}, 10)),
                                                        L::c(numbers({kWidth, 20}, 11)),
                                                        L::c(numbers({kWidth}, 12)),
                                                        mask_at,
                                                        L::c(mask_type)});
  std::vector<IValue> inputs{numbers({kBatch, kLength, kWidth}, 13)};
  if (!mask.is_none()) inputs.push_back(mask);
  expect_same_thrice(*line.make({out}), inputs);
}

TEST(NeuralNetEncoder, LayersGiveWhatTheOperatorGives) {
  for (const bool use_gelu : {false, true}) {
    for (const bool norm_first : {false, true}) {
      SCOPED_TRACE(testing::Message() << use_gelu << norm_first);
      expect_layer(use_gelu, norm_first, {}, {});
      for (const ScalarType type : {ScalarType::kBool, ScalarType::kFloat}) {
        expect_layer(use_gelu, norm_first, hiding({kBatch, kLength}, type), int64_t{1});
        expect_layer(use_gelu, norm_first, hiding({kLength, kLength}, type), int64_t{0});
        expect_layer(use_gelu, norm_first, hiding({kBatch, 3, kLength, kLength}, type), int64_t{2});
      }
    }
  }
}

TEST(NeuralNetEncoder, AQueryThatSeesNothingGivesWhatTheOperatorGives) {
  const Tensor mask = hiding({kBatch, kLength}, ScalarType::kBool);
  std::fill_n(mask.data<bool>() + kLength, kLength, true);
  expect_layer(true, false, mask, int64_t{1});
}

TEST(NeuralNetEncoder, SelfAttentionTakesAMask) {
  Line line;
  const int mask = line.input();
  const int out = line.add("aten::_native_multi_head_attention",
                           {L::v(0), L::v(0), L::v(0), L::c(kWidth), L::c(int64_t{3}),
                            L::c(numbers({3 * kWidth, kWidth}, 1)), L::c(numbers({3 * kWidth}, 2)),
                            L::c(numbers({kWidth, kWidth}, 3)), L::c(numbers({kWidth}, 4)),
                            L::v(mask), L::c(false), L::c(true), L::c(int64_t{1})});
  expect_same_thrice(*line.make({out}), {numbers({kBatch, kLength, kWidth}, 13),
                                         hiding({kBatch, kLength}, ScalarType::kBool)});
}

// Sums of turned products: work moves before either view, once. Of views that differ, of a product
// that has its summand already, of two that are turned alike.
TEST(NeuralNet, sums_of_turned_products_move_before_one_view) {
  using L = Line;
  const auto product = [](Line& line, uint32_t seed) {
    return line.add("aten::linear", {L::v(0), L::c(numbers({6, 6}, seed)), L::c({})});
  };
  const auto turned = [](Line& line, int value, int64_t a, int64_t b) {
    return line.add("aten::transpose.int", {L::v(value), L::c(a), L::c(b)});
  };
  const auto sum = [](Line& line, int a, int b) {
    return line.add("aten::add.Tensor", {L::v(a), L::v(b), L::c(1)});
  };
  for (const bool are_alike : {true, false}) {
    for (const bool is_full : {true, false}) {
      Line line;
      int a = product(line, 1);
      int b = product(line, 2);
      if (is_full) {
        a = line.add("aten::gelu", {L::v(sum(line, a, 0)), L::c("none")});
        b = line.add("aten::gelu", {L::v(sum(line, b, 0)), L::c("none")});
      }
      const int right =
          are_alike ? turned(line, b, 1, 2) : turned(line, turned(line, b, 0, 1), 1, 2);
      const int total = sum(line, turned(line, a, 1, 2), right);
      expect_same_thrice(*line.make({line.add("aten::relu", {L::v(total)})}),
                         numbers({6, 6, 6}, 3));
    }
  }
}

// An entry of a dimension of one is a tensor, not the list that it stands in.
TEST(NeuralNet, parts_may_be_one) {
  using L = Line;
  Line line;
  const int y = line.add("aten::linear", {L::v(0), L::c(numbers({6, 6}, 1)), L::c({})});
  const int u = line.add("aten::unbind.int", {L::v(y), L::c(1)});
  const int t = line.add("aten::tanh", {L::v(u)});
  const int s = line.add("aten::split.Tensor", {L::v(t), L::c(6), L::c(-1)});
  const int c = line.add("aten::chunk", {L::v(s), L::c(1), L::c(0)});
  expect_same_thrice(*line.make({u, line.add("aten::relu", {L::v(c)})}), numbers({4, 1, 6}, 3));
}

}  // namespace
}  // namespace tierup::ops
