#include "tierup/kernels/pointwise/creation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/kernels/shape/triangle.h"

namespace tierup::kernels {
namespace {

TEST(Arange, CountsIntegersExactlyAndInfersTheDtype) {
  const Tensor t = arange(3, 12, 4, std::nullopt);
  EXPECT_EQ(t.dtype(), ScalarType::kLong);
  ASSERT_EQ(t.numel(), 3);
  EXPECT_EQ(t.data<int64_t>()[2], 11);
  EXPECT_EQ(arange(0.0, 1.0, 0.25, std::nullopt).numel(), 4);
  EXPECT_EQ(arange(5, 0, -2, std::nullopt).data<int64_t>()[2], 1);
}

TEST(Arange, RefusesStepsThatLeadNowhere) {
  EXPECT_THROW(arange(0, 5, 0, std::nullopt), Error);
  EXPECT_THROW(arange(0, 5, -1, std::nullopt), Error);
  EXPECT_THROW(arange(0.0, INFINITY, 1.0, std::nullopt), Error);
}

// However tall or wide the matrix and wherever its diagonal lies.
TEST(TriangleIndices, AreThoseOfTheRowsThatHaveAny) {
  const auto kLong = ScalarType::kLong;
  for (const int64_t rows : {0, 1, 3, 6}) {
    for (const int64_t columns : {0, 1, 3, 6}) {
      for (int64_t offset = -8; offset <= 8; ++offset) {
        std::vector<int64_t> low;
        std::vector<int64_t> high;
        for (int64_t i = 0; i < rows * columns; ++i) {
          const int64_t distance = i % columns - i / columns;
          if (distance <= offset) low.push_back(i);
          if (distance >= offset) high.push_back(i);
        }
        for (const bool lower : {true, false}) {
          const Tensor found = lower ? tril_indices(rows, columns, offset, kLong)
                                     : triu_indices(rows, columns, offset, kLong);
          const std::vector<int64_t>& wanted = lower ? low : high;
          const auto count = static_cast<int64_t>(wanted.size());
          ASSERT_EQ(found.sizes()[1], count) << rows << " " << columns << " " << offset;
          for (int64_t i = 0; i < count; ++i) {
            const int64_t* at = found.data<int64_t>() + i;
            ASSERT_EQ(at[0] * columns + at[count], wanted[static_cast<size_t>(i)]);
          }
        }
      }
    }
  }
  EXPECT_EQ(triu_indices(INT64_MAX, 4, -1, kLong).sizes()[1], 14);
  EXPECT_EQ(tril_indices(4, INT64_MAX, INT64_MIN, kLong).sizes()[1], 0);
  EXPECT_EQ(tril_indices(3, INT64_MAX, 0, kLong).sizes()[1], 6);
  EXPECT_THROW(tril_indices(INT64_MAX, INT64_MAX, INT64_MAX, kLong), Error);
}

TEST(Linspace, HitsBothEnds) {
  const Tensor t = linspace(0, 1, 7, std::nullopt);
  EXPECT_EQ(t.data<float>()[0], 0.0F);
  EXPECT_EQ(t.data<float>()[6], 1.0F);
  EXPECT_EQ(linspace(2, 9, 1, std::nullopt).data<float>()[0], 2.0F);
  EXPECT_THROW(linspace(0, 1, -1, std::nullopt), Error);
}

// Recorded from PyTorch: in doubles, each of these would be another number.
TEST(Linspace, IsComputedInThePrecisionOfItsNumbers) {
  EXPECT_EQ(linspace(0.1, 0.9, 50, ScalarType::kFloat).data<float>()[9], 0.2469387650489807F);
  EXPECT_EQ(static_cast<float>(linspace(4.3, -3, 50, ScalarType::kHalf).data<Half>()[28]),
            0.12890625F);
  EXPECT_EQ(static_cast<float>(linspace(4.3, -3, 50, ScalarType::kBFloat16).data<BFloat16>()[28]),
            0.1337890625F);
}

// Ends must be numbers of the dtype; what lies between them and is none becomes the smallest one.
TEST(Logspace, OfIntegersTakesIntegersAlone) {
  const auto kLong = ScalarType::kLong;
  for (const double end : {1e300, -1e20, std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_THROW(logspace(end, 1, 3, 10, kLong), Error);
    EXPECT_THROW(linspace(0, end, 3, kLong), Error);
    EXPECT_THROW(arange(0, 3, end, kLong), Error);
    EXPECT_THROW(range_inclusive(end, end, 1, kLong), Error);
  }
  EXPECT_THROW(linspace(0, 300, 3, ScalarType::kByte), Error);
  const Tensor powers = logspace(40, 1, 3, 10, kLong);
  EXPECT_EQ(powers.data<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(powers.data<int64_t>()[2], 10);
  EXPECT_EQ(logspace(40, 1, 3, 10, ScalarType::kInt).data<int32_t>()[0], INT32_MIN);
  EXPECT_EQ(logspace(40, 1, 3, 10, ScalarType::kByte).data<uint8_t>()[0], 0);
}

TEST(Conversion, ReturnsTheTensorItselfWhenNothingChanges) {
  const Tensor t = full(std::vector<int64_t>{2}, 1.5, ScalarType::kFloat);
  EXPECT_TRUE(convert_to(t, {ScalarType::kFloat, Device{}, {}, false}).is_same(t));
  EXPECT_FALSE(convert_to(t, {{}, {}, {}, true}).is_same(t));
  EXPECT_EQ(convert_to(t, {ScalarType::kInt, {}, {}, false}).data<int32_t>()[1], 1);
  EXPECT_THROW(convert_to(t, {{}, Device::parse("cuda:0"), {}, false}), Error);
}

TEST(Conversion, RoundsNarrowTypesOfEveryLengthAsTheirScalars) {
  for (int64_t count = 0; count < 40; ++count) {
    const Tensor t = arange(0, count, 1, ScalarType::kFloat);
    for (int64_t i = 0; i < count; ++i) t.data<float>()[i] = 0.1F * static_cast<float>(i) - 1e-6F;
    const Tensor halves = to_dtype(t, ScalarType::kHalf);
    const Tensor narrow = to_dtype(t, ScalarType::kBFloat16);
    const Tensor back = to_dtype(halves, ScalarType::kFloat);
    for (int64_t i = 0; i < count; ++i) {
      const float x = t.data<float>()[i];
      ASSERT_EQ(halves.data<Half>()[i].bits, Half(x).bits);
      ASSERT_EQ(narrow.data<BFloat16>()[i].bits, BFloat16(x).bits);
      ASSERT_EQ(back.data<float>()[i], static_cast<float>(Half(x)));
    }
  }
}

TEST(Conversion, TakesOneElementAsANumber) {
  EXPECT_EQ(item(Tensor::scalar(Scalar(int64_t{7}))), Scalar(7));
  EXPECT_THROW(item(full(std::vector<int64_t>{2}, 0, ScalarType::kFloat)), Error);
}

TEST(ComplexViews, ShareMemoryAndKeepConjugation) {
  const Tensor z =
      full(std::vector<int64_t>{2}, Scalar(complex128(1, 2)), ScalarType::kComplexFloat);
  const Tensor parts = view_as_real(z);
  parts.data<float>()[3] = 5;
  EXPECT_EQ(z.data<complex64>()[1], complex64(1, 5));
  const Tensor conjugate = conj(z);
  EXPECT_TRUE(conjugate.impl()->conjugate);
  EXPECT_EQ(contiguous(imag(conjugate)).data<float>()[1], -5.0F);
  EXPECT_THROW(view_as_real(conjugate), Error);
  EXPECT_EQ(resolve_conj(conjugate).data<complex64>()[0], complex64(1, -2));
  EXPECT_TRUE(view_as_complex(parts).storage() == z.storage());
}

}  // namespace
}  // namespace tierup::kernels
