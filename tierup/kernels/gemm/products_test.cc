#include "tierup/kernels/gemm/products.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"
#include "tierup/kernels/gemm/gemm_fixture.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

TEST(AddedProducts, TakeComplexFactors) {
  const auto of = [](const IntVector& sizes, complex64 value) {
    const Tensor result = Tensor::empty(sizes, ScalarType::kComplexFloat);
    *result.data<complex64>() = value;
    return result;
  };
  const Scalar beta(complex128(1, 2));
  const Scalar alpha(complex128(2, 3));
  const auto value = [](const Tensor& out) { return *out.data<complex64>(); };
  // (1 + 2i) (1 + i) + (2 + 3i) (1 - i) 2i
  const complex64 wanted = complex64(-1, 3) + complex64(2, 3) * complex64(2, 2);
  const Tensor matrix = of({1, 1}, {1, 1});
  const Tensor left = of({1, 1}, {1, -1});
  const Tensor right = of({1, 1}, {0, 2});
  EXPECT_EQ(value(addmm(matrix, left, right, beta, alpha)), wanted);
  const Tensor lefts = unsqueeze(left, 0);
  const Tensor rights = unsqueeze(right, 0);
  EXPECT_EQ(value(addbmm(matrix, lefts, rights, beta, alpha)), wanted);
  EXPECT_EQ(value(baddbmm(matrix, lefts, rights, beta, alpha)), wanted);
  const Tensor vector = of({1}, {0, 2});
  EXPECT_EQ(value(addmv(of({1}, {1, 1}), left, vector, beta, alpha)), wanted);
  EXPECT_EQ(value(addr(matrix, of({1}, {1, -1}), vector, beta, alpha)), wanted);
}

TEST(Vecdot, OfTwoVectorsAsksForNoAxis) {
  const Tensor x = numbers({5}, ScalarType::kFloat, 1);
  EXPECT_EQ(*vecdot(x, x, 1).data<float>(), *dot(x, x).data<float>());
  EXPECT_THROW(vecdot(numbers({2, 5}, ScalarType::kFloat, 1), x, 2), Error);
}

}  // namespace
}  // namespace tierup::kernels
