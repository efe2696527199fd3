// The random stream against numbers recorded from PyTorch with seed 5.
#include "tierup/kernels/random/random.h"

#include <gtest/gtest.h>

#include <vector>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

Tensor empty(int64_t count, ScalarType dtype = ScalarType::kFloat) {
  const std::vector<int64_t> sizes{count};
  return Tensor::empty(sizes, dtype);
}

TEST(Random, DrawsUniformNumbersAsPyTorch) {
  Generator generator(5);
  const Tensor t = uniform_(empty(3), 0, 1, generator);
  EXPECT_EQ(t.data<float>()[0], 0.8302518725395203F);
  EXPECT_EQ(t.data<float>()[2], 0.9074696898460388F);
  generator.set_seed(5);
  const Tensor d = uniform_(empty(1, ScalarType::kDouble), 0, 1, generator);
  EXPECT_EQ(d.data<double>()[0], 0.6420150066280941);
}

TEST(Random, DrawsNormalNumbersAsPyTorch) {
  Generator generator(5);
  const Tensor few = normal_(empty(3), 0, 1, generator);
  EXPECT_FLOAT_EQ(few.data<float>()[0], -0.48678075F);
  EXPECT_FLOAT_EQ(few.data<float>()[1], -0.60382159F);
  generator.set_seed(5);
  const Tensor block = normal_(empty(16), 0, 1, generator);
  EXPECT_NEAR(block.data<float>()[0], 1.8423299F, 1e-6F);
  EXPECT_NEAR(block.data<float>()[2], -1.7119213F, 1e-6F);
}

TEST(Random, DrawsIntegersAndPermutationsAsPyTorch) {
  Generator generator(5);
  const Tensor t = random_between(empty(4, ScalarType::kLong), 0, 1000, generator);
  const std::vector<int64_t> want{411, 814, 767, 885};
  EXPECT_EQ(std::vector<int64_t>(t.data<int64_t>(), t.data<int64_t>() + 4), want);
  generator.set_seed(5);
  const Tensor order = randperm(6, ScalarType::kLong, generator);
  const std::vector<int64_t> permuted{5, 0, 1, 3, 4, 2};
  EXPECT_EQ(std::vector<int64_t>(order.data<int64_t>(), order.data<int64_t>() + 6), permuted);
  generator.set_seed(5);
  const Tensor wide = random_between(empty(2, ScalarType::kLong), 0, int64_t{1} << 30, generator);
  EXPECT_EQ(wide.data<int64_t>()[0], 236996814);
}

TEST(Random, SamplesByWeightsAsPyTorch) {
  Generator generator(5);
  const Tensor weights = empty(4);
  for (int i = 0; i < 4; ++i) weights.data<float>()[i] = 0.1F * static_cast<float>(i + 1);
  const Tensor drawn = multinomial(weights, 5, true, generator);
  const std::vector<int64_t> want{3, 1, 2, 2, 1};
  EXPECT_EQ(std::vector<int64_t>(drawn.data<int64_t>(), drawn.data<int64_t>() + 5), want);
  generator.set_seed(5);
  const Tensor distinct = multinomial(weights, 3, false, generator);
  const std::vector<int64_t> want_distinct{3, 2, 1};
  EXPECT_EQ(std::vector<int64_t>(distinct.data<int64_t>(), distinct.data<int64_t>() + 3),
            want_distinct);
  EXPECT_THROW(multinomial(weights, 5, false, generator), Error);
}

TEST(Random, DropsOutAsPyTorch) {
  Generator generator(5);
  const Tensor ones = empty(8);
  std::fill_n(ones.data<float>(), 8, 1.0F);
  const Tensor kept = dropout(ones, 0.3, true, DropoutKind::kPlain, &generator);
  const std::vector<bool> want{true, true, true, true, true, false, true, false};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(kept.data<float>()[i] != 0, want[i]);
  EXPECT_TRUE(dropout(ones, 0.3, false, DropoutKind::kPlain, nullptr).is_same(ones));
  EXPECT_THROW(dropout(ones, 1.5, true, DropoutKind::kPlain, &generator), Error);
}

TEST(Random, DropsComplexNumbersAsTheirRealParts) {
  const Tensor ones = Tensor::empty(IntVector{2, 4, 1}, ScalarType::kComplexFloat);
  std::fill_n(ones.data<complex64>(), 8, complex64(1, 1));
  const Tensor reals = to_dtype(ones, ScalarType::kFloat);
  for (const DropoutKind kind : {DropoutKind::kPlain, DropoutKind::kFeature, DropoutKind::kAlpha,
                                 DropoutKind::kFeatureAlpha}) {
    Generator first(5);
    const Tensor kept = dropout(ones, 0.3, true, kind, &first);
    Generator second(5);
    const Tensor wanted = dropout(reals, 0.3, true, kind, &second);
    for (size_t i = 0; i < 8; ++i)
      EXPECT_EQ(kept.data<complex64>()[i].real(), wanted.data<float>()[i]);
  }
}

// Compilers try out operators without a run, and so without its generator.
TEST(Random, DrawsFromNobodyUnlessTraining) {
  const Tensor ones = empty(8);
  std::fill_n(ones.data<float>(), 8, -1.0F);
  for (const DropoutKind kind : {DropoutKind::kPlain, DropoutKind::kFeature, DropoutKind::kAlpha,
                                 DropoutKind::kFeatureAlpha}) {
    EXPECT_TRUE(dropout(ones, 0.3, false, kind, nullptr).is_same(ones));
  }
  EXPECT_EQ(native_dropout(ones, 0.3, false, nullptr).first.data<float>()[7], -1.0F);
  EXPECT_EQ(rrelu(ones, {}, 0.25, 0.75, false, nullptr).data<float>()[7], -0.5F);
}

}  // namespace
}  // namespace tierup::kernels
