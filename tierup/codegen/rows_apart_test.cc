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

// Their elements are added up in another order.
TEST_F(RowsApart, OfElementsApartAreLeftToTheTwin) {
  const Tensor x = kernels::transpose(numbers({40, 5, 30}), 1, 2);
  expect_twin(*fold_of("aten::sum.dim_IntList", {-2, -1}, x), {x}, "sum", By::kTwin);
}

}  // namespace
}  // namespace tierup::codegen
