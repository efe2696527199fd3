// Numbers that do not fit, converted as PyTorch's are on this processor.
#include "tierup/kernels/memory/cast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tierup/kernels/memory/vector_casts.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {
namespace {

const std::vector<double> kAwkward = {INFINITY, -INFINITY, NAN,          3e9,           300,  -1.5,
                                      1e20,     -3e9,      2147483648.0, -2147483648.0, 70000};

// Through one element, and through the vectorised run.
template <typename To, typename From>
void expect_converted(const std::vector<To>& want) {
  const Tensor source =
      Tensor::empty(IntVector{static_cast<int64_t>(kAwkward.size())}, kDTypeOf<From>);
  for (size_t i = 0; i < kAwkward.size(); ++i) {
    source.data<From>()[i] = static_cast<From>(kAwkward[i]);
    EXPECT_EQ(convert<To>(static_cast<From>(kAwkward[i])), want[i]) << kAwkward[i];
  }
  const Tensor result = convert_to(source, {kDTypeOf<To>, {}, {}, false});
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(result.data<To>()[i], want[i]) << i;
}

template <typename From>
void expect_as_pytorch() {
  const int64_t none = std::numeric_limits<int64_t>::min();
  const int32_t small = std::numeric_limits<int32_t>::min();
  expect_converted<int64_t, From>(
      {none, none, none, 3000000000, 300, -1, none, -3000000000, 2147483648, -2147483648, 70000});
  expect_converted<int32_t, From>(
      {small, small, small, small, 300, -1, small, small, small, small, 70000});
  expect_converted<int16_t, From>({0, 0, 0, 0, 300, -1, 0, 0, 0, 0, 4464});
  expect_converted<int8_t, From>({0, 0, 0, 0, 44, -1, 0, 0, 0, 0, 112});
  expect_converted<uint8_t, From>({0, 0, 0, 0, 44, 255, 0, 0, 0, 0, 112});
}

TEST(Casts, OfNumbersThatDoNotFitAreThoseOfPyTorch) {
  expect_as_pytorch<float>();
  expect_as_pytorch<double>();
}

// Whole vectors of numbers that fit, and vectors with one that does not.
template <typename To, typename From>
void expect_each_converted() {
  const int64_t count = 1300;
  const Tensor source = Tensor::empty(IntVector{count}, kDTypeOf<From>);
  for (int64_t i = 0; i < count; ++i) {
    const auto wanted = static_cast<size_t>(i / 7) % kAwkward.size();
    const double number =
        i > 150 && i % 7 == 0 ? kAwkward[wanted] : static_cast<double>(i % 150 - 75) * 1.3;
    source.data<From>()[i] = convert<From>(number);
  }
  const Tensor result = convert_to(source, {kDTypeOf<To>, {}, {}, false});
  for (int64_t i = 0; i < count; ++i) {
    const To want = convert<To>(source.data<From>()[i]);
    EXPECT_EQ(std::memcmp(&result.data<To>()[i], &want, sizeof(To)), 0) << i;
  }
}

template <typename From>
void expect_truncated() {
  expect_each_converted<uint8_t, From>();
  expect_each_converted<int8_t, From>();
  expect_each_converted<int16_t, From>();
  expect_each_converted<int32_t, From>();
  expect_each_converted<int64_t, From>();
}

TEST(Casts, OfManyNumbersAreThoseOfEach) {
  expect_truncated<float>();
  expect_truncated<double>();
  expect_truncated<BFloat16>();
}

TEST(Casts, ToNarrowFloatsAreThoseOfEach) {
  expect_each_converted<Half, int64_t>();
  expect_each_converted<Half, int32_t>();
  expect_each_converted<Half, uint8_t>();
  expect_each_converted<double, Half>();
}

// Bytes have no sign. At every instruction set, and of blocks that end within a vector.
TEST(Casts, OfBytesToFloatAreThoseOfEach) {
  for (const InstructionSet set :
       {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set > instruction_set()) continue;
    for (int64_t count = 0; count < 70; ++count) {
      std::vector<uint8_t> bytes;
      for (int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(i * 91 + 5));
      std::vector<float> floats(static_cast<size_t>(count) + 1, -1.0F);
      dense_cast(ScalarType::kFloat, ScalarType::kByte, set)(
          reinterpret_cast<char*>(floats.data()), reinterpret_cast<const char*>(bytes.data()),
          count);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), floats.begin())) << count;
      EXPECT_EQ(floats.back(), -1.0F) << count;
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
