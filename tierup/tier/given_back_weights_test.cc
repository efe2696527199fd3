// Pages of mapped weights that a plan packed: tier 0 brings them back for its turns, and for its
// looks later on; jobs let go of them again.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

constexpr int64_t kSide = 2048;
constexpr size_t kBytes = kSide * kSide * sizeof(float);

class GivenBackWeights : public TieredGraphFixture {
 protected:
  void SetUp() override {
    file_ = std::tmpfile();
    ASSERT_EQ(ftruncate(fileno(file_), kBytes), 0);
    data_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file_), 0);
    ASSERT_NE(data_, MAP_FAILED);
  }
  void TearDown() override {
    TieredGraphFixture::TearDown();
    munmap(data_, kBytes);
    std::fclose(file_);
  }
  Tensor weight() const {
    return Tensor::from_storage(Storage::borrow(data_, kBytes, nullptr), ScalarType::kFloat,
                                IntVector{kSide, kSide}, IntVector{kSide, 1}, 0);
  }
  // Of the weight, that stand in the process's memory.
  size_t resident_bytes() const {
    std::ifstream maps("/proc/self/smaps");
    const std::string begin = fmt::format("{:x}-", reinterpret_cast<uintptr_t>(data_));
    bool is_found = false;
    for (std::string line; std::getline(maps, line);) {
      is_found = is_found || line.starts_with(begin);
      if (is_found && line.starts_with("Rss:")) return std::stoull(line.substr(4)) * 1024;
    }
    return 0;
  }

  std::FILE* file_ = nullptr;
  void* data_ = nullptr;
};

// Of few rows, so that a reader does little with each number of the weight and leaves its pages.
TEST_F(GivenBackWeights, AreAwayOnceThePlanHasWon) {
  make("compile=background,profiled_runs=1", kTwoProducts, weight());
  const auto once = [&] { call({filled({4, kSide}, 1), weight()}); };
  // A plan that lost narrowly stands on for a while, and tier 0 goes on reading the weight.
  const auto has_won = [&] {
    const std::vector<PlanReport> plans = report().plans;
    if (plans.size() != 1 || plans[0].held_bytes <= kBytes / 2 || graph_->has_open_trials())
      return false;
    const uint64_t before = report().tier0_calls;
    once();
    return report().tier0_calls == before;
  };
  once();
  if (resident_bytes() < kBytes / 2) GTEST_SKIP() << "this system tells nothing of mappings (QEMU)";
  {
    const kernels::SpareWeight probe = kernels::give_back_pages(weight());
    if (resident_bytes() > kBytes / 2)
      GTEST_SKIP() << "this system keeps the pages of a mapped file";
  }
  for (int i = 0; i < 1000 && (report().plans.empty() || graph_->has_open_trials()); ++i) {
    once();
    tiers_->wait_for_jobs();
  }
  tiers_->wait_for_jobs();
  if (!has_won()) GTEST_SKIP() << "a plan that packs the weight is not the fastest on this machine";
  EXPECT_LT(resident_bytes(), kBytes / 2);
  // A look at tier 0, of a few calls.
  const uint64_t before = report().tier0_calls;
  for (int i = 0; i < 20000 && report().tier0_calls == before; ++i) once();
  for (int i = 0; i < 4; ++i) once();
  tiers_->wait_for_jobs();
  if (has_won()) {
    EXPECT_LT(resident_bytes(), kBytes / 2);
  }
}

}  // namespace
}  // namespace tierup::tier
