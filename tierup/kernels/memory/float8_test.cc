#include "tierup/kernels/memory/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tierup/kernels/shape/conversion.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {
namespace {

// Zeros, ties, numbers too large or too small for one format or another, and what is no number.
const std::vector<float> kNumbers = {0.0F,  -0.0F, 1.0F,     -1.5F,     0.0019F,     448,
                                     465,   -480,  1e9F,     INFINITY,  -INFINITY,   NAN,
                                     57344, 61440, 247,      248,       0x1p-9F,     0x1p-10F,
                                     0.3F,  17,    -0.0625F, 0x1p-127F, 0x1.8p-127F, 3e38F};

struct Recorded {
  ScalarType dtype;
  const Float8Format& format;
  std::vector<uint8_t> bits;  // By PyTorch 2.15.
};

const std::vector<Recorded> kRecorded = {
    {ScalarType::kFloat8E4M3FN, kE4M3FN, {0,   128, 56,  188, 1,   126, 126, 254,
                                          126, 126, 254, 127, 126, 126, 119, 120,
                                          1,   0,   42,  88,  152, 0,   0,   126}},
    {ScalarType::kFloat8E5M2, kE5M2, {0,   128, 60, 190, 24, 95, 95, 224, 124, 124, 252, 127,
                                      123, 124, 92, 92,  24, 20, 53, 76,  172, 0,   0,   124}},
    {ScalarType::kFloat8E4M3FNUZ, kE4M3FNUZ, {0,   0,   64,  196, 2,   128, 128, 128,
                                              128, 128, 128, 128, 128, 128, 127, 128,
                                              2,   1,   50,  96,  160, 0,   0,   128}},
    {ScalarType::kFloat8E5M2FNUZ, kE5M2FNUZ, {0,   0,   64,  194, 28,  99,  99, 228,
                                              128, 128, 128, 128, 127, 128, 96, 96,
                                              28,  24,  57,  80,  176, 0,   0,  128}},
    {ScalarType::kFloat8E8M0FNU, kE8M0FNU, {0,   0,   127, 128, 118, 136, 136, 136,
                                            157, 255, 255, 255, 143, 143, 135, 135,
                                            118, 117, 125, 131, 123, 0,   1,   255}},
};

Tensor tensor_of(const std::vector<float>& numbers) {
  const Tensor tensor =
      Tensor::empty(IntVector{static_cast<int64_t>(numbers.size())}, ScalarType::kFloat);
  std::copy(numbers.begin(), numbers.end(), tensor.data<float>());
  return tensor;
}

TEST(Float8, RoundsAsPyTorch) {
  const Tensor numbers = tensor_of(kNumbers);
  for (const Recorded& recorded : kRecorded) {
    const Tensor found = convert_to(numbers, {recorded.dtype, {}, {}, false});
    const auto* bits = static_cast<const uint8_t*>(found.raw());
    for (size_t i = 0; i < kNumbers.size(); ++i) {
      EXPECT_EQ(bits[i], recorded.bits[i]) << scalar_type_name(recorded.dtype) << kNumbers[i];
    }
  }
}

// Every number that a format has comes back from it as itself, by way of wider and other types.
TEST(Float8, KeepsItsOwnNumbers) {
  for (const Recorded& recorded : kRecorded) {
    const auto values = float8_values(recorded.format);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i]) || std::isinf(values[i])) continue;
      EXPECT_EQ(to_float8(recorded.format, values[i]), i) << scalar_type_name(recorded.dtype);
    }
    const Tensor some = tensor_of({values[9], values[33], values[100]});
    const Tensor stored = convert_to(some, {recorded.dtype, {}, {}, false});
    const Tensor wide = convert_to(stored, {ScalarType::kDouble, {}, {}, false});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(wide.data<double>()[i], some.data<float>()[i]);
  }
}

TEST(Float8, ConvertsBetweenItsFormats) {
  const Tensor some =
      convert_to(tensor_of({-448, 1.0F, 0.5F}), {ScalarType::kFloat8E4M3FN, {}, {}, false});
  const Tensor other = convert_to(some, {ScalarType::kFloat8E5M2, {}, {}, false});
  const Tensor found = convert_to(other, {ScalarType::kLong, {}, {}, false});
  EXPECT_EQ(found.data<int64_t>()[0], -448);
  EXPECT_EQ(found.data<int64_t>()[1], 1);
  EXPECT_EQ(found.data<int64_t>()[2], 0);
}

}  // namespace
}  // namespace tierup::kernels
