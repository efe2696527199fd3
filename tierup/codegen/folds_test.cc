// Groups that fold middle or outer dimensions in registers, against the same members at tier 0.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/codegen/folds_fixture.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {
namespace {

using kernels::InstructionSet;
using ops::RowSpace;

struct Folded {
  const char* op = "aten::sum.dim_IntList";
  IntVector dims = {-2};
  bool keepdim = false;
};

// The fold of x * y, of three dimensions or four, and perhaps x * y itself.
Ref<ops::FusionGroup> group_of(const Folded& how, const std::vector<Tensor>& inputs,
                               bool keeps_values = false, int bits = 0) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.row_rank = static_cast<uint32_t>(-how.dims.front());
  program.members = {
      call("aten::mul.Tensor", {input(0), input(1)}),
      fold_of(how.op, member(0), how.dims, how.keepdim ? RowSpace::kPart : RowSpace::kFlatPart),
  };
  program.outputs = {1};
  if (keeps_values) program.outputs = {0, 1};
  return fold_group(std::move(program), inputs, bits);
}

class Folds : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
  void TearDown() override { kernels::limit_instruction_set(InstructionSet::kAvx512); }
};

void check_sizes(ScalarType type, int bits) {
  for (const char* fold : kFolds) {
    if (type == ScalarType::kLong && fold != kFolds[0]) continue;
    for (const bool keepdim : {false, true}) {
      const Folded how{fold, {-2}, keepdim};
      const auto group =
          group_of(how, {numbers({5, 7, 17}, type), numbers({7, 17}, type)}, keepdim, bits);
      for (const int64_t kept : {2, 3, 16, 17, 64, 300, 517}) {
        for (const int64_t folded : {1, 2, 33, 600}) {
          for (const int64_t outer : {1, 5}) {
            const std::vector<Tensor> inputs{numbers({outer, folded, kept}, type),
                                             numbers({folded, kept}, type)};
            expect_tier_0(*group, inputs,
                          fmt::format("{} of {} {}x{}x{}", fold, scalar_type_name(type), outer,
                                      folded, kept));
          }
        }
      }
    }
  }
}

TEST_F(Folds, GiveTier0sResultsInFloat) { check_sizes(ScalarType::kFloat, 0); }
TEST_F(Folds, GiveTier0sResultsInDouble) { check_sizes(ScalarType::kDouble, 0); }
TEST_F(Folds, GiveTier0sResultsInInt64) { check_sizes(ScalarType::kLong, 0); }
TEST_F(Folds, GiveTier0sResultsWithAvx2) {
  kernels::limit_instruction_set(InstructionSet::kAvx2);
  check_sizes(ScalarType::kFloat, 256);
}

TEST_F(Folds, ReadWhatIsBroadcast) {
  const Tensor x = numbers({6, 9, 40});
  for (const IntVector& sizes :
       {IntVector{6, 9, 1}, IntVector{9, 1}, IntVector{6, 1, 1}, IntVector{1}, IntVector{},
        IntVector{6, 1, 40}, IntVector{1, 9, 40}, IntVector{40}}) {
    const std::vector<Tensor> inputs{x, numbers(sizes)};
    for (const bool keeps_values : {false, true}) {
      expect_tier_0(*group_of({}, inputs, keeps_values), inputs, shape_string(sizes));
    }
  }
  // Neither input has the whole space.
  const std::vector<Tensor> pairs{numbers({1, 30, 20}), numbers({30, 1, 20})};
  expect_tier_0(*group_of({}, pairs), pairs, "pairs");
}

TEST_F(Folds, GoOverSeveralDimensionsAndOuterOnes) {
  const std::vector<Tensor> inputs{numbers({4, 5, 6, 35}), numbers({35})};
  for (const IntVector& dims : {IntVector{-3, -2}, IntVector{-3}, IntVector{-4}, IntVector{-4, -3},
                                IntVector{-4, -3, -2}, IntVector{-2}}) {
    for (const bool keepdim : {false, true}) {
      expect_tier_0(*group_of({"aten::mean.dim", dims, keepdim}, inputs), inputs,
                    fmt::format("{}", dims.size()));
    }
  }
}

TEST_F(Folds, ReadStridedInputsWhoseElementsLieSideBySide) {
  const Tensor wide = numbers({6, 20, 80});
  const Tensor part = kernels::slice(kernels::slice(wide, 2, 3, 43, 1), 1, 0, 20, 2);
  const Tensor turned = kernels::transpose(numbers({10, 6, 40}), 0, 1);
  for (const Tensor& x : {part, turned}) {
    const std::vector<Tensor> inputs{x, numbers({40})};
    expect_tier_0(*group_of({}, inputs), inputs, "strided");
  }
}

// Elements that lie apart, another element for each where one was expected, nothing to fold.
TEST_F(Folds, OfOtherInputsAreLeftToTheTwin) {
  const Tensor x = numbers({6, 9, 40});
  const auto group = group_of({}, {x, numbers({9, 1})});
  expect_tier_0(*group, {x, numbers({9, 40})}, "wide", By::kTwin);
  expect_tier_0(*group, {kernels::transpose(numbers({6, 40, 9}), 1, 2), numbers({9, 1})}, "apart",
                By::kTwin);
  for (const IntVector& sizes : {IntVector{6, 0, 40}, IntVector{0, 9, 40}, IntVector{6, 9, 0}}) {
    expect_tier_0(*group, {numbers(sizes), numbers({1})}, shape_string(sizes), By::kTwin);
  }
}

TEST_F(Folds, PassOnWhatIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = numbers({3, 5, 20});
  for (const int64_t at : {0, 25, 41, 99}) x.data<float>()[at] = static_cast<float>(nan);
  for (const int64_t at : {7, 107, 127}) x.data<float>()[at] = static_cast<float>(-infinity);
  const std::vector<Tensor> inputs{x, numbers({1})};
  for (const char* fold : kFolds) expect_tier_0(*group_of({fold}, inputs), inputs, fold);
}

}  // namespace
}  // namespace tierup::codegen
