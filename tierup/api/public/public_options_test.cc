// Options of the public API: which are refused, and where files come from.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "tierup/api/public/error_fixture.h"
#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;
using namespace tierup::fixture;

const char* const kModel = "tests/data/zoo/mlp3.pt";

// Each was an undefined cast, an overflow or a request for a thousand million threads.
TEST(PublicOptions, numbers_are_checked_where_they_come_in) {
  const auto refused = [&](const Options& options, const std::string& words) {
    const Error error = error_of([&] { Module::load(kModel, options); });
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(says(error, words)) << error.what();
  };
  const auto tiering = [](const char* text) {
    Options options;
    options.tiering = text;
    return options;
  };
  refused(tiering("verify_rate=1e-30"), "verify_rate=1e-30: expected 0, or 1e-09 to 1");
  refused(tiering("verify_rate=nan"), "verify_rate");
  refused(tiering("verify_rate=-0.5"), "verify_rate");
  refused(tiering("compile_cpu_share=1e-30"), "compile_cpu_share=1e-30");
  refused(tiering("compile_cpu_share=inf"), "compile_cpu_share");
  refused(tiering("compile_threads=1000000"), "compile_threads");
  refused(tiering("fusion_strategy=dynamic:4000000000"), "fusion_strategy");
  refused(tiering("profiled_runs=-1"), "profiled_runs");
  Options options;
  options.threads = 1'000'000'000;
  refused(options, "threads=1000000000");
  options.threads = -2;
  refused(options, "threads=-2");
  options = {};
  options.fork_threads = -2;
  refused(options, "fork_threads=-2");
  options = {};
  options.inter_op_threads = 2'000'000'000;
  refused(options, "inter_op_threads");
  options = {};
  options.time_limit_ms = std::numeric_limits<int64_t>::max();
  refused(options, "time_limit_ms");

  const Module module = Module::load(kModel);
  RunOptions run;
  run.time_limit_ms = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(
      error_of([&] {
        module.forward({Tensor::zeros(std::vector<int64_t>{2, 20}, DType::kFloat32)}, {}, run);
      }).code(),
      ErrorCode::kInvalidArgument);
  ExecutorConfig config;
  config.frame_idle_ms = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(says(error_of([&] { Executor(module, config); }), "frame_idle_ms"));
  config = {};
  config.async_threads = 4'000'000'000U;
  EXPECT_TRUE(says(error_of([&] { Executor(module, config); }), "async_threads"));
}

// Cutting a mapped file is a SIGBUS.
TEST(PublicOptions, a_file_that_was_loaded_into_memory_may_be_cut) {
  const std::string path = ::testing::TempDir() + "cut_" + std::to_string(getpid()) + ".pt";
  std::filesystem::copy_file(kModel, path, std::filesystem::copy_options::overwrite_existing);
  Options options;
  options.load_into_memory = true;
  const Module module = Module::load(path, options);
  std::filesystem::resize_file(path, 100);
  const std::vector<int64_t> shape{2, 20};
  const Tensor input = Tensor::zeros(shape, DType::kFloat32);
  const Tensor expected = Module::load(kModel)({input}).to_tensor();
  const Tensor result = module({input}).to_tensor();
  ASSERT_EQ(result.element_count(), expected.element_count());
  EXPECT_EQ(std::memcmp(result.data(), expected.data(),
                        static_cast<size_t>(result.element_count()) * sizeof(float)),
            0);
  EXPECT_EQ(error_of([&] { Module::load(path, options); }).code(), ErrorCode::kCorruptArchive);
  EXPECT_EQ(error_of([&] { Module::load(path + ".none", options); }).code(), ErrorCode::kNotFound);
  std::filesystem::remove(path);
}

}  // namespace
