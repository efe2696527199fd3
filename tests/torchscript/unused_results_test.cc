// What a program raises belongs to what it does. A plan knows sizes, ranks and branches that tier 0
// has to compute results for; where nobody else uses such a result, its operator must raise all the
// same. Each function of unused_results.py is profiled with arguments that fit and is then given
// some that do not.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/torchscript/script_program.h"
#include "tierup/kernels/shape/conversion.h"

namespace tierup {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> fitting;
  std::string unfitting;
};

void PrintTo(const Case& one, std::ostream* stream) { *stream << one.name; }

std::vector<std::string> pieces(const std::string& text, const std::string& separator) {
  std::vector<std::string> result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    result.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  return result;
}

std::vector<int64_t> numbers(const std::string& text, const std::string& separator) {
  std::vector<int64_t> result;
  for (const std::string& piece : pieces(text, separator)) result.push_back(std::stoll(piece));
  return result;
}

IValue argument(const std::string& text) {
  if (text.front() == 'n') return numbers(text.substr(1), ",").front();
  if (text.front() == 'i') {
    const std::vector<int64_t> values = numbers(text.substr(1), ",");
    Tensor vector =
        Tensor::empty(IntVector{static_cast<int64_t>(values.size())}, ScalarType::kLong);
    std::copy(values.begin(), values.end(), vector.data<int64_t>());
    return vector;
  }
  const std::vector<int64_t> sizes = numbers(text, "x");
  Tensor floats = Tensor::empty(IntVector(sizes.begin(), sizes.end()), ScalarType::kFloat);
  kernels::fill_(floats, Scalar(1.0));
  return floats;
}

std::string program_text() {
  std::ifstream file("tests/torchscript/unused_results.py");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& line : pieces(program_text(), "\n")) {
    if (line.starts_with("#? ")) {
      const std::vector<std::string> sides = pieces(line.substr(3), " ! ");
      cases.push_back({{}, pieces(sides.at(0), " | "), sides.at(1)});
    } else if (line.starts_with("def ")) {
      cases.back().name = line.substr(4, line.find('(') - 4);
    }
  }
  return cases;
}

// What a function gives or raises.
std::string outcome(ScriptProgram& program, const std::string& name, const std::string& text) {
  std::vector<IValue> arguments;
  for (const std::string& piece : pieces(text, " ")) arguments.push_back(argument(piece));
  try {
    return fmt::format("{}", program.run(name, std::move(arguments)).to_int());
  } catch (const Error& error) {
    return fmt::format("! {}: {}", error_code_name(error.code()), error.message());
  }
}

class UnusedResults : public testing::TestWithParam<Case> {
 protected:
  // As at tier 0, once its plans have been made.
  static void check(const std::string& options, bool hits_plans) {
    tier::TieringOptions tiering;
    tiering.apply("compile=blocking,verify_passes=on," + options);
    ScriptProgram plain(program_text(), Preparation::kNoOpt);
    ScriptProgram tiered(program_text(), Preparation::kTiered, 10, tiering);
    const Case& one = GetParam();
    for (int round = 0; round < 2; ++round) {
      for (const std::string& arguments : one.fitting) {
        const std::string wanted = outcome(plain, one.name, arguments);
        EXPECT_FALSE(wanted.starts_with("!")) << wanted;
        EXPECT_EQ(outcome(tiered, one.name, arguments), wanted);
      }
    }
    const uint64_t before = hits(tiered);
    const std::string wanted = outcome(plain, one.name, one.unfitting);
    EXPECT_TRUE(wanted.starts_with("!")) << wanted;
    EXPECT_EQ(outcome(tiered, one.name, one.unfitting), wanted);
    if (hits_plans) {
      EXPECT_GT(hits(tiered), before);
    }
  }

 private:
  static uint64_t hits(const ScriptProgram& program) {
    uint64_t sum = 0;
    for (const tier::GraphReport& graph : program.report().graphs) {
      for (const tier::PlanReport& plan : graph.plans) sum += plan.hits;
    }
    return sum;
  }
};

TEST_P(UnusedResults, RaiseInDynamicPlans) { check("profiled_runs=2", true); }
TEST_P(UnusedResults, RaiseInDynamicPlansWithoutFusion) {
  check("profiled_runs=2,fusion=off", true);
}
TEST_P(UnusedResults, RaiseInStaticPlans) {
  check("policy=reference,fusion_strategy=static:4,profiled_runs=1", false);
}

INSTANTIATE_TEST_SUITE_P(Operators, UnusedResults, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tierup
