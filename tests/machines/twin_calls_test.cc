// In a steady state no compiled step is answered by its twin: every model of the zoo, with plans
// from the first call on. CTest runs this at several levels of instructions, since that is where
// compiled code differs: a flag raised by a vector instruction sends a net to its twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tierup/api/model.h"
#include "tierup/api/model_cases.h"

namespace tierup::api {
namespace {

constexpr const char* kZoo = "tests/data/zoo";
constexpr int kWarmRounds = 5;  // The second sight of sizes compiles for them.
constexpr int kSteadyRounds = 2;

struct Calls {
  uint64_t compiled = 0;
  std::map<std::string, uint64_t> by_twins;  // By step and reason.
};

Calls calls_of(const Model& model) {
  Calls calls;
  for (const tier::GraphReport& graph : model.tiers().report().graphs) {
    for (const tier::PlanReport& plan : graph.plans) {
      for (const ops::StepReport& step : plan.compiled_steps) {
        calls.compiled += step.compiled_calls;
        for (size_t i = 0; i < step.twin_calls.size(); ++i) {
          const auto reason = ops::twin_reason_text(static_cast<ops::TwinReason>(i));
          calls.by_twins[step.kind + " (" + step.what + "): " + std::string(reason) + " " +
                         step.refusal] += step.twin_calls[i];
        }
      }
    }
  }
  return calls;
}

class TwinCalls : public ::testing::TestWithParam<std::string> {};

TEST_P(TwinCalls, are_none_in_a_steady_state) {
  const std::string path = std::string(kZoo) + "/" + GetParam();
  ModelOptions options;
  options.tiering.apply("compile=blocking,profiled_runs=1");
  const Ref<Model> model = Model::load(archive::map_file(path), options);
  std::vector<ModelCase> cases;
  for (const std::string& case_path : case_paths_of(path))
    cases.push_back(read_model_case(case_path));
  const auto run = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      for (const ModelCase& model_case : cases) {
        for (const CaseCall& call : model_case.calls) run_case_call(*model, call, model_case);
        model->tiers().wait_for_jobs();
      }
    }
  };
  run(kWarmRounds);
  const Calls before = calls_of(*model);
  run(kSteadyRounds);
  for (const auto& [step, times] : calls_of(*model).by_twins) {
    const auto known = before.by_twins.find(step);
    EXPECT_EQ(times, known == before.by_twins.end() ? 0 : known->second) << step;
  }
}

std::vector<std::string> archives() {
  std::vector<std::string> names;
  std::error_code none;  // Asked for the list of tests elsewhere.
  for (const auto& entry : std::filesystem::directory_iterator(kZoo, none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".pt") || name.ends_with(".pt2")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, TwinCalls, ::testing::ValuesIn(archives()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace tierup::api
