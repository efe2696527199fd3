// Sixteen threads call the models of the tiny zoo at once: every answer is right, and memory
// does not grow. Seconds per model come from the environment variable STRESS_SECONDS (default 1).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tierup/cases/model_cases.h"
#include "tierup/cases/model_check.h"
#include "tierup/tensor/allocator.h"

namespace tierup::api {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_per_model() {
  const char* text = std::getenv("STRESS_SECONDS");
  return text != nullptr ? std::atof(text) : 1.0;
}

// Calls until `end`; returns the first difference or error.
std::string call_until(const Model& model, const std::vector<ModelCase>& cases, size_t first,
                       Clock::time_point end) {
  try {
    for (size_t i = first; Clock::now() < end; ++i) {
      const ModelCase& one = cases[i % cases.size()];
      const CallResult result = run_case_call(model, one.calls[0], one);
      if (!result.difference.empty()) return result.difference;
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::vector<std::string> call_from_threads(const Model& model, const std::vector<ModelCase>& cases,
                                           double seconds) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  std::vector<std::string> problems(16);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < problems.size(); ++t) {
    threads.emplace_back([&, t] { problems[t] = call_until(model, cases, t, end); });
  }
  for (std::thread& thread : threads) thread.join();
  std::erase_if(problems, [](const std::string& problem) { return problem.empty(); });
  return problems;
}

class Stress : public testing::TestWithParam<const char*> {};

TEST_P(Stress, answers_stay_right_and_memory_flat) {
  const std::string path = std::string("tests/data/zoo/") + GetParam();
  const Ref<Model> model = Model::load(archive::map_file(path));
  std::vector<ModelCase> cases;
  for (const std::string& case_path : case_paths_of(path)) {
    cases.push_back(read_model_case(case_path));
  }
  ASSERT_FALSE(cases.empty());
  EXPECT_EQ(call_from_threads(*model, cases, seconds_per_model() / 4), std::vector<std::string>());
  const int64_t before = allocator_stats().live_bytes;
  EXPECT_EQ(call_from_threads(*model, cases, seconds_per_model()), std::vector<std::string>());
  EXPECT_LE(allocator_stats().live_bytes, before + (1 << 20));
}

INSTANTIATE_TEST_SUITE_P(Zoo, Stress,
                         testing::Values("mlp3.pt", "branch_on_value.pt", "fork_wait.pt"),
                         [](const auto& info) {
                           std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace tierup::api
