// Point-wise rows and batch_norm put their results into the memory of arguments that only the call
// holds, and leave all others as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tierup/ops/table/row_call_fixture.h"

namespace tierup::ops {
namespace {

using testing::call_row;
using testing::filled;

// Moved arguments are held by the call alone.
template <typename... Arguments>
Tensor call(std::string_view name, Arguments&&... arguments) {
  std::vector<IValue> args;
  (args.emplace_back(std::forward<Arguments>(arguments)), ...);
  return call_row(name, std::move(args)).to_tensor();
}

bool are_all(const Tensor& t, float value) {
  return std::all_of(t.data<float>(), t.data<float>() + t.numel(),
                     [&](float x) { return x == value; });
}

TEST(DyingOperands, AResultTakesTheirMemory) {
  Tensor x = filled({64, 32}, 2);
  const void* const memory = x.raw();
  Tensor y = call("aten::mul.Tensor", IValue(std::move(x)), filled({64, 1}, 3));
  EXPECT_EQ(y.raw(), memory);
  y = call("aten::add.Tensor", filled({32}, 1), IValue(std::move(y)), 2);
  EXPECT_EQ(y.raw(), memory);
  y = call("aten::sqrt", IValue(std::move(y)));
  EXPECT_EQ(y.raw(), memory);
  EXPECT_TRUE(are_all(y, std::sqrt(13.0F)));
}

TEST(DyingOperands, WhatSomebodyElseHoldsIsLeftAsItIs) {
  const Tensor x = filled({64, 32}, 2);
  const Tensor twice = call("aten::add.Tensor", x, x, IValue(1));
  EXPECT_TRUE(are_all(x, 2));
  EXPECT_TRUE(are_all(twice, 4));
  Tensor whole = filled({64, 32}, 2);
  const Tensor view = call("aten::t", whole);
  EXPECT_TRUE(are_all(call("aten::neg", IValue(std::move(whole))), -2));
  EXPECT_EQ(view.data<float>()[5], 2.0F);
}

TEST(DyingOperands, MemoryOfACallerIsNeverWrittenTo) {
  std::vector<float> numbers(64, 2.0F);
  const Ref<Storage> storage = Storage::borrow(numbers.data(), 64 * sizeof(float), [] {});
  Tensor borrowed = Tensor::from_storage(storage, ScalarType::kFloat, std::vector<int64_t>{64},
                                         std::vector<int64_t>{1}, 0);
  EXPECT_TRUE(are_all(call("aten::neg", IValue(std::move(borrowed))), -2));
  EXPECT_EQ(numbers[63], 2.0F);
}

TEST(DyingOperands, ResultsOfOtherFormsGetMemoryOfTheirOwn) {
  Tensor row = filled({1, 32}, 2);
  const void* memory = row.raw();
  EXPECT_NE(call("aten::add.Tensor", IValue(std::move(row)), filled({64, 32}, 1), IValue(1)).raw(),
            memory);
  Tensor x = filled({64}, 2);
  memory = x.raw();
  const Tensor less = call("aten::lt.Scalar", IValue(std::move(x)), IValue(3));
  EXPECT_EQ(less.dtype(), ScalarType::kBool);
  EXPECT_NE(less.raw(), memory);
  Tensor turned = call("aten::t", filled({64, 32}, 2));
  const Tensor sum = call("aten::add.Tensor", filled({32, 64}, 1), IValue(std::move(turned)), 1);
  EXPECT_TRUE(sum.is_contiguous());
  EXPECT_TRUE(are_all(sum, 3));
}

TEST(DyingOperands, BatchNormTakesItsInputsMemoryWithoutTraining) {
  const Tensor two = filled({8}, 2);
  const Tensor four = filled({8}, 4);
  for (const bool training : {false, true}) {
    Tensor x = filled({2, 8, 5, 5}, 6);
    const void* const memory = x.raw();
    const Tensor y = call("aten::batch_norm", IValue(std::move(x)), IValue(), IValue(), two, four,
                          IValue(training), IValue(0.0), IValue(0.0), false);
    EXPECT_EQ(y.raw() == memory, !training);
    if (!training) {
      EXPECT_TRUE(are_all(y, 2));
    }
  }
}

TEST(DyingOperands, BatchNormLeavesAnInputThatIsHeld) {
  const Tensor x = filled({2, 8, 5, 5}, 6);
  const Tensor one = filled({8}, 1);
  call("aten::batch_norm", x, IValue(), IValue(), one, one, IValue(false), IValue(0.0), IValue(0.0),
       false);
  EXPECT_TRUE(are_all(x, 6));
}

}  // namespace
}  // namespace tierup::ops
