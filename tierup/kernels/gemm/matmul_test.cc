#include "tierup/kernels/gemm/matmul.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/gemm/gemm_fixture.h"
#include "tierup/kernels/gemm/products.h"
#include "tierup/kernels/indexing/rearrange.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// Values whose products and sums are rounded.
Tensor fractions(const IntVector& sizes) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = std::sin(static_cast<float>(i + 1) * 1.7F);
  }
  return result;
}

std::vector<uint32_t> bits_of(const Tensor& tensor) {
  const Tensor dense = contiguous(tensor);
  std::vector<uint32_t> bits(static_cast<size_t>(dense.numel()));
  std::memcpy(bits.data(), dense.data<float>(), bits.size() * sizeof(uint32_t));
  return bits;
}

void expect_product(const Tensor& a, const Tensor& b) {
  const Tensor out = to_dtype(mm(a, b), ScalarType::kDouble);
  const Tensor left = contiguous(to_dtype(a, ScalarType::kDouble));
  const Tensor right = contiguous(to_dtype(b, ScalarType::kDouble));
  const int64_t m = a.size(0);
  const int64_t n = b.size(1);
  const int64_t k = a.size(1);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += left.data<double>()[i * k + p] * right.data<double>()[p * n + j];
      ASSERT_EQ(out.data<double>()[i * n + j], sum)
          << scalar_type_name(a.dtype()) << " " << i << " " << j;
    }
  }
}

TEST(Matmul, MultipliesEveryDtypeInEveryLayout) {
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kLong,
                                 ScalarType::kInt, ScalarType::kBFloat16, ScalarType::kHalf}) {
    for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 1, 1},
                                  {1, 5, 7},
                                  {7, 5, 1},
                                  {1, 70, 150},
                                  {3, 0, 4},
                                  {13, 9, 29},
                                  {20, 40, 50},
                                  {70, 40, 50}}) {
      const Tensor a = numbers({m, k}, dtype, 1);
      const Tensor b = numbers({k, n}, dtype, 3);
      expect_product(a, b);
      expect_product(t(contiguous(t(a))), b);
      expect_product(a, t(contiguous(t(b))));
      expect_product(t(contiguous(t(a))), t(contiguous(t(b))));
    }
  }
}

// Integers wrap around at their own size, and complex numbers multiply by parts, also beyond one
// block of rows, columns and depth.
TEST(Matmul, MultipliesIntegersAndComplexNumbersByBlocks) {
  for (const ScalarType dtype : {ScalarType::kLong, ScalarType::kInt, ScalarType::kShort,
                                 ScalarType::kChar, ScalarType::kByte}) {
    const Tensor a = to_dtype(numbers({101, 300}, ScalarType::kLong, 1), dtype);
    const Tensor b = to_dtype(numbers({300, 203}, ScalarType::kLong, 3), dtype);
    const auto wide = [](const Tensor& x) { return to_dtype(x, ScalarType::kDouble); };
    const Tensor product = to_dtype(to_dtype(mm(wide(a), wide(b)), ScalarType::kLong), dtype);
    const Tensor wanted = to_dtype(product, ScalarType::kLong);
    const Tensor found = to_dtype(mm(a, t(contiguous(t(b)))), ScalarType::kLong);
    for (int64_t i = 0; i < wanted.numel(); ++i)
      ASSERT_EQ(found.data<int64_t>()[i], wanted.data<int64_t>()[i]) << scalar_type_name(dtype);
  }
  const auto complex = [](const IntVector& sizes, int64_t seed) {
    const Tensor result = Tensor::empty(sizes, ScalarType::kComplexFloat);
    for (int64_t i = 0; i < result.numel(); ++i) {
      result.data<complex64>()[i] = {static_cast<float>((i * 7 + seed) % 5 - 2),
                                     static_cast<float>((i * 3 + seed) % 7 - 3)};
    }
    return result;
  };
  const Tensor a = complex({101, 300}, 1);
  const Tensor b = complex({300, 203}, 2);
  const Tensor out = mm(a, b);
  for (int64_t i = 0; i < 101; i += 5) {
    for (int64_t j = 0; j < 203; j += 7) {
      complex64 sum = 0;
      for (int64_t p = 0; p < 300; ++p)
        sum += a.data<complex64>()[i * 300 + p] * b.data<complex64>()[p * 203 + j];
      ASSERT_EQ(out.data<complex64>()[i * 203 + j], sum) << i << " " << j;
    }
  }
}

// Thin products do not show in the bits which kernel made them.
TEST(Matmul, FewNumbersOfABatchHaveTheSameBitsAsLargerProducts) {
  for (const auto& [m, k, n] :
       {std::array<int64_t, 3>{4, 4, 1}, {1, 4, 4}, {3, 3, 3}, {1, 700, 37}, {37, 700, 1}}) {
    for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble}) {
      if (k == 700 && dtype == ScalarType::kFloat) continue;  // That is a library's.
      const Tensor a = to_dtype(fractions({9, m, k}), dtype);
      const Tensor b = to_dtype(fractions({9, k, n}), dtype);
      const Tensor thin = bmm(a, transpose(contiguous(transpose(b, 1, 2)), 1, 2));
      for (int64_t i = 0; i < 9; ++i) {
        // Of 8 rows and columns nothing is thin.
        const Tensor tall = expand_to(narrow(select(a, 0, i), 0, 0, 1), IntVector{8, k});
        const Tensor wide = expand_to(narrow(select(b, 0, i), 1, 0, 1), IntVector{k, 8});
        const Tensor one = mm(contiguous(tall), contiguous(wide));
        EXPECT_EQ(
            to_dtype(narrow(reshape(select(thin, 0, i), {m * n}), 0, 0, 1), ScalarType::kDouble)
                .data<double>()[0],
            to_dtype(narrow(reshape(one, {64}), 0, 0, 1), ScalarType::kDouble).data<double>()[0]);
      }
    }
  }
}

// Rows, dense or not, times matrices that lie either way.
TEST(Matmul, OfHalvesRoundsTheSumsOfFloatsOnce) {
  for (const ScalarType dtype : {ScalarType::kHalf, ScalarType::kBFloat16}) {
    for (const int64_t rows : {1, 3, 20}) {
      const Tensor x = to_dtype(fractions({rows, 300}), dtype);
      const Tensor w = to_dtype(fractions({70, 300}), dtype);
      const Tensor b = to_dtype(fractions({70}), dtype);
      for (const Tensor& weight : {w, transpose(contiguous(transpose(w, 0, 1)), 0, 1)}) {
        const Tensor found = to_dtype(linear(x, weight, b), ScalarType::kFloat);
        const auto wide = [](const Tensor& t) { return to_dtype(t, ScalarType::kFloat); };
        const Tensor sums = linear(wide(x), wide(weight), wide(b));
        for (int64_t i = 0; i < found.numel(); ++i)
          EXPECT_NEAR(
              found.data<float>()[i], sums.data<float>()[i],
              std::abs(sums.data<float>()[i]) / (dtype == ScalarType::kHalf ? 2000 : 250) + 1e-5);
      }
    }
  }
}

TEST(Matmul, LongVectorsHaveTheDotProductOfTheirNumbers) {
  for (const int64_t length : {65536, 65537, 100003}) {
    const Tensor x = numbers({2 * length}, ScalarType::kFloat, 1);
    const Tensor y = numbers({length}, ScalarType::kFloat, 2);
    double sum = 0;
    for (int64_t i = 0; i < length; ++i)
      sum += static_cast<double>(x.data<float>()[2 * i]) * y.data<float>()[i];
    EXPECT_EQ(dot(x.as_view(IntVector{length}, IntVector{2}, 0), y).data<float>()[0], sum);
    const Tensor wide =
        dot(to_dtype(x.as_view(IntVector{length}, IntVector{2}, 0), ScalarType::kDouble),
            to_dtype(y, ScalarType::kDouble));
    EXPECT_EQ(wide.data<double>()[0], sum);
  }
}

TEST(Matmul, OfBfloat16TakesBiasesBatchesAndFactorsAsOfFloat) {
  const auto both = [](const auto& product) {
    const Tensor wanted = product(ScalarType::kFloat);
    const Tensor found = to_dtype(product(ScalarType::kBFloat16), ScalarType::kFloat);
    EXPECT_EQ(bits_of(found), bits_of(wanted));
  };
  both([](ScalarType dtype) {
    return linear(numbers({3, 40, 24}, dtype, 1), numbers({72, 24}, dtype, 2),
                  numbers({72}, dtype, 3));
  });
  both([](ScalarType dtype) {
    return baddbmm(numbers({3, 40, 72}, dtype, 1), numbers({3, 40, 24}, dtype, 2),
                   numbers({3, 24, 72}, dtype, 3), Scalar(2), Scalar(1));
  });
}

// Heads that a view of a longer row shows: rows of one matrix between those of another, in any
// role.
TEST(Matmul, MultipliesMatricesThatLieBetweenOneAnother) {
  const auto by_rows = [](int64_t rows, int64_t columns, ScalarType dtype) {
    return transpose(numbers({rows, 3, columns}, dtype, rows), 0, 1);
  };
  const auto by_columns = [&](int64_t rows, int64_t columns, ScalarType dtype) {
    return transpose(by_rows(columns, rows, dtype), 1, 2);
  };
  const auto expect_each = [](const Tensor& left, const Tensor& right) {
    const Tensor product = bmm(left, right);
    for (int64_t i = 0; i < 3; ++i) {
      const Tensor one = mm(contiguous(select(left, 0, i)), contiguous(select(right, 0, i)));
      EXPECT_EQ(bits_of(to_dtype(select(product, 0, i), ScalarType::kFloat)),
                bits_of(to_dtype(one, ScalarType::kFloat)));
    }
  };
  // Floats go to a library where vectors have four or sixteen lanes.
  for (const InstructionSet most :
       {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kBFloat16}) {
      expect_each(by_rows(40, 24, dtype), by_columns(24, 72, dtype));
      expect_each(by_columns(40, 24, dtype), by_rows(24, 72, dtype));
      expect_each(contiguous(by_rows(40, 24, dtype)), by_rows(24, 72, dtype));
    }
  }
}

// Vectors that lie in every second or sixth place of others, in any role; what a dimension of size
// 1 has as stride means nothing.
TEST(Matmul, ReadsRowsAndColumnsByTheirStrides) {
  const Tensor pool = numbers({4000}, ScalarType::kFloat, 1);
  for (const int64_t length : {1, 5, 40}) {
    for (const int64_t step : {1, 2, 6}) {
      for (const int64_t other : {1, 3, 30, 90}) {
        const Tensor row = pool.as_view(IntVector{1, length}, IntVector{other, step}, 7);
        const Tensor column = pool.as_view(IntVector{length, 1}, IntVector{step, other}, 11);
        const Tensor dense = numbers({length, 1}, ScalarType::kFloat, 2);
        expect_product(row, dense);
        expect_product(row, column);
        expect_product(t(dense), column);
        expect_product(row, numbers({length, 9}, ScalarType::kFloat, 3));
        expect_product(numbers({9, length}, ScalarType::kFloat, 3), column);
        expect_product(column, row);
      }
    }
  }
}

TEST(Matmul, BlocksLargerThanOneTileAreSummedOverTheWholeDepth) {
  expect_product(numbers({130, 300}, ScalarType::kDouble, 0),
                 numbers({300, 210}, ScalarType::kDouble, 2));
  expect_product(numbers({130, 300}, ScalarType::kFloat, 0),
                 numbers({300, 210}, ScalarType::kFloat, 2));
}

// Rows whose beginnings are half a page or a page apart: they are copied where sgemm reads them
// column by column.
TEST(Matmul, RowsThatShareSetsOfTheCachesAreMultipliedRight) {
  constexpr int64_t kDepth = 70;
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble}) {
    const Tensor half = numbers({kDepth, 512}, dtype, 1);
    const Tensor whole = numbers({kDepth, 1024}, dtype, 2);
    expect_product(transpose(half, 0, 1), slice(whole, 1, 3, 80, 1));
    expect_product(transpose(slice(whole, 1, 5, 75, 1), 0, 1), half);
    expect_product(numbers({66, kDepth}, dtype, 3), half);
    expect_product(transpose(half, 0, 1), numbers({kDepth, 67}, dtype, 4));
  }
}

// Tiers, exporters and callers with other batches lay matrices and rows out differently.
TEST(Matmul, SmallProductsHaveTheSameBitsHoweverTheMatrixLiesAndHoweverManyRowsThereAre) {
  for (const int64_t k : {1, 3, 15, 16, 20, 33, 300}) {
    for (const int64_t n : {1, 5, 16, 37}) {
      constexpr int64_t kRowCount = 5;
      const Tensor a = fractions({kRowCount, k});
      const Tensor b = fractions({k, n});
      const Tensor turned = transpose(clone(transpose(b, 0, 1), MemoryFormat::kContiguous), 0, 1);
      const Tensor all = mm(a, b);
      EXPECT_EQ(bits_of(mm(a, turned)), bits_of(all)) << k << "x" << n;
      const int64_t times = is_row_work(4 * kRowCount, k, n) ? 4 : 1;  // Larger ones: oneDNN's.
      const Tensor many = mm(repeat(a, {times, 1}), b);
      for (int64_t row = 0; row < kRowCount; ++row) {
        const Tensor one = narrow(a, 0, row, 1);
        const Tensor wanted = narrow(all, 0, row, 1);
        EXPECT_EQ(bits_of(mm(one, b)), bits_of(wanted)) << k << "x" << n;
        EXPECT_EQ(bits_of(mm(one, turned)), bits_of(wanted)) << k << "x" << n;
        EXPECT_EQ(bits_of(narrow(many, 0, kRowCount * (times - 1) + row, 1)), bits_of(wanted))
            << k << "x" << n;
      }
    }
  }
}

// Of a linear layer's weight, too large for a row after the other.
TEST(Matmul, FewRowsTimesColumnsInOnePieceHaveTheBitsOfEachAlone) {
  constexpr ScalarType kFloat = ScalarType::kFloat;
  for (const int64_t k : {300, 257}) {
    for (const int64_t n : {256, 1003}) {
      const Tensor matrix =
          transpose(clone(transpose(fractions({k, n}), 0, 1), MemoryFormat::kContiguous), 0, 1);
      const Tensor whole = transpose(numbers({n, k}, kFloat, 4), 0, 1);
      const Tensor bias = fractions({n});
      for (const int64_t rows : {2, 3, 4}) {
        const Tensor a = fractions({rows, k});
        const Tensor all = mm(a, matrix);
        const Tensor biased = addmm(bias, a, matrix, 1, 1);
        for (int64_t row = 0; row < rows; ++row) {
          const Tensor one = narrow(a, 0, row, 1);
          EXPECT_EQ(bits_of(narrow(all, 0, row, 1)), bits_of(mm(one, matrix))) << k << "x" << n;
          EXPECT_EQ(bits_of(narrow(biased, 0, row, 1)), bits_of(addmm(bias, one, matrix, 1, 1)))
              << k << "x" << n;
        }
      }
      for (int64_t rows = 5; rows < 18; ++rows)
        expect_product(numbers({rows, k}, kFloat, 3), whole);
    }
  }
}

TEST(Matmul, PanelsWithoutDepthGiveZeros) {
  std::vector<float> out(6, 7.0F);
  multiply_panels(2, 0, 3, out.data(), out.data(), out.data());
  for (const float x : out) EXPECT_EQ(x, 0);
}

TEST(Matmul, PackedPanelsGiveARowTheSameBits) {
  for (const int64_t k : {1, 17, 300, 1500}) {
    for (const int64_t n : {1, 5, 64, 100, 320}) {
      const Tensor a = fractions({1, k});
      const Tensor b = fractions({k, n});
      const Tensor bias = fractions({n});
      const Tensor turned = transpose(clone(transpose(b, 0, 1), MemoryFormat::kContiguous), 0, 1);
      for (const Tensor& matrix : {b, turned}) {
        std::vector<float> panels(static_cast<size_t>(row_panel_count(n) * kRowPanel * k), 7.0F);
        pack_row_panels(matrix.data<float>(), matrix.stride(0), matrix.stride(1), k, n,
                        panels.data());
        const Tensor out = Tensor::empty(std::array<int64_t, 2>{1, n}, ScalarType::kFloat);
        multiply_row_panels(k, n, a.data<float>(), panels.data(), nullptr, out.data<float>());
        EXPECT_EQ(bits_of(out), bits_of(mm(a, b))) << k << "x" << n;
        multiply_row_panels(k, n, a.data<float>(), panels.data(), bias.data<float>(),
                            out.data<float>());
        EXPECT_EQ(bits_of(out), bits_of(addmm(bias, a, b, 1, 1))) << k << "x" << n;
      }
    }
  }
}

// The products of a batch; expects the same bits wherever the matrices lie.
Tensor bmm_of_any_layout(const Tensor& a, const Tensor& b) {
  const auto turned = [](const Tensor& x) {
    return transpose(clone(transpose(x, 1, 2), MemoryFormat::kContiguous), 1, 2);
  };
  const Tensor all = bmm(a, b);
  const std::string sizes = shape_string(a.sizes()) + " times " + shape_string(b.sizes());
  EXPECT_EQ(bits_of(bmm(turned(a), b)), bits_of(all)) << sizes;
  EXPECT_EQ(bits_of(bmm(a, turned(b))), bits_of(all)) << sizes;
  return all;
}

// Each as if it were alone, row by row, wherever the matrices lie.
TEST(Matmul, SmallMatricesOfABatchHaveTheSameBits) {
  for (const int64_t m : {2, 3, 8, 13}) {
    for (const int64_t k : {1, 2, 8, 19, 50}) {
      for (const int64_t n : {2, 7, 8, 16, 21, 40}) {
        constexpr int64_t kCount = 300;
        if (!is_small_product(m, k, n)) continue;  // A library's.
        const Tensor a = fractions({kCount, m, k});
        const Tensor b = fractions({kCount, k, n});
        const Tensor all = bmm_of_any_layout(a, b);
        const Tensor same = matmul(a, expand_to(narrow(b, 0, 7, 1), b.sizes()));
        for (const int64_t at : {int64_t{0}, int64_t{7}, kCount - 1}) {
          const Tensor left = select(a, 0, at);
          const Tensor wanted = select(all, 0, at);
          EXPECT_EQ(bits_of(mm(left, select(b, 0, at))), bits_of(wanted));
          EXPECT_EQ(bits_of(mm(left, select(b, 0, 7))), bits_of(select(same, 0, at)));
          for (int64_t row = 0; row < m; ++row) {
            EXPECT_EQ(bits_of(mm(narrow(left, 0, row, 1), select(b, 0, at))),
                      bits_of(narrow(wanted, 0, row, 1)));
          }
        }
      }
    }
  }
}

TEST(Matmul, SingleRowsColumnsAndSumsOfABatchHaveTheBitsOfEachAlone) {
  constexpr int64_t kCount = 37;
  for (const auto [m, n] : {std::pair{1, 1}, {1, 5}, {1, 33}, {5, 1}, {33, 1}}) {
    for (const int64_t k : {1, 4, 16, 17, 65, 300}) {
      if (m * n > 1 && !is_row_work(kCount * m, k, n)) continue;  // A library's.
      const Tensor a = fractions({kCount, m, k});
      const Tensor b = fractions({kCount, k, n});
      const Tensor all = bmm_of_any_layout(a, b);
      for (int64_t at = 0; at < kCount; ++at) {
        EXPECT_EQ(bits_of(mm(select(a, 0, at), select(b, 0, at))), bits_of(select(all, 0, at)))
            << m << "x" << k << "x" << n;
      }
    }
  }
}

TEST(Matmul, BatchDimensionsBroadcast) {
  const Tensor a = numbers({2, 1, 3, 4}, ScalarType::kFloat, 0);
  const Tensor b = numbers({5, 4, 2}, ScalarType::kFloat, 1);
  const Tensor out = matmul(a, b);
  EXPECT_EQ(shape_string(out.sizes()), "[2, 5, 3, 2]");
  const Tensor last = mm(a.as_view(IntVector{3, 4}, IntVector{4, 1}, 12),
                         b.as_view(IntVector{4, 2}, IntVector{2, 1}, 32));
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(out.data<float>()[54 + i], last.data<float>()[i]);
}

TEST(Matmul, BetaZeroDoesNotReadTheSummand) {
  const Tensor summand = Tensor::empty(IntVector{2}, ScalarType::kFloat);
  fill(summand, std::nan(""));
  const Tensor out = addmm(summand, numbers({2, 2}, ScalarType::kFloat, 0),
                           numbers({2, 2}, ScalarType::kFloat, 0), 0, 1);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(std::isnan(out.data<float>()[i]));
}

TEST(Matmul, NamesTheShapesThatDoNotFit) {
  const Tensor a = numbers({2, 3}, ScalarType::kFloat, 0);
  const Tensor b = numbers({4, 5}, ScalarType::kFloat, 0);
  try {
    mm(a, b);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  }
  EXPECT_THROW(mm(numbers({2, 2}, ScalarType::kFloat, 0), numbers({2, 2}, ScalarType::kDouble, 0)),
               Error);
}

// A column of results is made as a row.
TEST(Matmul, AddsTheBiasToEachResultOfAColumn) {
  for (const int64_t m : {1, 2, 7, 333}) {
    for (const int64_t k : {1, 31, 400}) {
      const Tensor a = numbers({m, k}, ScalarType::kFloat, 1);
      const Tensor weight = numbers({1, k}, ScalarType::kFloat, 2);
      const Tensor bias = numbers({1}, ScalarType::kFloat, 3);
      const Tensor out = linear(a, weight, bias);
      for (int64_t i = 0; i < m; ++i) {
        float sum = *bias.data<float>();
        for (int64_t p = 0; p < k; ++p) sum += a.data<float>()[i * k + p] * weight.data<float>()[p];
        ASSERT_EQ(out.data<float>()[i], sum) << m << " " << k << " " << i;
      }
    }
  }
}

// Whatever kernel makes them: a column alone, one among others, of lines in one piece or not.
TEST(Matmul, ColumnsOfDoublesHaveTheBitsOfLargerProducts) {
  for (const int64_t m : {1, 7, 8, 21, 40}) {
    for (const int64_t k : {1, 7, 8, 19, 65}) {
      const Tensor a = to_dtype(fractions({m, k}), ScalarType::kDouble);
      const Tensor b = to_dtype(fractions({k, 12}), ScalarType::kDouble);
      const Tensor turned = t(contiguous(t(a)));
      const Tensor all = mm(a, b);
      for (const int64_t j : {0, 5}) {
        const Tensor column = slice(b, 1, j, j + 1, 1);
        const Tensor of_lines = mm(a, column);
        const Tensor of_columns = mm(turned, column);
        const Tensor as_row = mm(t(column), t(a));
        for (int64_t i = 0; i < m; ++i) {
          const double want = all.data<double>()[i * 12 + j];
          ASSERT_EQ(of_lines.data<double>()[i], want) << m << " " << k << " " << i;
          ASSERT_EQ(of_columns.data<double>()[i], want) << m << " " << k << " " << i;
          ASSERT_EQ(as_row.data<double>()[i], want) << m << " " << k << " " << i;
        }
      }
    }
  }
}

TEST(Matmul, FactorsAndSummandsOfAColumnFollowItsProduct) {
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kLong}) {
    for (const int64_t m : {1, 5, 33}) {
      const Tensor a = numbers({m, 17}, dtype, 1);
      const Tensor x = numbers({17}, dtype, 2);
      const Tensor summand = numbers({m}, dtype, 3);
      const Tensor out = to_dtype(addmv(summand, a, x, 3, 2), ScalarType::kDouble);
      const Tensor product = to_dtype(mv(a, x), ScalarType::kDouble);
      const Tensor start = to_dtype(summand, ScalarType::kDouble);
      for (int64_t i = 0; i < m; ++i) {
        ASSERT_EQ(out.data<double>()[i],
                  3 * start.data<double>()[i] + 2 * product.data<double>()[i]);
      }
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
