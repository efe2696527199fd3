// Groups in which results of folds over middle and outer dimensions are read again, against the
// same members at tier 0.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tierup/codegen/folds_fixture.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {
namespace {

using kernels::InstructionSet;
using ops::GroupArgument;
using ops::GroupProgram;
using ops::RowSpace;

class FoldReads : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
  void TearDown() override { kernels::limit_instruction_set(InstructionSet::kAvx512); }
};

ops::GroupMember of_two(const char* op, const GroupArgument& a, const GroupArgument& b) {
  ops::GroupMember made = call(op, {a, b});
  if (made.op->schema().arguments.size() > 2) made.arguments.push_back(constant(int64_t{1}));
  return made;
}

GroupProgram program_of(std::vector<ops::GroupMember> members, std::vector<uint32_t> outputs,
                        uint32_t inputs = 2, uint32_t row_rank = 2) {
  GroupProgram program;
  program.input_count = inputs;
  program.row_rank = row_rank;
  program.members = std::move(members);
  program.outputs = std::move(outputs);
  return program;
}

// Of x * y, normalised over the dimension before the last one, times y.
GroupProgram normalised(const char* op) {
  return program_of({of_two("aten::mul.Tensor", input(0), input(1)),
                     fold_of(op, member(0), {-2}, RowSpace::kFull),
                     of_two("aten::mul.Tensor", member(1), input(1))},
                    {2});
}

// (z - mean z) / sqrt(variance z + 1) of z = x + y, and the mean.
GroupProgram standardised(const IntVector& dims = {-2}) {
  return program_of(
      {of_two("aten::add.Tensor", input(0), input(1)),
       fold_of("aten::mean.dim", member(0), dims, RowSpace::kPart),
       of_two("aten::sub.Tensor", member(0), member(1)),
       of_two("aten::mul.Tensor", member(2), member(2)),
       fold_of("aten::mean.dim", member(3), dims, RowSpace::kPart),
       of_two("aten::add.Scalar", member(4), constant(int64_t{1})), call("aten::sqrt", {member(5)}),
       of_two("aten::div.Tensor", member(2), member(6))},
      {1, 6, 7}, 2, static_cast<uint32_t>(-dims[0]));
}

void check_sizes(ScalarType type, int bits) {
  for (const auto& [name, program] : {std::pair{"softmax", normalised("aten::softmax.int")},
                                      std::pair{"log_softmax", normalised("aten::log_softmax.int")},
                                      std::pair{"standardised", standardised()}}) {
    const auto group =
        fold_group(program, {numbers({5, 7, 17}, type), numbers({7, 17}, type)}, bits);
    for (const int64_t kept : {2, 16, 17, 64, 79, 300, 1100}) {
      for (const int64_t folded : {1, 2, 33, 600}) {
        const std::vector<Tensor> inputs{numbers({3, folded, kept}, type),
                                         numbers({folded, kept}, type)};
        expect_tier_0(*group, inputs, fmt::format("{} of {}x{}", name, folded, kept));
      }
    }
  }
}

TEST_F(FoldReads, GiveTier0sResultsInFloat) { check_sizes(ScalarType::kFloat, 0); }
TEST_F(FoldReads, GiveTier0sResultsInDouble) { check_sizes(ScalarType::kDouble, 0); }
TEST_F(FoldReads, GiveTier0sResultsWithAvx2) {
  kernels::limit_instruction_set(InstructionSet::kAvx2);
  check_sizes(ScalarType::kFloat, 256);
}

// Lanes go along several dimensions where these lie like one.
TEST_F(FoldReads, GoAlongKeptDimensions) {
  const Tensor x = numbers({3, 8, 7, 9});
  for (const IntVector& sizes : {IntVector{8, 7, 9}, IntVector{8, 1, 1}, IntVector{9},
                                 IntVector{7, 1}, IntVector{1, 1, 7, 9}, IntVector{}}) {
    const std::vector<Tensor> inputs{x, numbers(sizes)};
    const bool lies_apart = sizes == IntVector{9} || sizes == IntVector{7, 1};
    expect_tier_0(*fold_group(standardised({-3}), inputs), inputs, shape_string(sizes),
                  lies_apart ? By::kTwin : By::kKernel);
  }
  for (const IntVector& dims : {IntVector{-4}, IntVector{-4, -3}, IntVector{-3, -2}}) {
    const std::vector<Tensor> inputs{numbers({3, 8, 7, 20}), numbers({20})};
    expect_tier_0(*fold_group(standardised(dims), inputs), inputs, fmt::format("{}", dims[0]));
  }
}

TEST_F(FoldReads, TakeMomentsAndLengths) {
  const std::vector<Tensor> inputs{numbers({3, 40, 50}), numbers({50})};
  for (const char* op : {"aten::var.dim", "aten::std.dim", "aten::linalg_vector_norm",
                         "aten::var.correction", "aten::std.correction"}) {
    const auto program = program_of({of_two("aten::add.Tensor", input(0), input(1)),
                                     fold_of(op, member(0), {-2}, RowSpace::kPart),
                                     of_two("aten::div.Tensor", member(0), member(1))},
                                    {1, 2});
    expect_tier_0(*fold_group(program, inputs), inputs, op);
    const std::vector<Tensor> one{numbers({3, 1, 50}), numbers({50})};
    expect_tier_0(*fold_group(program, one), one, op);
  }
}

// One lane of numbers whose squares no float holds, or holds with few bits: tier 0 sums them in
// doubles.
class VariancesOf : public FoldReads, public ::testing::WithParamInterface<float> {};

TEST_P(VariancesOf, NumbersOutOfRangeAreLeftToTheTwin) {
  const Tensor x = numbers({3, 40, 50});
  for (int64_t row = 0; row < 40; ++row) x.data<float>()[(40 + row) * 50 + 9] *= GetParam();
  const std::vector<Tensor> inputs{x, numbers({1})};
  for (const char* op : {"aten::std.dim", "aten::var.dim", "aten::std.correction"}) {
    const auto program = program_of({of_two("aten::mul.Tensor", input(0), input(1)),
                                     fold_of(op, member(0), {-2}, RowSpace::kPart),
                                     of_two("aten::div.Tensor", member(0), member(1))},
                                    {1, 2});
    const auto group = fold_group(program, inputs);
    expect_tier_0(*group, inputs, op, By::kTwin);
    constexpr auto kValues = static_cast<size_t>(ops::TwinReason::kOtherInputs);
    EXPECT_GT(group->step_report().twin_calls[kValues], 0U) << op;
    expect_tier_0(*group, {numbers({3, 40, 50}), inputs[1]}, op);
  }
}

INSTANTIATE_TEST_SUITE_P(EachEnd, VariancesOf, ::testing::Values(1e20F, 1e-21F, 1e-25F));

// Sums of parts are infinite with either sign.
TEST_F(FoldReads, LeaveVariancesOfInfinitePartsToTheTwin) {
  const Tensor x = numbers({1, 400, 16});
  for (int64_t row = 0; row < 400; ++row)
    x.data<float>()[row * 16 + 3] = row < 256 ? 1e38F : -1e38F;
  const std::vector<Tensor> inputs{x, numbers({1})};
  const auto program = program_of({of_two("aten::mul.Tensor", input(0), input(1)),
                                   fold_of("aten::std.dim", member(0), {-2}, RowSpace::kPart),
                                   of_two("aten::div.Tensor", member(0), member(1))},
                                  {1, 2});
  expect_tier_0(*fold_group(program, inputs), inputs, "std", By::kTwin);
}

TEST_F(FoldReads, GoOnWithoutTheFoldedDimensions) {
  const auto program =
      program_of({of_two("aten::mul.Tensor", input(0), input(1)),
                  fold_of("aten::sum.dim_IntList", member(0), {-2}, RowSpace::kFlatPart),
                  call("aten::tanh", {member(1)})},
                 {2});
  GroupProgram flat = program;
  flat.members[2].space = RowSpace::kFlatPart;
  const std::vector<Tensor> inputs{numbers({5, 9, 40}), numbers({40})};
  expect_tier_0(*fold_group(flat, inputs), inputs, "flat");
}

TEST_F(FoldReads, ReadInputsThatAreTheSameAlongWhatIsFolded) {
  const auto program =
      program_of({of_two("aten::mul.Tensor", input(0), input(1)),
                  fold_of("aten::sum.dim_IntList", member(0), {-2}, RowSpace::kPart),
                  of_two("aten::add.Tensor", member(1), input(2)),
                  of_two("aten::sub.Tensor", input(0), member(2))},
                 {2, 3}, 3);
  const std::vector<Tensor> inputs{numbers({5, 9, 40}), numbers({9, 1}), numbers({5, 1, 40})};
  const auto group = fold_group(program, inputs);
  expect_tier_0(*group, inputs, "still");
  expect_tier_0(*group, {inputs[0], inputs[1], numbers({5, 9, 40})}, "moving", By::kTwin);
}

TEST_F(FoldReads, PassOnWhatIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = numbers({3, 5, 20});
  for (const int64_t at : {0, 25, 41}) x.data<float>()[at] = static_cast<float>(nan);
  for (const int64_t at : {7, 107}) x.data<float>()[at] = static_cast<float>(-infinity);
  for (const int64_t at : {13, 33, 53, 73, 93}) x.data<float>()[at] = static_cast<float>(-infinity);
  x.data<float>()[118] = static_cast<float>(infinity);
  const std::vector<Tensor> inputs{x, numbers({1})};
  for (const char* op : {"aten::softmax.int", "aten::log_softmax.int"}) {
    expect_tier_0(*fold_group(normalised(op), inputs), inputs, op);
  }
}

// Whole values and folds of them, mixed at random.
GroupProgram random_program(std::mt19937& random) {
  const auto pick = [&](size_t count) { return static_cast<uint32_t>(random() % count); };
  std::vector<ops::GroupMember> members{of_two("aten::mul.Tensor", input(0), input(1))};
  std::vector<uint32_t> whole{0};
  std::vector<uint32_t> parts;
  const auto one_of = [&](const std::vector<uint32_t>& values) {
    return member(values[pick(values.size())]);
  };
  for (uint32_t i = 1; i < 14; ++i) {
    const char* const folds[] = {"aten::mean.dim", "aten::amax", "aten::amin", "aten::std.dim"};
    const char* const pairs[] = {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor"};
    const uint32_t kind = pick(6);
    const bool is_part = kind < 2 || (kind == 2 && !parts.empty());
    if (kind < 2) {
      members.push_back(fold_of(folds[pick(4)], one_of(whole), {-2}, RowSpace::kPart));
    } else if (is_part) {
      members.push_back(of_two(pairs[pick(3)], one_of(parts), one_of(parts)));
    } else if (kind == 3) {
      members.push_back(fold_of("aten::softmax.int", one_of(whole), {-2}, RowSpace::kFull));
    } else if (kind == 4) {
      members.push_back(call("aten::tanh", {one_of(whole)}));
    } else {
      members.push_back(
          of_two(pairs[pick(3)], one_of(whole), one_of(parts.empty() ? whole : parts)));
    }
    (is_part ? parts : whole).push_back(i);
  }
  std::vector<uint32_t> outputs{whole.back()};
  if (!parts.empty()) outputs.push_back(parts.back());
  if (whole.size() > 2) outputs.push_back(whole[whole.size() / 2]);
  return program_of(std::move(members), std::move(outputs));
}

TEST_F(FoldReads, OfRandomProgramsGiveTier0sResults) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const GroupProgram program = random_program(random);
    if (!ops::folds_parts(program)) continue;
    const std::vector<Tensor> inputs{numbers({4, 37, 90}), numbers({37, 90})};
    const auto group = fold_group(program, inputs);
    if (group->kernel_count() == 0) continue;
    expect_tier_0(*group, inputs, group->to_string());
  }
}

}  // namespace
}  // namespace tierup::codegen
