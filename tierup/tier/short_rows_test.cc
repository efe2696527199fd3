#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tierup/tier/code_generator.h"
#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

// What a test makes of its arguments, with the dimension of rows' elements and what else sums take.
std::string graph_of(const char* arguments, const char* body) {
  return std::string("graph @main(") + arguments + R"() {
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant[value=None]()
  %last : int = prim::Constant[value=-1]()
  %dims : List[int] = prim::ListConstruct(%last)
  %keep : bool = prim::Constant[value=True]())" +
         body + "\n}";
}

// Differences of all pairs, and what their distances make of them: rows of as many elements as a
// point has coordinates, with one number for each.
constexpr const char* kPairs = R"(
  %d : Tensor = aten::sub.Tensor(%a, %b, %one)
  %s : Tensor = aten::mul.Tensor(%d, %d)
  %sum : Tensor = aten::sum.dim_IntList(%s, %dims, %keep, %none)
  %w : Tensor = aten::neg(%sum)
  %near : Tensor = aten::relu(%w)
  %r : Tensor = aten::mul.Tensor(%near, %d)
  %out : Tensor = aten::add.Tensor(%r, %w, %one)
  return (%out))";

class ShortRows : public TieredGraphFixture {
 protected:
  Tensor pairs(const char* options, int64_t width) {
    make(options, graph_of("%a : Tensor, %b : Tensor", kPairs).c_str());
    Tensor a = filled({90, 1, width}, 0).to_tensor();
    Tensor b = filled({1, 90, width}, 0).to_tensor();
    for (int64_t i = 0; i < a.numel(); ++i) {
      a.data<float>()[i] = 0.37F * static_cast<float>(i % 17);
      b.data<float>()[i] = 0.11F * static_cast<float>(i % 23);
    }
    Tensor result;
    for (int i = 0; i < 4; ++i) result = call({a, b}).to_tensor();
    return result;
  }
  // Of the plans' steps.
  uint64_t twin_calls() const {
    uint64_t calls = 0;
    for (const PlanReport& plan : report().plans) {
      for (const ops::StepReport& step : plan.compiled_steps) {
        for (const uint64_t by_reason : step.twin_calls) calls += by_reason;
      }
    }
    return calls;
  }
};

// Numbers of rows with others for each row, where no result goes over the elements of rows.
constexpr const char* kTotals = R"(
  %d : Tensor = aten::sub.Tensor(%a, %b, %one)
  %sum : Tensor = aten::sum.dim_IntList(%d, %dims, %keep, %none)
  %w : Tensor = aten::add.Tensor(%c, %sum, %one)
  %out : Tensor = aten::sigmoid(%w)
  return (%out))";

TEST_F(ShortRows, AreFoldedToWhatIsAddedToNumbersOfRows) {
  if (!code_generator_failure({}).empty()) GTEST_SKIP() << "no code generator";
  for (const int64_t width : {2, 16, 40}) {
    Tensor results[2];
    for (const bool compiles : {false, true}) {
      make(compiles ? "compile=blocking,profiled_runs=1,plan_trial=off" : "compile=off",
           graph_of("%a : Tensor, %b : Tensor, %c : Tensor", kTotals).c_str());
      for (int i = 0; i < 4; ++i) {
        results[compiles ? 1 : 0] =
            call({filled({512, width}, 2), filled({512, width}, 1), filled({512, 1}, -3)})
                .to_tensor();
      }
    }
    EXPECT_EQ(twin_calls(), 0U) << width;
    EXPECT_EQ(
        std::memcmp(results[0].raw(), results[1].raw(), static_cast<size_t>(results[0].bytes())),
        0);
  }
}

TEST_F(ShortRows, WithOneNumberForEachAreAnsweredByTheirKernel) {
  if (!code_generator_failure({}).empty()) GTEST_SKIP() << "no code generator";
  for (const int64_t width : {2, 3, 31, 32, 150}) {
    const Tensor expected = pairs("compile=off", width);
    const Tensor result = pairs("compile=blocking,profiled_runs=1,plan_trial=off", width);
    EXPECT_EQ(report().plans.size(), 1U);
    EXPECT_EQ(twin_calls(), 0U) << width;
    ASSERT_EQ(result.bytes(), expected.bytes());
    EXPECT_EQ(std::memcmp(result.raw(), expected.raw(), expected.bytes()), 0) << width;
  }
}

}  // namespace
}  // namespace tierup::tier
