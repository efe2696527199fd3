#include "tierup/kernels/pointwise/pointwise.h"
#include "tierup/kernels/pointwise/python_division.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/creation.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {
namespace {

template <typename T>
Tensor make(std::initializer_list<int64_t> sizes, std::initializer_list<double> values) {
  const std::vector<int64_t> shape(sizes);
  Tensor t = Tensor::empty(shape, kDTypeOf<T>);
  T* out = t.data<T>();
  for (const double v : values) *out++ = static_cast<T>(v);
  return t;
}

TEST(Pointwise, PromotesMixedOperandsWithoutTemporaries) {
  const Tensor ints = make<int32_t>({3}, {1, 2, 3});
  const Tensor halves = make<Half>({3}, {0.5, 1.5, 2.5});
  const Tensor sum = pointwise({Body::kAdd}, {ints, halves});
  EXPECT_EQ(sum.dtype(), ScalarType::kHalf);
  EXPECT_EQ(static_cast<float>(sum.data<Half>()[2]), 5.5F);
  const Tensor quotient = pointwise({Body::kDiv, Promote::kFloating}, {ints, Operand(Scalar(2))});
  EXPECT_EQ(quotient.data<float>()[0], 0.5F);
}

// The square of the largest number of each width: 2^(2n) - 2^(n + 1) + 1.
TEST(Pointwise, WrapsIntegersOfEachWidth) {
  const auto square_of = [](const Tensor& x) { return pointwise({Body::kMul}, {x, x}); };
  EXPECT_EQ(*square_of(make<uint8_t>({1}, {255})).data<uint8_t>(), 1);
  EXPECT_EQ(*square_of(make<int8_t>({1}, {127})).data<int8_t>(), 1);
  EXPECT_EQ(*square_of(make<int16_t>({1}, {-1})).data<int16_t>(), 1);
  EXPECT_EQ(*square_of(make<int16_t>({1}, {32767})).data<int16_t>(), 1);
  EXPECT_EQ(*square_of(make<int32_t>({1}, {2147483647})).data<int32_t>(), 1);
}

// The least number of a type has no magnitude; what Euclid's algorithm makes of it is PyTorch's.
TEST(Pointwise, CommonDivisorsOfTheLeastNumber) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const Tensor a = make<int64_t>({4}, {kLeast, kLeast, 6, kLeast});
  const Tensor b = make<int64_t>({4}, {6, 0, kLeast, kLeast});
  const Tensor out = pointwise({Body::kGcd}, {a, b});
  const std::vector<int64_t> found(out.data<int64_t>(), out.data<int64_t>() + 4);
  EXPECT_EQ(found, (std::vector<int64_t>{-2, kLeast, -2, kLeast}));
}

TEST(Pointwise, BroadcastsRowsAndColumns) {
  const Tensor row = make<float>({3}, {1, 2, 3});
  const Tensor column = make<float>({2, 1}, {10, 20});
  const Tensor sum = pointwise({Body::kAdd}, {row, column});
  ASSERT_EQ(sum.numel(), 6);
  EXPECT_EQ(sum.data<float>()[5], 23.0F);
}

Tensor counted(const IntVector& sizes) {
  const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = static_cast<float>(i % 1009) - 500;
  return t;
}

// Runs of 1 to 33 elements, within blocks and over their ends.
TEST(Pointwise, BroadcastsAlongShortRuns) {
  for (const int64_t width : {2, 3, 5, 8, 31, 33}) {
    const IntVector sizes{70, 11, width};
    for (const IntVector& other :
         {IntVector{70, 11, 1}, IntVector{1, 11, 1}, IntVector{70, 1, width}, IntVector{width},
          IntVector{70, 1, 1}}) {
      const Tensor a = counted(sizes);
      const Tensor b = counted(other);
      const Tensor whole = clone(expand_to(b, IntSpan(sizes)), MemoryFormat::kContiguous);
      const Tensor got = pointwise({Body::kSub}, {a, b});
      const Tensor wanted = pointwise({Body::kSub}, {a, whole});
      ASSERT_EQ(got.numel(), a.numel());
      for (int64_t i = 0; i < got.numel(); ++i)
        ASSERT_EQ(got.data<float>()[i], wanted.data<float>()[i]) << i << " of " << width;
      const Tensor flags = pointwise({Body::kLt}, {b, a});  // The result's elements are narrower.
      for (int64_t i = 0; i < got.numel(); ++i)
        ASSERT_EQ(flags.data<bool>()[i], wanted.data<float>()[i] > 0) << i << " of " << width;
    }
  }
}

// Operands that are one number for each row, or for all of them, beside dense ones.
TEST(Pointwise, TakesOneNumberForAWholeRow) {
  const IntVector sizes{7, 5, 1300};
  const Tensor rows = counted(sizes);
  const Tensor numbers = counted({7, 1, 1});
  const Tensor line = counted({1300});
  const auto written_out = [&](const Tensor& t) {
    return clone(expand_to(t, IntSpan(sizes)), MemoryFormat::kContiguous);
  };
  const Tensor column = written_out(numbers);
  const std::pair<Tensor, Tensor> pairs[] = {
      {pointwise({Body::kSub}, {numbers, rows}), pointwise({Body::kSub}, {column, rows})},
      {pointwise({Body::kDiv}, {line, expand_to(numbers, IntSpan(IntVector{7, 5, 1}))}),
       pointwise({Body::kDiv}, {written_out(line), column})},
      {pointwise({Body::kLerp}, {rows, numbers, Scalar(0.3)}),
       pointwise({Body::kLerp}, {rows, column, Scalar(0.3)})},
  };
  for (const auto& [got, wanted] : pairs) {
    ASSERT_EQ(got.numel(), wanted.numel());
    for (int64_t i = 0; i < wanted.numel(); ++i)
      ASSERT_EQ(got.data<float>()[i], wanted.data<float>()[i]) << i;
  }
}

TEST(Pointwise, GivesTheRemaindersOfDivisionsWithoutRounding) {
  const std::vector<double> special{0.0,  -0.0,     1.0,       -1.0,       1e-40, 3.5,
                                    -2.5, 1e20,     0.1,       7.0,        NAN,   1e30,
                                    0.75, INFINITY, -INFINITY, 16777217.0, -7.0,  1e-3};
  std::vector<float> a;
  std::vector<float> b;
  for (const double x : special) {
    for (const double y : special) {
      a.push_back(static_cast<float>(x));
      b.push_back(static_cast<float>(y));
    }
  }
  for (int i = 0; i < 4096; ++i) {  // Some quotients round up to whole numbers.
    b.push_back(static_cast<float>(i % 37 + 1) * 0.1F * (i % 3 == 0 ? -1.0F : 1.0F));
    const float whole = b.back() * static_cast<float>(i % 101);
    a.push_back(i % 2 == 0 ? std::nextafter(whole, 0.0F) : whole + static_cast<float>(i) * 1e-3F);
  }
  const IntVector sizes{static_cast<int64_t>(a.size())};
  const auto tensor = [&](const std::vector<float>& values) {
    const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
    std::copy(values.begin(), values.end(), t.data<float>());
    return t;
  };
  const Tensor truncated = pointwise({Body::kFmod}, {tensor(a), tensor(b)});
  const Tensor floored = pointwise({Body::kRemainder}, {tensor(a), tensor(b)});
  const Tensor quotients = pointwise({Body::kDivFloor}, {tensor(a), tensor(b)});
  for (size_t i = 0; i < a.size(); ++i) {
    const float left = std::fmod(a[i], b[i]);
    const float wanted = left != 0 && (b[i] < 0) != (left < 0) ? left + b[i] : left;
    for (const auto& [got, value] :
         {std::pair(truncated.data<float>()[i], left), std::pair(floored.data<float>()[i], wanted),
          std::pair(quotients.data<float>()[i], floor_quotient(a[i], b[i]))}) {
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(got)) << a[i] << " by " << b[i];
      } else {
        ASSERT_EQ(got, value) << a[i] << " by " << b[i];
        ASSERT_EQ(std::signbit(got), std::signbit(value)) << a[i] << " by " << b[i];
      }
    }
  }
}

TEST(Pointwise, RoundsNumbersToTheNarrowTypeWhenComparing) {
  const Tensor halves = make<Half>({1}, {0.1});
  const Tensor same = pointwise({Body::kEq}, {halves, Operand(Scalar(0.1))});
  EXPECT_TRUE(same.data<bool>()[0]);
}

TEST(Pointwise, WritesIntoItsOwnOperand) {
  const Tensor t = make<float>({2}, {1, 2});
  const uint32_t version = t.version();
  pointwise_into(t, {Body::kMul}, {t, Operand(Scalar(3.0))});
  EXPECT_EQ(t.data<float>()[1], 6.0F);
  EXPECT_EQ(t.version(), version + 1);
}

TEST(Pointwise, RoundsHalvesBeforeAWiderTensorTakesThem) {
  const Tensor x = make<BFloat16>({2}, {1, 3});
  const Tensor y = make<BFloat16>({2}, {1.0 / 512, 1});
  const Tensor out = make<float>({2}, {0, 0});
  pointwise_into(out, {Body::kAdd}, {x, y});
  EXPECT_EQ(out.data<float>()[0], 1.0F);
  EXPECT_EQ(out.data<float>()[1], 4.0F);
}

TEST(Pointwise, RefusesResultsThatDoNotFitTheWrittenTensor) {
  const Tensor ints = make<int64_t>({2}, {1, 2});
  EXPECT_THROW(pointwise_into(ints, {Body::kDiv, Promote::kFloating}, {ints, Operand(Scalar(2))}),
               Error);
  const Tensor wide = make<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_THROW(pointwise_into(ints, {Body::kAdd}, {ints, wide}), Error);
  const Tensor single = make<float>({1}, {1});
  const std::vector<int64_t> sizes{3};
  const Tensor expanded = expand_to(single, sizes);
  EXPECT_THROW(pointwise_into(expanded, {Body::kAdd}, {expanded, Operand(Scalar(1))}), Error);
}

TEST(Pointwise, DividesIntegersAsPython) {
  const Tensor a = make<int64_t>({4}, {7, -7, 7, -7});
  const Tensor b = make<int64_t>({4}, {2, 2, -2, -2});
  const Tensor floored = evaluate(div_mode(a, b, "floor"));
  const Tensor rest = pointwise({Body::kRemainder}, {a, b});
  const std::vector<int64_t> want_floored{3, -4, -4, 3};
  const std::vector<int64_t> want_rest{1, 1, -1, -1};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(floored.data<int64_t>()[i], want_floored[i]);
    EXPECT_EQ(rest.data<int64_t>()[i], want_rest[i]);
  }
  EXPECT_THROW(pointwise({Body::kRemainder}, {a, Operand(Scalar(0))}), Error);
  const Tensor lowest = make<int64_t>({1}, {0});
  fill(lowest, Scalar(INT64_MIN));
  EXPECT_EQ(evaluate(div_mode(lowest, Scalar(-1), "trunc")).data<int64_t>()[0], INT64_MIN);
}

TEST(Pointwise, NamesTheDtypeThatABodyDoesNotTake) {
  const Tensor flags = make<bool>({1}, {1});
  try {
    evaluate(gelu(flags, "none"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("not implemented for 'Bool'"), std::string::npos);
  }
}

TEST(Pointwise, KeepsNansInClampAndMaximum) {
  const Tensor t = make<float>({3}, {NAN, -5, 5});
  const Tensor clamped = evaluate(clamp(t, Operand(Scalar(-1)), Operand(Scalar(1))));
  EXPECT_TRUE(std::isnan(clamped.data<float>()[0]));
  EXPECT_EQ(clamped.data<float>()[1], -1.0F);
  EXPECT_EQ(clamped.data<float>()[2], 1.0F);
}

// PyTorch's vectors take the formula as it stands, and its tails do the same.
TEST(Pointwise, MultipliesComplexNumbersByTheFormula) {
  Tensor a = Tensor::empty(IntVector{37}, ScalarType::kComplexFloat);
  Tensor b = Tensor::empty(IntVector{37}, ScalarType::kComplexFloat);
  for (int i = 0; i < 37; ++i) {
    a.data<complex64>()[i] = {static_cast<float>(i) - 18, static_cast<float>(i % 5)};
    b.data<complex64>()[i] = {static_cast<float>(i % 7), 3 - static_cast<float>(i)};
  }
  a.data<complex64>()[36] = {INFINITY, NAN};  // std::complex makes an infinity of this one.
  b.data<complex64>()[36] = {1, 0};
  const Tensor product = pointwise({Body::kMul}, {a, b});
  for (int i = 0; i < 36; ++i)
    EXPECT_EQ(product.data<complex64>()[i], a.data<complex64>()[i] * b.data<complex64>()[i]) << i;
  EXPECT_TRUE(std::isnan(product.data<complex64>()[36].real()));
  EXPECT_TRUE(std::isnan(product.data<complex64>()[36].imag()));
}

TEST(Pointwise, DividesComplexNumbersAtTheEndsOfTheirRange) {
  const std::vector<complex64> numbers{{3e38F, -3e38F}, {1e-40F, 2e-38F}, {0, 0},
                                       {INFINITY, 1},   {NAN, 2},         {-2, 0.5F}};
  for (const complex64 a : numbers) {
    for (const complex64 b : numbers) {
      const Tensor left = full(IntVector{1}, Scalar(complex128(a)), ScalarType::kComplexFloat);
      const Tensor right = full(IntVector{1}, Scalar(complex128(b)), ScalarType::kComplexFloat);
      const complex64 found = *pointwise({Body::kDiv}, {left, right}).data<complex64>();
      const complex64 wanted = a / b;
      const auto agrees = [](float x, float y) {
        return std::isnan(x) == std::isnan(y) &&
               (std::isnan(x) || x == y || std::abs(x - y) <= 1e-6F * std::abs(y));
      };
      EXPECT_TRUE(agrees(found.real(), wanted.real()) && agrees(found.imag(), wanted.imag()))
          << a << " / " << b << ": " << found << ", not " << wanted;
    }
  }
}

// Vectors of plain numbers, with extreme ones at every place of some, and ends of all lengths.
TEST(Pointwise, ComplexVectorsAreThePlainLoops) {
  const std::vector<complex64> extremes{{3e38F, -3e38F}, {1e-40F, 2e-38F}, {0, 0},      {-0.0F, 0},
                                        {INFINITY, 1},   {NAN, 2},         {0, 1e-30F}, {1e25F, 1}};
  const int64_t count = 2 * 64 + 13;
  std::vector<complex64> a(count);
  std::vector<complex64> b(count);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<float>(i);
    a[i] = {std::sin(at) * 7, std::cos(3 * at)};
    b[i] = {std::cos(at) + 1.5F, std::sin(5 * at) * 3};
    if (i >= 64 && i % 5 == 0) a[i] = extremes[i / 5 % extremes.size()];
    if (i >= 64 && i % 7 == 0) b[i] = extremes[i / 7 % extremes.size()];
  }
  const char* const in[] = {reinterpret_cast<const char*>(a.data()),
                            reinterpret_cast<const char*>(b.data())};
  const ComplexRuns& plain = plain_complex_runs();
  const BlockRun angle = [](char* out, const char* const* numbers, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      reinterpret_cast<float*>(out)[i] =
          std::arg(reinterpret_cast<const complex64*>(numbers[0])[i]);
    }
  };
  const std::pair<Body, BlockRun> runs[] = {{Body::kAbs, plain.abs},
                                            {Body::kAngle, angle},
                                            {Body::kSgn, plain.sgn},
                                            {Body::kMul, plain.mul},
                                            {Body::kDiv, plain.div}};
  for (const auto& [body, run] : runs) {
    const Variant& variant = *RunTable::instance().find(body, ScalarType::kComplexFloat);
    const int64_t parts = variant.out == ScalarType::kFloat ? 1 : 2;
    for (const int64_t length : {int64_t{1}, int64_t{15}, int64_t{16}, int64_t{33}, count}) {
      std::vector<float> found(static_cast<size_t>(length * parts));
      std::vector<float> wanted(found);
      variant.run(reinterpret_cast<char*>(found.data()), in, length);
      run(reinterpret_cast<char*>(wanted.data()), in, length);
      for (size_t i = 0; i < found.size(); ++i) {
        const bool same = found[i] == wanted[i] || (std::isnan(found[i]) && std::isnan(wanted[i]));
        EXPECT_TRUE(same || std::abs(found[i] - wanted[i]) <= 4e-7F * std::abs(wanted[i]))
            << body_name(body) << " at " << i << ": " << found[i] << ", not " << wanted[i];
      }
    }
  }
}

// One quotient of sums and differences must not lose what the quotient of both has.
TEST(Pointwise, TakesAnglesOfExtremeNumbers) {
  const std::vector<double> numbers{0,     -0.0,   1,        -3.5,      5e-324, 1.7e308, -1.6e308,
                                    1e300, 1e-300, INFINITY, -INFINITY, NAN,    2,       -0.7};
  for (const double a : numbers) {
    for (const double b : numbers) {
      const double wanted = std::atan2(a, b);
      const double found =
          *pointwise({Body::kAtan2}, {make<double>({1}, {a}), make<double>({1}, {b})})
               .data<double>();
      const auto x = static_cast<float>(a);
      const auto y = static_cast<float>(b);
      const float narrow =
          *pointwise({Body::kAtan2}, {make<float>({1}, {x}), make<float>({1}, {y})}).data<float>();
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(found) && std::isnan(narrow)) << a << " " << b;
        continue;
      }
      EXPECT_NEAR(found, wanted, 4e-16 * std::abs(wanted)) << a << " " << b;
      EXPECT_EQ(std::signbit(found), std::signbit(wanted)) << a << " " << b;
      EXPECT_FLOAT_EQ(narrow, std::atan2(x, y)) << a << " " << b;
    }
  }
}

TEST(Pointwise, TakesLengthsAndNeighboursOfExtremeNumbers) {
  const auto of = [](Body body, float a, float b) {
    return *pointwise({body}, {make<float>({1}, {a}), make<float>({1}, {b})}).data<float>();
  };
  const std::vector<float> numbers{0, -0.0F, 1, -3.5F, 1e-45F, 3e38F, -INFINITY, -2e38F, 1e-30F};
  for (const float a : numbers) {
    for (const float b : numbers) {
      EXPECT_FLOAT_EQ(of(Body::kHypot, a, b), std::hypot(a, b)) << a << " " << b;
      EXPECT_EQ(of(Body::kNextafter, a, b), std::nextafter(a, b)) << a << " " << b;
    }
    EXPECT_TRUE(std::isnan(of(Body::kNextafter, a, NAN)));
    EXPECT_TRUE(std::isnan(of(Body::kNextafter, NAN, a)));
    EXPECT_EQ(std::isnan(of(Body::kHypot, NAN, a)), !std::isinf(a)) << a;
  }
  EXPECT_TRUE(std::signbit(of(Body::kNextafter, 0, -1)));
}

template <typename T>
void expect_parts(std::vector<T> numbers) {
  for (T x : std::vector<T>(numbers)) numbers.push_back(-x);
  const Tensor x = Tensor::empty(IntVector{static_cast<int64_t>(numbers.size())}, kDTypeOf<T>);
  std::copy(numbers.begin(), numbers.end(), x.data<T>());
  const auto [mantissa, exponent] = frexp(x);
  for (size_t i = 0; i < numbers.size(); ++i) {
    int wanted = 0;
    const T part = std::frexp(numbers[i], &wanted);
    EXPECT_TRUE(mantissa.template data<T>()[i] == part || std::isnan(part)) << numbers[i];
    EXPECT_EQ(std::signbit(mantissa.template data<T>()[i]), std::signbit(part)) << numbers[i];
    EXPECT_EQ(exponent.template data<int32_t>()[i], wanted) << numbers[i];
  }
}

TEST(Pointwise, SplitsNumbersAsTheCLibrary) {
  expect_parts<float>({0, 1, 0.5, 3, 1e-45F, 1e-39F, 1.17549435e-38F, 3.4e38F, INFINITY, NAN});
  expect_parts<double>(
      {0, 1, 0.5, 3, 5e-324, 1e-310, 2.2250738585072014e-308, 1.7e308, INFINITY, NAN});
}

TEST(Pointwise, TakesAnglesAndSignsOfRealNumbers) {
  std::vector<double> numbers{1, -1, 0, -0.0, INFINITY, -INFINITY, NAN};
  numbers.resize(40, -2);
  const Tensor x = Tensor::empty(IntVector{40}, ScalarType::kDouble);
  std::copy(numbers.begin(), numbers.end(), x.data<double>());
  const Tensor angle = pointwise({Body::kAngle}, {x});
  const Tensor sign = pointwise({Body::kSignbit}, {x});
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(sign.data<bool>()[i], std::signbit(numbers[i]));
    const double wanted = numbers[i] < 0 ? M_PI : 0;
    EXPECT_TRUE(angle.data<double>()[i] == wanted || std::isnan(numbers[i])) << numbers[i];
  }
  EXPECT_TRUE(std::isnan(angle.data<double>()[6]));
}

// Around zero, both ends and 2^51, from where on doubles no longer do.
template <typename T>
std::vector<T> whole_numbers() {
  std::vector<T> all{1,
                     -1,
                     2,
                     -2,
                     3,
                     7,
                     -13,
                     1000003,
                     -77,
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max() / 3};
  if constexpr (sizeof(T) == 8) {
    for (const T n :
         {T{1} << 51, (T{1} << 51) - 1, -(T{1} << 51) + 1, (T{1} << 53) + 1, T{1} << 40})
      all.push_back(n);
  }
  return all;
}

template <typename T>
void expect_quotients() {
  const std::vector<T> divisors = whole_numbers<T>();
  std::vector<T> numbers = divisors;
  for (T i = -40; i < 40; ++i) numbers.push_back(i);
  for (const T b : divisors) {
    const Tensor y = make<T>({1}, {0});
    *y.data<T>() = b;
    const Tensor x = Tensor::empty(IntVector{static_cast<int64_t>(numbers.size())}, kDTypeOf<T>);
    std::copy(numbers.begin(), numbers.end(), x.data<T>());
    const auto of = [&](Body body) { return pointwise({body}, {x, y}); };
    const Tensor found[] = {of(Body::kDivTrunc), of(Body::kDivFloor), of(Body::kFmod),
                            of(Body::kRemainder)};
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto wide = static_cast<__int128>(numbers[i]);
      const __int128 rest = wide % b;
      const __int128 down = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
      const T wanted[] = {static_cast<T>(wide / b), static_cast<T>(wide / b - down),
                          static_cast<T>(rest), static_cast<T>(rest + down * b)};
      for (int k = 0; k < 4; ++k)
        EXPECT_EQ(found[k].template data<T>()[i], wanted[k]) << k << ": " << numbers[i] << " " << b;
    }
  }
}

TEST(Pointwise, DividesIntegersOfAllSizes) {
  expect_quotients<int32_t>();
  expect_quotients<int64_t>();
  const Tensor x = arange(Scalar(int64_t{0}), Scalar(int64_t{40}), Scalar(int64_t{1}), {});
  EXPECT_THROW(pointwise({Body::kDivFloor}, {x, make<int64_t>({1}, {0})}), Error);
}

}  // namespace
}  // namespace tierup::kernels
