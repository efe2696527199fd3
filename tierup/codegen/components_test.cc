// Groups whose short last dimension is taken apart, against the same members at tier 0.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/codegen/folds_fixture.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {
namespace {

using kernels::InstructionSet;
using ops::RowSpace;

ops::GroupMember fold(const char* op, uint32_t of, const IntVector& dims, RowSpace space) {
  const bool keepdim = space == RowSpace::kColumn || space == RowSpace::kPart;
  ops::GroupMember made =
      call(op, {member(of), constant(IValue(make_int_list(dims))), constant(keepdim)});
  if (made.op->schema().arguments.size() > 3) made.arguments.push_back(constant({}));
  made.by_rows = true;
  made.folded = static_cast<uint32_t>(dims.size());
  made.space = space;
  return made;
}

// What is made of the differences of x and y: folds over their components and over `dims`.
struct Differences {
  const char* op = "aten::sum.dim_IntList";
  IntVector dims = {-2};
  bool stores = false;  // The differences, and what each pair has once.
};

ops::GroupProgram differences(const Differences& how, int64_t components) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.row_rank = static_cast<uint32_t>(-how.dims.front());
  program.components = static_cast<uint32_t>(components);
  program.members = {
      call("aten::sub.Tensor", {input(0), input(1), constant(int64_t{1})}),
      call("aten::abs", {member(0)}),
      fold(how.op, 1, {-1}, RowSpace::kColumn),
      call("aten::mul.Tensor", {member(2), member(0)}),
      fold(how.op, 3, how.dims, RowSpace::kFlatPart),
      fold(how.op, 2, how.dims, RowSpace::kPart),
      call("aten::neg", {member(2)}),
  };
  program.outputs = {4, 5};
  if (how.stores) program.outputs = {3, 4, 5, 6};
  return program;
}

Ref<ops::FusionGroup> group_for(ops::GroupProgram program, const std::vector<Tensor>& inputs,
                                int bits = 0) {
  auto group = make_ref<ops::FusionGroup>(std::move(program));
  std::vector<ops::ValueForm> forms;
  std::vector<bool> uniform;
  std::vector<bool> still;
  for (const Tensor& tensor : inputs) {
    const IntSpan sizes = tensor.sizes();
    forms.push_back(ops::form_of(*tensor.impl()));
    uniform.push_back(sizes.empty() || sizes.back() == 1);
    still.push_back(sizes.size() < 2 || sizes[sizes.size() - 2] == 1);
  }
  group->expect(std::move(forms), std::move(uniform), std::move(still));
  return compiled(std::move(group), bits);
}

class Components : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
  void TearDown() override { kernels::limit_instruction_set(InstructionSet::kAvx512); }
};

// Pairs of points: the one lies along the lanes, the other is the same for all of them.
void check_pairs(ScalarType type, int bits) {
  for (const char* op : kFolds) {
    if (type == ScalarType::kLong && op != kFolds[0]) continue;
    for (const int64_t components : {1, 2, 3, 4}) {
      for (const bool stores : {false, true}) {
        const auto pair = [&](int64_t rows, int64_t lanes) {
          return std::vector<Tensor>{numbers({1, lanes, components}, type),
                                     numbers({rows, 1, components}, type)};
        };
        const auto group =
            group_for(differences({op, {-2}, stores}, components), pair(5, 40), bits);
        for (const int64_t lanes : {2, 15, 16, 17, 64, 75, 300}) {
          expect_tier_0(
              *group, pair(5, lanes),
              fmt::format("{} of {} over {}x{}", op, scalar_type_name(type), lanes, components));
        }
      }
    }
  }
}

TEST_F(Components, GiveTier0sResultsInFloat) { check_pairs(ScalarType::kFloat, 0); }
TEST_F(Components, GiveTier0sResultsInDouble) { check_pairs(ScalarType::kDouble, 0); }
TEST_F(Components, GiveTier0sResultsInInt64) { check_pairs(ScalarType::kLong, 0); }
TEST_F(Components, GiveTier0sResultsWithAvx2) {
  kernels::limit_instruction_set(InstructionSet::kAvx2);
  check_pairs(ScalarType::kFloat, 256);
}

TEST_F(Components, ReadWhatIsBroadcast) {
  const Tensor x = numbers({6, 40, 3});
  for (const IntVector& sizes : {IntVector{6, 40, 1}, IntVector{40, 1}, IntVector{6, 1, 1},
                                 IntVector{1}, IntVector{}, IntVector{6, 1, 3}, IntVector{3}}) {
    const std::vector<Tensor> inputs{x, numbers(sizes)};
    for (const bool stores : {false, true}) {
      expect_tier_0(*group_for(differences({.stores = stores}, 3), inputs), inputs,
                    shape_string(sizes));
    }
  }
}

TEST_F(Components, FoldSeveralDimensions) {
  const std::vector<Tensor> inputs{numbers({3, 4, 5, 35, 2}), numbers({35, 2})};
  for (const IntVector& dims : {IntVector{-3, -2}, IntVector{-4, -3, -2}}) {
    expect_tier_0(*group_for(differences({"aten::mean.dim", dims}, 2), inputs), inputs,
                  fmt::format("{}", dims.size()));
  }
}

TEST_F(Components, ReadInputsThatLieOtherwise) {
  const std::vector<Tensor> inputs{kernels::transpose(numbers({6, 2, 40}), 1, 2),
                                   kernels::transpose(numbers({40, 6, 2}), 0, 1)};
  expect_tier_0(*group_for(differences({}, 2), inputs), inputs, "turned");
}

// Without a fold over the lanes these are cut into pieces.
TEST_F(Components, FoldThemselvesAlone) {
  ops::GroupProgram program = differences({}, 3);
  program.members.resize(4);
  program.outputs = {2, 3};
  program.row_rank = 1;
  const std::vector<Tensor> inputs{numbers({9001, 3}), numbers({3})};
  expect_tier_0(*group_for(std::move(program), inputs), inputs, "points");
}

TEST_F(Components, OfOtherSizesAreLeftToTheTwin) {
  const std::vector<Tensor> like{numbers({6, 40, 3}), numbers({6, 1, 3})};
  const auto group = group_for(differences({}, 3), like);
  expect_tier_0(*group, {numbers({6, 40, 2}), numbers({6, 1, 2})}, "two", By::kTwin);
  expect_tier_0(*group, {numbers({6, 40, 3}), numbers({6, 40, 3})}, "wide", By::kTwin);
  expect_tier_0(*group, {numbers({6, 40, 3}), numbers({6, 1, 1})}, "narrow", By::kTwin);
  expect_tier_0(*group, {numbers({0, 40, 3}), numbers({1, 1, 3})}, "empty", By::kTwin);
}

TEST_F(Components, PassOnWhatIsNoNumber) {
  Tensor x = numbers({3, 21, 2});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const int64_t at : {0, 25, 83}) x.data<float>()[at] = static_cast<float>(nan);
  x.data<float>()[50] = std::numeric_limits<float>::infinity();
  const std::vector<Tensor> inputs{x, numbers({2})};
  for (const char* op : kFolds) {
    expect_tier_0(*group_for(differences({op}, 2), inputs), inputs, op);
  }
}

}  // namespace
}  // namespace tierup::codegen
