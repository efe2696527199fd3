#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/linalg/linalg_factor.h"
#include "tierup/kernels/linalg/linalg_norm.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/linalg/matrix_function.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/spectral/fft.h"

namespace tierup::kernels {
namespace {

using Doubles = std::vector<double>;

Tensor matrix() { return make_tensor<double>({2, 2}, {4, 1, 1, 3}); }

void expect_near(const Tensor& tensor, const Doubles& expected) {
  const Doubles values = values_of<double>(tensor);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-12) << i;
}

TEST(Linalg, SolvesFromBothSides) {
  const Tensor b = make_tensor<double>({2, 1}, {1, 2});
  expect_near(matmul(matrix(), solve(matrix(), b, true)), {1, 2});
  const Tensor row = make_tensor<double>({1, 2}, {1, 2});
  expect_near(matmul(solve(matrix(), row, false), matrix()), {1, 2});
}

// OpenBLAS built for one thread gave two of them the same buffer.
TEST(Linalg, SolvesABatchOnSeveralThreadsAsOneByOne) {
  constexpr int64_t kBatch = 60;
  constexpr int64_t kOrder = 64;
  const auto waves = [](IntVector sizes, double step) {
    const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.data<float>()[i] = static_cast<float>(0.1 * std::sin(step * static_cast<double>(i)));
    return t;
  };
  const Tensor triangle = waves({kBatch, kOrder, kOrder}, 0.7);
  const Tensor b = waves({kBatch, kOrder, 96}, 1.3);
  std::vector<Tensor> alone;
  for (int64_t i = 0; i < kBatch; ++i)
    alone.push_back(solve_triangular(select(triangle, 0, i), select(b, 0, i), false, true, true));
  for (int round = 0; round < 200; ++round) {
    const Tensor together = solve_triangular(triangle, b, false, true, true);
    for (int64_t i = 0; i < kBatch; ++i)
      ASSERT_EQ(values_of<float>(select(together, 0, i)),
                values_of<float>(alone[static_cast<size_t>(i)]))
          << "matrix " << i << " in round " << round;
  }
}

TEST(Linalg, SingularValuesOfNanAreRefusedByName) {
  const Tensor nan = make_tensor<double>({2, 2}, {1, std::nan(""), 2, 4});
  EXPECT_NE(message_of([&] { svdvals(nan, std::nullopt); }).find("non-finite values"),
            std::string::npos);
}

TEST(Linalg, SingularValuesOfInfinityAreNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor a = make_tensor<double>({3, 2}, {1, 2, infinity, 4, 5, 6});
  for (const double s : values_of<double>(svdvals(a, std::nullopt))) EXPECT_TRUE(std::isnan(s));
  const auto [u, s, vh] = svd(a, true, std::nullopt);
  EXPECT_TRUE(std::isnan(values_of<double>(contiguous(u))[8]));
  EXPECT_TRUE(std::isnan(values_of<double>(contiguous(vh))[3]));
  EXPECT_NE(message_of([&] { lstsq(a, a, std::nullopt, "gelsd"); }).find("non-finite values"),
            std::string::npos);
}

TEST(Linalg, LeastSquaresByGelsyHaveNoResiduals) {
  const Tensor a = make_tensor<double>({3, 1}, {1, 1, 1});
  const Tensor b = make_tensor<double>({3, 1}, {1, 2, 6});
  EXPECT_EQ(std::get<1>(lstsq(a, b, std::nullopt, "gelsy")).numel(), 0);
  EXPECT_EQ(std::get<1>(lstsq(a, b, std::nullopt, std::nullopt)).numel(), 0);
  EXPECT_NEAR(*std::get<1>(lstsq(a, b, std::nullopt, "gelsd")).data<double>(), 14, 1e-12);
}

TEST(Linalg, NamesTheReasonOfFailure) {
  const Tensor singular = make_tensor<double>({2, 2}, {1, 2, 2, 4});
  EXPECT_EQ(
      message_of([&] { inverse(singular); }),
      "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because "
      "the input matrix is singular.");
  EXPECT_NE(message_of([&] {
              cholesky(make_tensor<double>({1, 1}, {-1}), false);
            }).find("leading minor"),
            std::string::npos);
  EXPECT_THROW(inverse(counted({2, 3})), Error);
}

TEST(Linalg, FactorsMultiplyBack) {
  const auto [p, l, u] = lu(matrix(), true);
  expect_near(matmul(p, matmul(l, u)), {4, 1, 1, 3});
  const auto [q, r] = qr(matrix(), "reduced");
  expect_near(matmul(q, r), {4, 1, 1, 3});
  const auto [w, v] = eigh(matrix(), "L");
  expect_near(
      matmul(matrix(), v),
      values_of<double>(matmul(v, make_tensor<double>({2, 2}, {values_of<double>(w)[0], 0, 0,
                                                               values_of<double>(w)[1]}))));
}

// Of a square matrix the last reflection is none; here each counts.
TEST(Linalg, ReflectsATallMatrixByEachOfItsColumns) {
  const Tensor tall = make_tensor<double>({4, 2}, {1, 2, 3, 4, 5, 7, -1, 2});
  for (const char* mode : {"reduced", "complete"}) {
    const auto [q, r] = qr(tall, mode);
    expect_near(matmul(q, r), values_of<double>(tall));
    const int64_t columns = q.size(-1);
    std::vector<double> identity(static_cast<size_t>(columns * columns), 0);
    for (int64_t i = 0; i < columns; ++i) identity[static_cast<size_t>(i * (columns + 1))] = 1;
    expect_near(matmul(transpose(q, 0, 1), q), identity);
  }
}

TEST(Linalg, RefusesPivotsOutsideOfTheMatrix) {
  const auto [factor, pivots] = lu_factor(matrix(), true);
  const Tensor bad = make_tensor<int32_t>({2}, {1, 7});
  EXPECT_THROW(lu_solve(factor, bad, matrix(), true, false), Error);
}

TEST(Linalg, TakesEmptyBatchesAndMatrices) {
  const Tensor none = Tensor::empty(IntVector{0, 3, 3}, ScalarType::kDouble);
  EXPECT_EQ(inverse(none).numel(), 0);
  expect_near(det(Tensor::empty(IntVector{0, 0}, ScalarType::kDouble)), {1});
}

TEST(Linalg, ComputesFunctionsOfMatrices) {
  expect_near(matrix_power(matrix(), -1), values_of<double>(inverse(matrix())));
  expect_near(matrix_exp(make_tensor<double>({2, 2}, {0, 1, 0, 0})), {1, 1, 0, 1});
}

TEST(Fourier, ComesBack) {
  const Tensor x = make_tensor<double>({5}, {1, -2, 3, 0.5, 7});
  expect_near(fft_irfft(fft_rfft(x, {}, -1, {}), 5, -1, {}), values_of<double>(x));
  const Tensor half = fft_ihfft(x, {}, -1, {});
  expect_near(fft_hfft(half, 5, -1, {}), values_of<double>(x));
}

TEST(Fourier, RefusesEmptyAndComplexInputs) {
  EXPECT_THROW(fft_fft(counted({0}), {}, -1, {}), Error);
  EXPECT_THROW(fft_rfft(fft_fft(counted({4}), {}, -1, {}), {}, -1, {}), Error);
  EXPECT_THROW(fft_fft(counted({4}), {}, -1, "sideways"), Error);
}

// Up to 16 rows and columns by own code, larger ones by LAPACK: P L U is the matrix again.
TEST(Linalg, FactorsOfSmallAndLargeMatricesMultiplyBack) {
  const std::vector<std::pair<int64_t, int64_t>> shapes{{1, 1}, {2, 2},   {5, 3},   {3, 16},
                                                        {4, 4}, {16, 16}, {17, 17}, {16, 5}};
  for (const auto& [m, n] : shapes) {
    Tensor a = Tensor::empty(IntVector{3, m, n}, ScalarType::kDouble);
    for (int64_t i = 0; i < a.numel(); ++i)
      a.data<double>()[i] = std::sin(static_cast<double>(i * i + 1));
    const auto [factor, pivots] = lu_factor(a, true);
    const auto [p, l, u] = lu_unpack(factor, pivots, true, true);
    expect_near(matmul(p, matmul(l, u)), values_of<double>(a));
    for (const double entry : values_of<double>(contiguous(l)))
      EXPECT_LE(std::abs(entry), 1 + 1e-12) << m << " " << n;  // The largest is the pivot.
  }
}

// On both sides of the size up to which own code does it.
TEST(Linalg, SolvesAndFactorsSmallAndLargeMatrices) {
  for (const int64_t n : {1, 2, 5, 16, 17}) {
    Tensor a = Tensor::empty(IntVector{3, n, n}, ScalarType::kComplexDouble);
    for (int64_t i = 0; i < a.numel(); ++i) {
      const auto x = static_cast<double>(i * i + 1);
      a.data<complex128>()[i] = {std::sin(x), std::cos(3 * x)};
    }
    const auto expect_equal = [&](const Tensor& found, const Tensor& expected) {
      const auto left = values_of<complex128>(contiguous(found));
      const auto right = values_of<complex128>(contiguous(expected));
      ASSERT_EQ(left.size(), right.size());
      for (size_t i = 0; i < left.size(); ++i)
        EXPECT_LE(std::abs(left[i] - right[i]), 1e-9 * (1 + std::abs(right[i]))) << n << " " << i;
    };
    const Tensor b = narrow(a, 2, 0, 1);
    expect_equal(matmul(a, solve(a, b, true)), b);
    expect_equal(matmul(inverse(a), b), solve(a, b, true));
    const auto turned = [](const Tensor& x) { return resolve_conj(adjoint(x)); };
    const Tensor positive = matmul(a, turned(a));
    const Tensor lower = cholesky(positive, false);
    expect_equal(matmul(lower, turned(lower)), positive);
    expect_equal(turned(cholesky(positive, true)), lower);
  }
}

TEST(Linalg, TellsInWhichRowASmallMatrixIsNotPositive) {
  const Tensor a = make_tensor<double>({3, 3}, {4, 2, 1, 2, 1, 5, 1, 5, 9});
  for (const bool upper : {false, true})
    EXPECT_EQ(*std::get<1>(cholesky_ex(a, upper, false)).data<int32_t>(), 2);
}

TEST(Linalg, TellsAtWhichColumnASmallMatrixIsSingular) {
  const Tensor a = make_tensor<double>({3, 3}, {1, 2, 3, 2, 4, 6, 1, 1, 1});
  EXPECT_EQ(*std::get<2>(lu_factor_ex(a, true, false)).data<int32_t>(), 3);
  expect_near(det(a), {0});
}

}  // namespace
}  // namespace tierup::kernels
