// Transforms of all kinds of lengths against the sum that defines them.
#include "tierup/kernels/spectral/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <set>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/spectral/fft.h"
#include "tierup/kernels/spectral/fourier_line.h"

namespace tierup::kernels {
namespace {

// Numbers without a pattern, the same in each run.
Tensor signal(int64_t n, ScalarType dtype) {
  Tensor result = Tensor::empty(IntVector{n}, ScalarType::kDouble);
  uint64_t state = 12345;
  for (int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    result.data<double>()[i] = static_cast<double>(state >> 40U) / (1 << 23) - 1;
  }
  return to_dtype(result, dtype);
}

using Wide = std::complex<long double>;

// The n-th roots of unity, clockwise.
std::vector<Wide> roots_of_unity(int64_t n) {
  std::vector<Wide> roots;
  for (int64_t i = 0; i < n; ++i) {
    const long double angle = -2 * std::numbers::pi_v<long double> * i / n;
    roots.emplace_back(std::cos(angle), std::sin(angle));
  }
  return roots;
}

// The k-th number of the spectrum of real values, by its definition.
complex128 direct(const Tensor& values, const std::vector<Wide>& roots, int64_t k, bool forward) {
  const Tensor source = to_dtype(values, ScalarType::kDouble);
  const int64_t n = source.size(0);
  Wide sum = 0;
  for (int64_t i = 0, turns = 0; i < n; ++i, turns = (turns + k) % n) {
    sum += static_cast<long double>(source.data<double>()[i]) * roots[static_cast<size_t>(turns)];
  }
  return complex128(forward ? sum : std::conj(sum));
}

// All of short spectra, some numbers of long ones.
std::set<int64_t> samples(int64_t n) {
  std::set<int64_t> result;
  for (int64_t i = 0; i < (n < 300 ? n : 5); ++i) result.insert(n < 300 ? i : i * (n - 1) / 4);
  return result;
}

class Lengths : public testing::TestWithParam<int64_t> {};

TEST_P(Lengths, FollowTheDefinition) {
  const int64_t n = GetParam();
  const std::vector<Wide> roots = roots_of_unity(n);
  for (const bool in_double : {false, true}) {
    const Tensor real = signal(n, in_double ? ScalarType::kDouble : ScalarType::kFloat);
    const double bound = std::sqrt(static_cast<double>(n)) * (in_double ? 2e-14 : 3e-7);
    const ScalarType type = in_double ? ScalarType::kComplexDouble : ScalarType::kComplexFloat;
    const auto at = [](const Tensor& t, int64_t k) {
      return to_dtype(t, ScalarType::kComplexDouble).data<complex128>()[k];
    };
    const Tensor there = fft_c2c(to_dtype(real, type), {0}, 0, true);
    const Tensor back = fft_c2c(to_dtype(real, type), {0}, 0, false);
    const Tensor half = fft_r2c(real, {0}, 0, true);
    const Tensor again = fft_c2r(half, {0}, 2, n);
    for (const int64_t k : samples(n)) {
      EXPECT_LE(std::abs(at(there, k) - direct(real, roots, k, true)), bound) << n << ", " << k;
      EXPECT_LE(std::abs(at(back, k) - direct(real, roots, k, false)), bound) << n << ", " << k;
      EXPECT_LE(std::abs(at(again, k) - at(real, k)), bound) << n << ", " << k;
      if (k > n / 2) continue;
      EXPECT_LE(std::abs(at(half, k) - at(there, k)), bound) << n << ", " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SmallFactors, Lengths,
                         testing::Values(1, 2, 7, 8, 12, 32, 61, 64, 120, 122, 256, 360, 400, 512,
                                         1000, 4096));
INSTANTIATE_TEST_SUITE_P(LargePrimes, Lengths,
                         testing::Values(67, 134, 1009, 2018, 1009 * 67, 65537, 1000003));
INSTANTIATE_TEST_SUITE_P(ManyNumbers, Lengths, testing::Values(1 << 14, 15000, 3 << 18));

// Several lines are transformed at once, a line to a lane.
TEST(Fourier, ALineComesOutTheSameWhateverStandsBesideIt) {
  constexpr int64_t kLines = 11;
  for (const int64_t n : {2, 14, 15, 60, 67, 100, 101, 134, 144, 400}) {
    const Tensor lines = view(signal(kLines * n, ScalarType::kFloat), {kLines, n});
    const Tensor half = fft_r2c(lines, {1}, 0, true);
    const Tensor whole = fft_c2c(to_dtype(lines, ScalarType::kComplexFloat), {1}, 0, false);
    const Tensor again = fft_c2r(half, {1}, 2, n);
    // Lines that lie across.
    const Tensor across = fft_r2c(contiguous(transpose(lines, 0, 1)), {0}, 0, true);
    for (int64_t i = 0; i < kLines; ++i) {
      const auto row = [&](const Tensor& of) { return contiguous(select(of, 0, i)); };
      const auto same = [&](const Tensor& a, const Tensor& b) {
        return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
      };
      const Tensor line = row(lines);
      const Tensor spectrum = fft_r2c(line, {0}, 0, true);
      EXPECT_TRUE(same(row(half), spectrum)) << n << ", " << i;
      EXPECT_TRUE(same(contiguous(select(across, 1, i)), spectrum)) << n << ", " << i;
      EXPECT_TRUE(
          same(row(whole), fft_c2c(to_dtype(line, ScalarType::kComplexFloat), {0}, 0, false)))
          << n << ", " << i;
      EXPECT_TRUE(same(row(again), fft_c2r(spectrum, {0}, 2, n))) << n << ", " << i;
    }
  }
}

// Lines that overlap, lines of which some are further apart, and numbers of a line that are apart.
TEST(Fourier, LinesComeOutTheSameHoweverTheyLie) {
  constexpr int64_t kPoints = 60;
  const Tensor numbers = signal(3 * 7 * kPoints, ScalarType::kFloat);
  const auto at = [&](const IntVector& sizes, const IntVector& strides) {
    return numbers.as_view(sizes, strides, 0);
  };
  for (const Tensor& lines :
       {at({19, kPoints}, {3, 1}), at({3, 5, kPoints}, {7 * kPoints, kPoints, 1}),
        at({8, kPoints}, {1, 8}), at({8, kPoints}, {0, 1})}) {
    const auto dim = lines.dim() - 1;
    const Tensor found = fft_r2c(lines, {dim}, 0, true);
    const Tensor wanted = fft_r2c(contiguous(lines), {dim}, 0, true);
    EXPECT_EQ(std::memcmp(contiguous(found).raw(), contiguous(wanted).raw(), wanted.bytes()), 0)
        << ::testing::PrintToString(lines.strides());
  }
}

class Stop final : public Interrupt {
 public:
  void poll() const override { fail(ErrorCode::kDeadlineExceeded, "stop"); }
};

TEST(Fourier, LongLinesCanBeStopped) {
  for (const int64_t n : {int64_t{1} << 19, int64_t{1000003}}) {
    const auto line = FourierLine::make(n, false);
    const Tensor values = signal(n, ScalarType::kComplexDouble);
    const Tensor out = Tensor::empty(IntVector{n}, ScalarType::kComplexDouble);
    const Stop stop;
    const InterruptScope scope(&stop);
    EXPECT_THROW(line->transform(values.data<complex128>(), out.data<complex128>()), Error) << n;
  }
}

// Every transform over several dimensions, of real numbers or of complex ones.
using OverMany = Tensor (*)(const Tensor&, const FftList&, const FftList&, FftNorm);
constexpr OverMany kOverMany[] = {&fft_fftn,   &fft_ifftn, &fft_rfftn,
                                  &fft_irfftn, &fft_hfftn, &fft_ihfftn};

TEST(Fourier, ANumberHasNoDimensionToTransform) {
  const Tensor number = Tensor::scalar(Scalar(3.0), ScalarType::kFloat);
  for (const OverMany transform : kOverMany) {
    for (const int64_t dim : {0, -1}) {
      EXPECT_THROW(transform(number, {}, IntVector{dim}, {}), Error);
      EXPECT_THROW(transform(number, IntVector{2}, IntVector{dim}, {}), Error);
    }
  }
  const Tensor transformed = fft_fftn(number, {}, {}, {});
  EXPECT_EQ(transformed.dim(), 0);
  EXPECT_EQ(*transformed.data<complex64>(), complex64(3));
}

TEST(Fourier, RealNumbersWithoutComplexOnesOfTheirWidthAreRefused) {
  const Tensor narrow = signal(4, ScalarType::kBFloat16);
  EXPECT_THROW(fft_rfft(narrow, {}, 0, {}), Error);
  EXPECT_THROW(fft_ihfftn(narrow, {}, {}, {}), Error);
  for (const bool onesided : {false, true}) EXPECT_THROW(fft_r2c(narrow, {0}, 0, onesided), Error);
}

TEST(Fourier, ADimensionIsTransformedOnceAndOfAtMostSixtyFour) {
  for (const OverMany transform : kOverMany) {
    for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kComplexFloat}) {
      const Tensor deep = Tensor::empty(IntVector(65, 1), dtype);
      EXPECT_THROW(transform(signal(4, dtype), {}, IntVector{0, -1}, {}), Error);
      EXPECT_THROW(transform(deep, {}, IntVector{64}, {}), Error);
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
