#include "tierup/kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/ragged.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor numbers(const IntVector& sizes, int64_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = static_cast<float>((i * 7919 + seed * 31) % 1001) / 500.0F - 1.0F;
  }
  return result;
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(shape_string(a.sizes()), shape_string(b.sizes()));
  const Tensor left = contiguous(a);
  const Tensor right = contiguous(b);
  for (int64_t i = 0; i < left.numel(); ++i)
    ASSERT_NEAR(left.data<float>()[i], right.data<float>()[i], 2e-5) << i;
}

TEST(Attention, BlocksGiveWhatTheStepsGive) {
  for (const bool causal : {false, true}) {
    for (const int64_t queries : {1, 63, 64, 200}) {
      const Tensor q = numbers({2, 4, queries, 16}, 1);
      const Tensor k = numbers({2, 2, 150, 16}, 2);
      const Tensor v = numbers({2, 2, 150, 8}, 3);
      const AttentionOptions options{causal, 0.5, true};
      expect_close(attention(q, k, v, Tensor(), options),
                   std::get<0>(attention_with_weights(q, k, v, Tensor(), options, 0, nullptr)));
    }
  }
}

TEST(Attention, AQueryThatSeesNothingGivesZeros) {
  const Tensor mask = Tensor::empty(IntVector{2, 3}, ScalarType::kBool);
  fill(mask, true);
  for (int64_t j = 0; j < 3; ++j) mask.data<bool>()[j] = false;
  const Tensor out =
      contiguous(attention(numbers({2, 4}, 1), numbers({3, 4}, 2), numbers({3, 4}, 3), mask, {}));
  for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(out.data<float>()[j], 0);
  EXPECT_NE(out.data<float>()[4], 0);
}

TEST(Attention, RefusesAMaskBesideCausality) {
  const Tensor x = numbers({2, 4}, 1);
  EXPECT_THROW(attention(x, x, x, numbers({2, 2}, 2), {true, std::nullopt, false}), Error);
  EXPECT_THROW(attention(x, numbers({2, 5}, 1), x, Tensor(), {}), Error);
}

TEST(Attention, WithWeightsRefusesWhatAttentionRefuses) {
  const Tensor x = numbers({2, 4, 8}, 1);
  const auto refuses = [](const Tensor& q, const Tensor& k, const Tensor& v, bool grouped) {
    const AttentionOptions options{false, std::nullopt, grouped};
    EXPECT_THROW(attention(q, k, v, Tensor(), options), Error);
    EXPECT_THROW(attention_with_weights(q, k, v, Tensor(), options, 0, nullptr), Error);
  };
  refuses(x, x, numbers({4}, 2), true);
  refuses(x, x, numbers({0, 4, 8}, 2), true);
  refuses(x, numbers({3, 4, 8}, 2), numbers({3, 4, 8}, 2), true);
  refuses(numbers({8}, 1), x, x, false);
}

TEST(EncoderLayer, NarrowNumbersGiveTheFullResultRounded) {
  const auto layer_of = [](ScalarType dtype, bool use_gelu) {
    const auto weight = [&](const IntVector& sizes, int64_t seed) {
      return to_dtype(to_dtype(numbers(sizes, seed), ScalarType::kBFloat16), dtype);
    };
    const HeadWeights heads{
        4, 2, weight({12, 4}, 1), weight({12}, 2), weight({4, 4}, 3), weight({4}, 4)};
    const EncoderWeights layer{use_gelu,
                               false,
                               1e-5,
                               weight({4}, 5),
                               weight({4}, 6),
                               weight({4}, 7),
                               weight({4}, 8),
                               weight({8, 4}, 9),
                               weight({8}, 10),
                               weight({4, 8}, 11),
                               weight({4}, 12)};
    return transformer_encoder_layer(weight({2, 3, 4}, 13), heads, layer, Tensor(), std::nullopt);
  };
  for (const ScalarType dtype : {ScalarType::kBFloat16, ScalarType::kHalf}) {
    for (const bool use_gelu : {false, true}) {
      const Tensor full = layer_of(ScalarType::kFloat, use_gelu);
      const Tensor out = layer_of(dtype, use_gelu);
      EXPECT_EQ(out.dtype(), dtype);
      const Tensor wide = to_dtype(out, ScalarType::kFloat);
      for (int64_t i = 0; i < full.numel(); ++i)
        EXPECT_NEAR(wide.data<float>()[i], full.data<float>()[i], 0.06) << i;
    }
  }
}

TEST(Ragged, MissingPositionsDoNotTakePartAndComeOutPadded) {
  const Tensor x = numbers({2, 3, 4}, 5);
  const Tensor mask = Tensor::empty(IntVector{2, 3}, ScalarType::kBool);
  fill(mask, true);
  mask.data<bool>()[5] = false;
  EXPECT_TRUE(is_left_aligned(x, mask));
  const Tensor ragged = ragged_from_mask(x, mask, true);
  const HeadWeights heads{
      4, 2, numbers({12, 4}, 1), numbers({12}, 2), numbers({4, 4}, 3), numbers({4}, 4)};
  const EncoderWeights layer{true,
                             false,
                             1e-5,
                             numbers({4}, 5),
                             numbers({4}, 6),
                             numbers({4}, 7),
                             numbers({4}, 8),
                             numbers({8, 4}, 9),
                             numbers({8}, 10),
                             numbers({4, 8}, 11),
                             numbers({4}, 12)};
  const Tensor out = to_padded_tensor(
      transformer_encoder_layer(ragged, heads, layer, Tensor(), std::nullopt), 7.0, std::nullopt);
  for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(out.data<float>()[20 + j], 7.0F);
  // The second sequence alone, without its missing position.
  const Tensor alone = x.as_view(IntVector{1, 2, 4}, IntVector{12, 4, 1}, 12);
  const Tensor expected = transformer_encoder_layer(alone, heads, layer, Tensor(), std::nullopt);
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_NEAR(out.data<float>()[12 + i], expected.data<float>()[i], 1e-5);
  mask.data<bool>()[3] = false;
  mask.data<bool>()[5] = true;
  EXPECT_FALSE(is_left_aligned(x, mask));
}

}  // namespace
}  // namespace tierup::kernels
