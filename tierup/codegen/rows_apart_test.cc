// Folds of rows that a group's input shows in another order than they lie in.
#include <gtest/gtest.h>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::codegen {
namespace {

class RowsApart : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
};

Tensor numbers(const IntVector& sizes) {
  Tensor x = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = 1.0F / static_cast<float>(1 + i * 37 % 101) - 0.3F;
  return x;
}

// exp of the fold of x over its last dimensions, as many as are named.
Ref<ops::FusionGroup> fold_of(const char* fold, const IntVector& dims, const Tensor& x) {
  ops::GroupProgram program;
  program.input_count = 1;
  program.row_rank = static_cast<uint32_t>(dims.size());
  program.members = {
      call(fold, {input(0), constant(IValue(make_int_list(dims))), constant(false), constant({})}),
      call("aten::exp", {member(0)})};
  program.members[0].by_rows = true;
  program.members[0].space = program.members[1].space = ops::RowSpace::kFlat;
  program.outputs = {1};
  return compiled_group(program, {x});
}

TEST_F(RowsApart, AreBroughtTogetherIfEachIsDense) {
  for (const char* fold : {"aten::sum.dim_IntList", "aten::mean.dim"}) {
    for (const int64_t width : {3, 16, 300}) {
      const Tensor windows = kernels::unfold(numbers({5, 1000}), 1, width, 4);
      const Tensor turned = kernels::transpose(numbers({70, 9, width}), 0, 1);
      for (const Tensor& x : {windows, turned}) {
        const auto group = fold_of(fold, {-1}, x);
        ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
        expect_twin(*group, {x}, fold);
      }
    }
  }
}

// sums of (a - b)^2 / c over planes, and that less the sum.
Ref<ops::FusionGroup> residual_of(const std::vector<Tensor>& inputs) {
  ops::GroupProgram program;
  program.input_count = 3;
  program.row_rank = 2;
  program.members = {
      call("aten::sub.Tensor", {input(0), input(1), constant(1)}),
      call("aten::mul.Tensor", {member(0), member(0)}),
      call("aten::div.Tensor", {member(1), input(2)}),
      call("aten::sum.dim_IntList", {member(2), constant(IValue(make_int_list(IntVector{-2, -1}))),
                                     constant(true), constant({})}),
      call("aten::sub.Tensor", {member(2), member(3), constant(1)}),
  };
  program.members[3].by_rows = true;
  program.members[3].space = ops::RowSpace::kColumn;
  program.outputs = {3, 4};
  return compiled_group(program, inputs);
}

// Planes with gaps between their lines, lines repeated and elements repeated: lines short and long,
// one tile of rows and several.
TEST_F(RowsApart, AreReadByPiecesThatLieTogether) {
  for (const int64_t rows : {1, 3, 9}) {
    for (const int64_t height : {2, 41}) {
      for (const int64_t width : {5, 40, 150}) {
        const Tensor wide = numbers({rows, height + 2, width + 2});
        const auto part = [&](int64_t line, int64_t column) {
          return kernels::slice(kernels::slice(wide, 1, line, line + height, 1), 2, column,
                                column + width, 1);
        };
        const Tensor dense = numbers({rows, height, width});
        const Tensor ends[] = {
            part(2, 1),
            dense,
            kernels::transpose(numbers({height, rows, width}), 0, 1),
            kernels::slice(numbers({rows, height, 2 * width}), 2, 0, 2 * width, 2),
            numbers({rows, 1, width}),
            numbers({rows, height, 1}),
            numbers({height, 1}),
            numbers({1, width}),
            numbers({rows, 1, 1}),
        };
        for (const Tensor& end : ends) {
          const std::vector<Tensor> inputs{part(1, 0), dense, end};
          const auto group = residual_of(inputs);
          ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
          expect_twin(*group, inputs, "residual", By::kKernel);
          expect_twin(*group, {part(0, 1), part(1, 2), end}, "residual", By::kKernel);
        }
      }
    }
  }
}

// Their elements are added up in another order.
TEST_F(RowsApart, OfElementsApartAreLeftToTheTwin) {
  const Tensor x = kernels::transpose(numbers({40, 5, 30}), 1, 2);
  expect_twin(*fold_of("aten::sum.dim_IntList", {-2, -1}, x), {x}, "sum", By::kTwin);
}

}  // namespace
}  // namespace tierup::codegen
