#include "tierup/kernels/net/formula.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels::net {
namespace {

using Kind = FormulaOperand::Kind;

FormulaOperand input(uint32_t index) { return {Kind::kInput, index, 0}; }
FormulaOperand step(uint32_t index) { return {Kind::kStep, index, 0}; }
FormulaOperand number(float value) { return {Kind::kNumber, 0, value}; }

class FormulaOfSteps : public OnInstructionSet {};

// (2 x) * y - |2 x|
const Formula kFormula{{Body::kMul, {input(0), number(2)}},
                       {Body::kMul, {step(0), input(1)}},
                       {Body::kAbs, {step(0)}},
                       {Body::kSub, {step(1), step(2)}}};

TEST_P(FormulaOfSteps, goes_over_all_numbers) {
  for (const int threads : {1, 2}) {
    const ThreadCountScope scope(threads);
    for (const int64_t count : {1, 7, 511, 512, 513, 5000, 70001}) {
      std::vector<float> x(static_cast<size_t>(count));
      std::vector<float> y(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i % 13) - 6;
        y[i] = static_cast<float>(i % 7) - 3;
      }
      std::vector<float> out(x.size() + 1, 77);
      const std::array<const float*, 2> inputs{x.data(), y.data()};
      const FormulaRun run(kFormula);
      run.run(inputs, count, out.data());
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(out[i], 2 * x[i] * y[i] - std::abs(2 * x[i])) << i;
      EXPECT_EQ(out.back(), 77);
      run.run(inputs, count, x.data());  // Over an input.
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], out[i]) << i;
    }
  }
}

TEST(Formulas, joined_ones_read_each_value_once) {
  const Formula earlier{{Body::kAdd, {input(0), input(1)}}};
  const Formula later{{Body::kMul, {input(1), input(0)}}, {Body::kSub, {step(0), input(1)}}};
  std::vector<int> inputs{5, 9};  // The earlier one gives value 9, of 4 and 5.
  const Formula joined = join_formulas(earlier, std::vector<int>{4, 5}, later, inputs, 9);
  EXPECT_EQ(inputs, (std::vector<int>{4, 5}));
  const Formula expected{{Body::kAdd, {input(0), input(1)}},
                         {Body::kMul, {step(0), input(1)}},
                         {Body::kSub, {step(1), step(0)}}};
  EXPECT_EQ(joined, expected);
}

INSTANTIATE_TEST_SUITE_P(Sets, FormulaOfSteps,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels::net
