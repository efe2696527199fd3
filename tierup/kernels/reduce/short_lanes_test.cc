// Lanes of few elements, which are worked on many at a time, against each alone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Numbers with many equals, zeros of both signs, infinities, and a NaN here and there.
Tensor uneven(int64_t rows, int64_t size) {
  const Tensor result = Tensor::empty(IntVector{rows, size}, ScalarType::kFloat);
  for (int64_t i = 0; i < rows * size; ++i) {
    const int64_t kind = i * 7919 % 101;
    float value = static_cast<float>(kind % 7) - 3.0F;
    if (kind == 11) value = kNan;
    if (kind == 12) value = -0.0F;
    if (kind == 13) value = std::numeric_limits<float>::infinity();
    if (kind == 14) value = -std::numeric_limits<float>::infinity();
    result.data<float>()[i] = value;
  }
  return result;
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Rows one by one, each of which is too few to be worked on with others.
template <typename Find>
void expect_as_each_row_alone(const Tensor& x, const Find& find) {
  const auto [values, places] = find(x);
  const int64_t kept = values.dim() == 1 ? 1 : values.size(1);
  for (int64_t r = 0; r < x.size(0); ++r) {
    const auto [value, place] = find(slice(x, 0, r, r + 1, 1));
    for (int64_t i = 0; i < kept; ++i) {
      ASSERT_TRUE(
          same(values.template data<float>()[r * kept + i], value.template data<float>()[i]))
          << x.size(0) << "x" << x.size(1) << " row " << r << " " << i;
      ASSERT_EQ(places.template data<int64_t>()[r * kept + i], place.template data<int64_t>()[i])
          << x.size(0) << "x" << x.size(1) << " row " << r << " " << i;
    }
  }
}

TEST(ShortLanes, HaveTheirExtremaWhereEachAloneHas) {
  for (const int64_t size : {2, 3, 5, 16, 33, 63}) {
    for (const int64_t rows : {size, int64_t{64}, int64_t{131}}) {
      const Tensor x = uneven(rows, size);
      expect_as_each_row_alone(x, [](const Tensor& t) { return max_dim(t, 1, false); });
      expect_as_each_row_alone(x, [](const Tensor& t) { return min_dim(t, 1, false); });
    }
  }
}

// Parts and other orders of dimensions, in which lanes lie as steps tell.
TEST(Extrema, AreFoundInPartsOfTensorsAsInCopies) {
  const Tensor flat = uneven(7 * 41, 13 * 11);
  const Tensor x = view(flat, IntVector{7, 41, 13, 11});
  const Tensor views[] = {
      slice(flat, 1, 1, 11, 1),
      slice(flat, 1, 3, 140, 1),
      slice(flat, 0, 0, 200, 3),
      slice(x, 1, 1, 40, 1),
      slice(x, 3, 2, 9, 1),
      slice(x, 2, 0, 13, 2),
      permute(x, IntVector{0, 3, 1, 2}),
      transpose(x, 1, 2),
      transpose(x, 2, 3),
      expand_to(slice(x, 0, 2, 3, 1), IntVector{7, 41, 13, 11}),
  };
  for (const Tensor& part : views) {
    const Tensor copy = contiguous(part, MemoryFormat::kContiguous);
    for (int64_t dim = 0; dim < part.dim(); ++dim) {
      for (const bool largest : {true, false}) {
        const auto find = largest ? max_dim : min_dim;
        const auto [values, places] = find(part, dim, false);
        const auto [best, best_places] = find(copy, dim, false);
        for (int64_t i = 0; i < best.numel(); ++i) {
          ASSERT_TRUE(same(values.data<float>()[i], best.data<float>()[i])) << dim << " " << i;
          ASSERT_EQ(places.data<int64_t>()[i], best_places.data<int64_t>()[i]) << dim << " " << i;
        }
      }
    }
  }
}

TEST(NarrowColumns, HaveTheirExtremaWhereTheirTurnedRowsHave) {
  for (const int64_t columns : {2, 3, 5, 8, 15}) {
    for (const int64_t rows : {16, 17, 47, 64, 333}) {
      const Tensor x = uneven(rows, columns);
      const Tensor turned = contiguous(transpose(x, 0, 1), MemoryFormat::kContiguous);
      for (const bool largest : {true, false}) {
        const auto [values, places] = largest ? max_dim(x, 0, false) : min_dim(x, 0, false);
        for (int64_t j = 0; j < columns; ++j) {
          const Tensor row = slice(turned, 0, j, j + 1, 1);
          const auto [value, place] = largest ? max_dim(row, 1, false) : min_dim(row, 1, false);
          ASSERT_TRUE(same(values.data<float>()[j], value.data<float>()[0])) << rows << " " << j;
          ASSERT_EQ(places.data<int64_t>()[j], place.data<int64_t>()[0]) << rows << " " << j;
        }
      }
    }
  }
}

TEST(ShortLanes, AreSortedAsEachAloneIs) {
  for (const int64_t size : {1, 2, 3, 7, 8, 13, 31, 32, 33}) {
    const Tensor x = uneven(75, size);
    for (const bool descending : {false, true})
      expect_as_each_row_alone(x, [&](const Tensor& t) { return sort(t, 1, descending); });
  }
}

TEST(ShortLanes, HaveTheFirstThatEachAloneHas) {
  for (const int64_t size : {2, 3, 8, 20, 32}) {
    const Tensor x = uneven(75, size);
    for (const int64_t k : {int64_t{1}, size / 2, size}) {
      for (const bool largest : {false, true})
        expect_as_each_row_alone(x, [&](const Tensor& t) { return topk(t, k, 1, largest, true); });
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
