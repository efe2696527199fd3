#include "tierup/kernels/memory/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tierup/kernels/memory/lane_loop.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor counted(std::initializer_list<int64_t> sizes) {
  const std::vector<int64_t> shape(sizes);
  Tensor t = Tensor::empty(shape, ScalarType::kFloat);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

Tensor transposed(const Tensor& t) {
  const IntVector sizes{t.sizes()[1], t.sizes()[0]};
  const IntVector strides{t.strides()[1], t.strides()[0]};
  return t.as_view({sizes.data(), 2}, {strides.data(), 2}, 0);
}

TEST(Copy, ReadsTransposedAndConverts) {
  const Tensor t = transposed(counted({2, 3}));
  const Tensor c = contiguous(t);
  EXPECT_EQ(c.data<float>()[1], 3.0F);
  const Tensor i = to_dtype(t, ScalarType::kLong);
  EXPECT_EQ(i.strides()[0], 1);
  EXPECT_EQ(contiguous(i).data<int64_t>()[3], 4);
}

TEST(Copy, BroadcastsTheSource) {
  const Tensor dst = Tensor::empty(std::vector<int64_t>{2, 3}, ScalarType::kFloat);
  copy_into(dst, counted({3}));
  EXPECT_EQ(dst.data<float>()[5], 2.0F);
  EXPECT_THROW(copy_into(dst, counted({2})), Error);
}

TEST(Copy, CloneKeepsTheOrderOfDimensions) {
  const Tensor t = counted({4, 3, 2});
  const std::vector<int64_t> sizes{3, 2, 2};
  const std::vector<int64_t> strides{2, 12, 1};
  const Tensor c = clone(t.as_view(sizes, strides, 0));
  EXPECT_EQ(std::vector<int64_t>(c.strides().begin(), c.strides().end()),
            (std::vector<int64_t>{2, 6, 1}));
}

// Of every width: turned by squares and their rests, and of runs too short for a call of their own.
TEST(Copy, BringsElementsOfAnyWidthIntoAnyOrder) {
  for (const ScalarType type : {ScalarType::kByte, ScalarType::kShort, ScalarType::kFloat,
                                ScalarType::kLong, ScalarType::kComplexDouble}) {
    const auto check = [&](const IntVector& sizes, const IntVector& strides) {
      Tensor base = Tensor::empty(IntVector{3 * 70 * 131}, type);
      auto* const bytes = static_cast<char*>(base.raw());
      for (size_t i = 0; i < base.bytes(); ++i) bytes[i] = static_cast<char>(i * 7 % 251);
      const Tensor view = base.as_view(sizes, strides, 0);
      const Tensor dense = clone(view, MemoryFormat::kContiguous);
      const auto width = base.item_size();
      for (int64_t i = 0; i < dense.numel(); ++i) {
        const int64_t at = i / (sizes[1] * sizes[2]) * strides[0] +
                           i / sizes[2] % sizes[1] * strides[1] + i % sizes[2] * strides[2];
        ASSERT_EQ(
            std::memcmp(static_cast<char*>(dense.raw()) + i * width, bytes + at * width, width), 0)
            << width << ": " << i;
      }
    };
    check({3, 131, 70}, {70 * 131, 1, 131});  // Turned.
    check({3, 50, 5}, {131, 2, 1});           // Windows that overlap.
    check({70, 31, 7}, {131, 4, 2});          // Every other element.
    check({9, 31, 7}, {131, 1, 0});           // Repeated.
  }
}

TEST(Copy, ResolvesConjugation) {
  Tensor z = Tensor::scalar(complex128(1, 2));
  z.impl()->conjugate = true;
  EXPECT_EQ(*resolve_lazy_bits(z).data<complex128>(), complex128(1, -2));
}

TEST(Fill, RefusesNumbersThatDoNotFit) {
  const Tensor t = Tensor::empty(std::vector<int64_t>{2}, ScalarType::kByte);
  EXPECT_THROW(fill(t, 300), Error);
  fill(t, -3);
  EXPECT_EQ(t.data<uint8_t>()[1], 253);
}

TEST(StridedLoop, MergesWhatAllOperandsAllow) {
  const Tensor a = counted({4, 5, 6});
  EXPECT_EQ(StridedLoop(a.sizes(), {&a, &a}).rank(), 1U);
  const Tensor row = counted({6});
  EXPECT_EQ(StridedLoop(a.sizes(), {&a, &row}).rank(), 2U);
}

TEST(StridedLoop, CoversEveryElementOnceWithThreads) {
  const ThreadCountScope threads(2);
  const Tensor a = counted({300, 700});
  const Tensor out = Tensor::empty(a.sizes(), ScalarType::kFloat);
  const Tensor column = counted({300, 1});
  map_elements<float, float, float>(
      out, [](float x, float y) { return x + y; }, a, column);
  for (int64_t i = 0; i < a.numel(); ++i) {
    ASSERT_EQ(out.data<float>()[i], static_cast<float>(i + i / 700));
  }
}

// Bytes of strides beyond 64 bits, and more lanes than any time would do for.
TEST(EmptyTensors, AreWalkedOverAtOnceHoweverLongTheirStrides) {
  for (const auto& sizes : {IntVector{3, 0, int64_t{1} << 62}, IntVector{0, 3, int64_t{1} << 62},
                            IntVector{0, 5, int64_t{1} << 50}, IntVector{int64_t{1} << 40, 0, 2}}) {
    const Tensor nothing = Tensor::empty(sizes, ScalarType::kDouble);
    const Tensor turned = nothing.as_view(IntVector{sizes[2], sizes[1], sizes[0]},
                                          IntVector{1, sizes[2], int64_t{1} << 61}, 0);
    for (int64_t d = 0; d < 3; ++d) {
      EXPECT_EQ(LaneLoop(sizes, d, {&nothing, &nothing}).lanes(), 0);
      EXPECT_EQ(std::get<0>(sort(turned, d, false)).numel(), 0);
    }
    EXPECT_EQ(StridedLoop(turned.sizes(), {&turned, &turned}).numel(), 0);
    EXPECT_EQ(clone(turned, MemoryFormat::kContiguous).numel(), 0);
  }
}

// A stride along a single element leads nowhere.
TEST(LaneLoop, TakesAnyStrideWhereNoSecondElementIs) {
  const Tensor a = counted({3});
  const int64_t far = int64_t{1} << 62;
  const Tensor row = a.as_view(IntVector{1, 3}, IntVector{far, 1}, 0);
  const Tensor column = a.as_view(IntVector{3, 1}, IntVector{1, far}, 0);
  EXPECT_EQ(LaneLoop(row.sizes(), 1, {&row}).lanes(), 1);
  EXPECT_EQ(LaneLoop(column.sizes(), 1, {&column}).lanes(), 3);
  EXPECT_EQ(std::get<0>(sort(row, 1, true)).data<float>()[0], 2.0F);
  EXPECT_EQ(std::get<0>(sort(column, 1, true)).data<float>()[2], 2.0F);
}

TEST(TypePromotion, NumbersAreWeak) {
  const Tensor half = Tensor::empty(std::vector<int64_t>{2}, ScalarType::kHalf);
  const Tensor ints = Tensor::empty(std::vector<int64_t>{2}, ScalarType::kInt);
  const Tensor double_zero_dim = Tensor::scalar(2.0);
  EXPECT_EQ(result_type(half, Scalar(2.0)), ScalarType::kHalf);
  EXPECT_EQ(result_type(ints, Scalar(2.0)), ScalarType::kFloat);
  EXPECT_EQ(result_type(half, double_zero_dim), ScalarType::kHalf);
  EXPECT_EQ(result_type(ints, double_zero_dim), ScalarType::kDouble);
  EXPECT_EQ(result_type(ints, Scalar(true)), ScalarType::kInt);
}

Tensor numbered(const IntVector& sizes) {
  Tensor tensor = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

// Four bytes go by squares, others one by one.
TEST(Copy, OfRearrangedDimensionsKeepsEachElement) {
  const std::vector<IntVector> orders{{2, 1, 0}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}};
  for (const IntVector& sizes : {IntVector{3, 70, 130}, IntVector{2, 5, 67}, IntVector{65, 1, 64},
                                 IntVector{200, 3, 2}, IntVector{17, 16, 15}}) {
    const Tensor x = numbered(sizes);
    const Tensor wide = to_dtype(x, ScalarType::kDouble);
    for (const IntVector& order : orders) {
      const Tensor copied = clone(permute(x, order), MemoryFormat::kContiguous);
      const Tensor expected = clone(permute(wide, order), MemoryFormat::kContiguous);
      EXPECT_EQ(values_of<float>(copied), values_of<float>(to_dtype(expected, ScalarType::kFloat)));
      const Tensor target = permute(numbered(sizes), order);
      copy_into(target, copied);
      EXPECT_EQ(values_of<float>(clone(target, MemoryFormat::kContiguous)),
                values_of<float>(copied));
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
