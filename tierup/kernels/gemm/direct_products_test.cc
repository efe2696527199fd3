// Products in which nothing is packed (gemm_thin.h), against plain sums.
#include <gtest/gtest.h>

#include <array>

#include "tierup/kernels/gemm/gemm_fixture.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor as_doubles(const Tensor& x) { return contiguous(to_dtype(x, ScalarType::kDouble)); }

// found (batch x m x n) against a (batch x m x k) times b (batch x k x n) plus bias (n).
void expect_sums(const Tensor& found, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Tensor out = as_doubles(found);
  const Tensor left = as_doubles(a);
  const Tensor right = as_doubles(b);
  const Tensor added = as_doubles(bias);
  const int64_t m = a.size(1);
  const int64_t k = a.size(2);
  const int64_t n = b.size(2);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double* row = left.data<double>() + i / n * k;
    const double* column = right.data<double>() + i / n / m * k * n + i % n;
    double sum = added.data<double>()[i % n];
    for (int64_t p = 0; p < k; ++p) sum += row[p] * column[p * n];
    ASSERT_EQ(out.data<double>()[i], sum) << m << "x" << k << "x" << n << " at " << i;
  }
}

class DirectProducts : public testing::TestWithParam<std::array<int64_t, 3>> {};

TEST_P(DirectProducts, AreThoseOfPlainSumsHoweverTheMatricesLie) {
  const auto [m, k, n] = GetParam();
  for (const ScalarType dtype : {ScalarType::kDouble, ScalarType::kFloat}) {
    const Tensor none = numbers({n}, dtype, 0);
    fill(none, 0);
    const Tensor bias = numbers({n}, dtype, 2);
    const Tensor a = numbers({3, m, k}, dtype, 1);
    const Tensor b = numbers({3, k, n}, dtype, 3);
    const Tensor one = narrow(b, 0, 0, 1);
    const Tensor shared = expand_to(one, IntVector{3, k, n});
    for (const bool is_turned : {false, true}) {
      const auto laid = [is_turned](const Tensor& x) {
        if (!is_turned) return x;
        return transpose(clone(transpose(x, 1, 2), MemoryFormat::kContiguous), 1, 2);
      };
      expect_sums(bmm(laid(a), laid(b)), a, b, none);
      expect_sums(bmm(a, expand_to(laid(one), IntVector{3, k, n})), a, shared, none);
      const Tensor left = squeeze_dim(narrow(laid(a), 0, 0, 1), 0);
      const Tensor right = squeeze_dim(laid(one), 0);
      expect_sums(unsqueeze(mm(left, right), 0), narrow(a, 0, 0, 1), one, none);
      expect_sums(unsqueeze(addmm(bias, left, right, 1, 1), 0), narrow(a, 0, 0, 1), one, bias);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, DirectProducts,
    testing::Values(std::array<int64_t, 3>{2, 300, 203}, std::array<int64_t, 3>{8, 77, 130},
                    std::array<int64_t, 3>{200, 1, 333}, std::array<int64_t, 3>{1001, 5, 7},
                    std::array<int64_t, 3>{77, 21, 77}, std::array<int64_t, 3>{15, 16, 1000},
                    std::array<int64_t, 3>{31, 129, 65}, std::array<int64_t, 3>{1, 67, 37},
                    std::array<int64_t, 3>{67, 67, 1}));

}  // namespace
}  // namespace tierup::kernels
