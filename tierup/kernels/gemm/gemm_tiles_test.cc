#include "tierup/kernels/gemm/gemm_tiles.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm_fixture.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

class Tiles : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override { limit_instruction_set(GetParam()); }
  void TearDown() override { limit_instruction_set(InstructionSet::kAvx512); }
};

// Rows and columns, depth: parts of tiles, several slices of the depth, several threads' parts.
constexpr std::array<std::array<int64_t, 3>, 8> kShapes{{{1, 1, 1},
                                                         {7, 300, 33},
                                                         {6, 16, 16},
                                                         {97, 1030, 49},
                                                         {13, 5, 200},
                                                         {260, 70, 9},
                                                         {33, 64, 1000},
                                                         {3, 2100, 17}}};

// A dense matrix, or one whose columns lie in one piece, or one of which nothing lies side by side.
MatrixOperand laid(const Tensor& matrix, int layout, std::vector<float>& room) {
  const int64_t rows = matrix.size(0);
  const int64_t cols = matrix.size(1);
  const int64_t row = layout == 0 ? cols : layout == 1 ? 1 : 2 * cols;
  const int64_t col = layout == 0 ? 1 : layout == 1 ? rows : 2;
  room.assign(static_cast<size_t>(2 * rows * cols), -7);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j)
      room[static_cast<size_t>(i * row + j * col)] = matrix.data<float>()[i * cols + j];
  }
  return {room.data(), 0, row, col};
}

TEST_P(Tiles, GivePlainSumsHoweverTheMatricesLieAndWhateverIsAdded) {
  for (const auto& [m, k, n] : kShapes) {
    const ThreadCountScope threads(m % 2 == 0 ? 2 : 3);
    const Tensor a = numbers({m, k}, ScalarType::kFloat, 1);
    const Tensor b = numbers({k, n}, ScalarType::kFloat, 3);
    const Tensor bias = numbers({n}, ScalarType::kFloat, 2);
    for (int which = 0; which < 9; ++which) {
      std::vector<float> left;
      std::vector<float> right;
      std::vector<float> c(static_cast<size_t>(m * (n + 3)), 11);
      GemmProblem p{ScalarType::kFloat,        1,        m, n,    k, laid(a, which % 3, left),
                    laid(b, which / 3, right), c.data(), 0, n + 3};
      p.bias = which % 2 == 0 ? bias.data<float>() : nullptr;
      p.beta = which % 2 == 0 ? 0 : 1;
      gemm_tiles(p);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n + 3; ++j) {
          float sum = 11;
          if (j < n && which % 2 == 0) sum = bias.data<float>()[j];
          for (int64_t d = 0; d < k && j < n; ++d)
            sum += a.data<float>()[i * k + d] * b.data<float>()[d * n + j];
          ASSERT_EQ(c[static_cast<size_t>(i * (n + 3) + j)], sum)
              << m << "x" << k << "x" << n << " layouts " << which << " at " << i << "," << j;
        }
      }
    }
  }
}

TEST_P(Tiles, GiveARowTheBitsThatItHasAlone) {
  const ThreadCountScope threads(2);
  const int64_t m = 29;
  const int64_t k = 700;
  const int64_t n = 83;
  std::vector<float> a(static_cast<size_t>(m * k));
  std::vector<float> b(static_cast<size_t>(k * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i) * 1.7F);
  for (size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<float>(i) * 0.9F);
  std::vector<float> whole(static_cast<size_t>(m * n));
  std::vector<float> row(static_cast<size_t>(n));
  gemm_tiles({ScalarType::kFloat,
              1,
              m,
              n,
              k,
              {a.data(), 0, k, 1},
              {b.data(), 0, n, 1},
              whole.data(),
              0,
              n});
  for (int64_t i = 0; i < m; ++i) {
    gemm({ScalarType::kFloat,
          1,
          1,
          n,
          k,
          {a.data() + i * k, 0, k, 1},
          {b.data(), 0, n, 1},
          row.data(),
          0,
          n});
    ASSERT_EQ(std::memcmp(row.data(), whole.data() + i * n, row.size() * sizeof(float)), 0) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(EachLevel, Tiles,
                         testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                         InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels
