// Machines with one core and with 64: models with teams of so many threads, whatever this machine
// has, at tier 0 and with plans, give what their cases expect.
#include <gtest/gtest.h>

#include "tierup/api/model/model.h"
#include "tierup/cases/model_cases.h"
#include "tierup/cases/model_check.h"

namespace tierup::api {
namespace {

class TeamSizes : public ::testing::TestWithParam<int> {};

TEST_P(TeamSizes, give_what_cases_expect) {
  for (const char* name : {"resnet18.pt", "mobilenet_v3_small.pt", "bert_base.pt", "gru.pt",
                           "pointwise_chain.pt", "unet.pt", "swin_t.pt2", "gnn_scatter.pt"}) {
    const std::string path = std::string("tests/data/zoo/") + name;
    for (const char* tiering : {"compile=off", "compile=blocking,profiled_runs=1"}) {
      ModelOptions options;
      options.threads = GetParam();
      options.tiering.apply(tiering);
      const Ref<Model> model = Model::load(archive::map_file(path), options);
      const std::vector<std::string> case_paths = case_paths_of(path);
      ASSERT_FALSE(case_paths.empty()) << path;
      for (const std::string& case_path : case_paths) {
        const ModelCase model_case = read_model_case(case_path);
        for (int round = 0; round < 3; ++round) {
          for (const CaseCall& call : model_case.calls) {
            EXPECT_EQ(run_case_call(*model, call, model_case).difference, "")
                << case_path << ", " << tiering << ", round " << round;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, TeamSizes, ::testing::Values(1, 7, 64));

}  // namespace
}  // namespace tierup::api
