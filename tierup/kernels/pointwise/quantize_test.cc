#include "tierup/kernels/pointwise/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

template <typename T>
Tensor vector_of(const std::vector<T>& values) {
  const Tensor t = Tensor::empty(IntVector{static_cast<int64_t>(values.size())}, kDTypeOf<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

std::vector<double> numbers_of(const Tensor& t) {
  const Tensor wide = contiguous(to_dtype(t, ScalarType::kDouble));
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

constexpr float kInf = std::numeric_limits<float>::infinity();

// Ties are those of decimal numbers: the inverse of a scale of 0.1 is ten in single precision.
TEST(FakeQuantize, RoundsHalvesToEvenInEveryPrecision) {
  const Tensor ties = vector_of<double>({0.25, 0.75, 1.25, -0.25, -0.75});
  for (const ScalarType type :
       {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kHalf, ScalarType::kBFloat16}) {
    const Tensor out = evaluate(fake_quantize(to_dtype(ties, type), 0.5, 1, -8, 7));
    EXPECT_EQ(out.dtype(), type);
    EXPECT_EQ(numbers_of(out), (std::vector<double>{0, 1, 1, 0, -1})) << scalar_type_name(type);
  }
  const Tensor wide = vector_of<double>({0.05, 0.15, 0.25});
  const std::vector<double> got = numbers_of(evaluate(fake_quantize(wide, 0.1, 0, 0, 255)));
  EXPECT_EQ(got[0], 0);
  EXPECT_NEAR(got[1], 0.2, 1e-7);
  EXPECT_NEAR(got[2], 0.2, 1e-7);
}

TEST(FakeQuantize, BoundsAreWhatInfinitiesAndNanBecome) {
  const Tensor x = vector_of<float>({kInf, -kInf, NAN, 100, -100, -0.1F});
  const auto [out, mask] = fake_quantize_with_mask(x, 0.5, 1, -8, 7);
  EXPECT_EQ(numbers_of(out), (std::vector<double>{3, -4.5, -4.5, 3, -4.5, 0}));
  EXPECT_FALSE(std::signbit(out.data<float>()[5]));
  EXPECT_EQ(numbers_of(mask), (std::vector<double>{0, 0, 0, 0, 0, 1}));
}

TEST(FakeQuantize, HasAScaleForEachChannel) {
  const Tensor x = vector_of<float>({1.3F, 1.3F, 1.3F});
  const Tensor scale = vector_of<float>({1, 0.5F, 0.25F});
  const Tensor zero = vector_of<int32_t>({0, 1, 2});
  EXPECT_EQ(numbers_of(fake_quantize_channels(x, scale, zero, 0, 0, 15)),
            (std::vector<double>{1, 1.5, 1.25}));
  // Zero points that are floats are added before steps are rounded.
  const Tensor between = vector_of<float>({0.5F, 0, 0});
  EXPECT_EQ(numbers_of(fake_quantize_channels(x, scale, between, 0, 0, 15)),
            (std::vector<double>{1.5, 1.5, 1.25}));
}

TEST(FakeQuantize, RefusesWhatPyTorchRefuses) {
  const Tensor x = vector_of<float>({1, 2, 3});
  const Tensor scale = vector_of<float>({1, 1, 1});
  const Tensor zero = vector_of<int32_t>({0, 1, 9});
  EXPECT_THROW(fake_quantize(x, 1, 9, 0, 8), Error);
  EXPECT_THROW(fake_quantize(x, 1, 0, 8, 0), Error);
  EXPECT_THROW(evaluate(fake_quantize(zero, 1, 0, 0, 8)), Error);
  EXPECT_THROW(fake_quantize_by_tensors(x, scale, zero, 0, 8), Error);
  EXPECT_THROW(fake_quantize_by_tensors(x, vector_of<float>({1}), vector_of<float>({1e30F}), 0, 8),
               Error);
  EXPECT_THROW(evaluate(fake_quantize_backward(x, vector_of<bool>({true}))), Error);
  EXPECT_THROW(fake_quantize_channels(x, scale, zero, 0, 0, 8), Error);
  EXPECT_THROW(fake_quantize_channels(x, scale, zero, 1, 0, 15), Error);
  EXPECT_THROW(fake_quantize_channels(x, vector_of<float>({1}), zero, 0, 0, 15), Error);
  EXPECT_THROW(fake_quantize_channels(x, scale, to_dtype(zero, ScalarType::kLong), 0, 0, 15),
               Error);
}

TEST(Quantize, IsUndoneUpToHalfAStep) {
  const Tensor x = vector_of<float>({-1, -0.26F, 0, 0.24F, 0.25F, 3});
  const Tensor steps = quantize(x, 0.5, 2, -128, 127, ScalarType::kChar);
  EXPECT_EQ(steps.dtype(), ScalarType::kChar);
  EXPECT_EQ(numbers_of(steps), (std::vector<double>{0, 1, 2, 2, 2, 8}));
  EXPECT_EQ(numbers_of(dequantize(steps, 0.5, 2, -128, 127, ScalarType::kChar, std::nullopt)),
            (std::vector<double>{-1, -0.5, 0, 0, 0, 3}));
  EXPECT_THROW(quantize(x, 0.5, 2, -129, 127, ScalarType::kChar), Error);
  EXPECT_THROW(quantize(x, 0.5, 2, 0, 127, ScalarType::kLong), Error);
  EXPECT_THROW(dequantize(steps, 0.5, 2, 0, 255, ScalarType::kByte, std::nullopt), Error);
}

}  // namespace
}  // namespace tierup::kernels
