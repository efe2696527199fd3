// In a steady state no compiled step is answered by its twin: every model of the zoo, with plans
// from the first call on. CTest runs this at several levels of instructions, since that is where
// compiled code differs: a flag raised by a vector instruction sends a net to its twin.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "tierup/api/model/model.h"
#include "tierup/cases/model_cases.h"
#include "tierup/cases/model_check.h"

namespace tierup::api {
namespace {

// The zoo, or the folder of models and their cases that TIERUP_ZOO names.
std::filesystem::path zoo() {
  const char* folder = std::getenv("TIERUP_ZOO");
  return folder != nullptr ? folder : "tests/data/zoo";
}
constexpr int kWarmRounds = 5;  // The second sight of sizes compiles for them.
constexpr int kSteadyRounds = 2;

// What is so at every level: other dtypes than the net was made for take turns in these cases; a
// result would be a view with gaps, which nets do not give.
struct Known {
  std::string_view model;
  ops::TwinReason reason;
};
constexpr Known kKnown[] = {
    {"dict_io", ops::TwinReason::kOtherInputs},
    {"timm_beit", ops::TwinReason::kNotCompiled},
    {"timm_beit", ops::TwinReason::kOtherShapes},
};
bool is_known(std::string_view archive, ops::TwinReason reason) {
  return std::any_of(std::begin(kKnown), std::end(kKnown), [&](const Known& known) {
    return known.reason == reason && archive.starts_with(known.model);
  });
}

// Of the model's plans, by step and reason.
std::map<std::string, uint64_t> twin_calls_of(const Model& model, std::string_view archive) {
  std::map<std::string, uint64_t> calls;
  for (const tier::GraphReport& graph : model.tiers().report().graphs) {
    for (const tier::PlanReport& plan : graph.plans) {
      for (const ops::StepReport& step : plan.compiled_steps) {
        for (size_t i = 0; i < step.twin_calls.size(); ++i) {
          const auto reason = static_cast<ops::TwinReason>(i);
          if (is_known(archive, reason)) continue;
          calls[fmt::format("{} ({}): {} {}", step.kind, step.what, ops::twin_reason_text(reason),
                            step.refusal)] += step.twin_calls[i];
        }
      }
    }
  }
  return calls;
}

class TwinCalls : public ::testing::TestWithParam<std::string> {};

TEST_P(TwinCalls, are_none_in_a_steady_state) {
  const std::string path = zoo() / GetParam();
  ModelOptions options;
  options.tiering.apply("compile=blocking,profiled_runs=1");
  const Ref<Model> model = Model::load(archive::map_file(path), options);
  std::vector<ModelCase> cases;
  for (const std::string& case_path : case_paths_of(path))
    cases.push_back(read_model_case(case_path));
  if (cases.empty()) GTEST_SKIP() << "no case of calls, but of training";
  const auto run = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      for (const ModelCase& model_case : cases) {
        for (const CaseCall& call : model_case.calls) run_case_call(*model, call, model_case);
        model->tiers().wait_for_jobs();
      }
    }
  };
  run(kWarmRounds);
  const auto before = twin_calls_of(*model, GetParam());
  run(kSteadyRounds);
  for (const auto& [step, times] : twin_calls_of(*model, GetParam())) {
    const auto known = before.find(step);
    EXPECT_EQ(times, known == before.end() ? 0 : known->second) << step;
  }
}

std::vector<std::string> archives() {
  std::vector<std::string> names;
  std::error_code none;  // Asked for the list of tests elsewhere.
  for (const auto& entry : std::filesystem::directory_iterator(zoo(), none)) {
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
