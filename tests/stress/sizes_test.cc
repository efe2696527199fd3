// Sizes that keep changing: sixteen callers while plans are made, flushed and released at random,
// and one caller with a thousand sizes, each of them once. Every answer is that of tier 0, and
// nothing grows. STRESS_SECONDS (default 1) is the time of the first per model.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "tierup/api/model/model.h"
#include "tierup/base/block_marks.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tensor/comparison.h"

namespace tierup::api {
namespace {

using Clock = std::chrono::steady_clock;

// Tier 1 may round otherwise than tier 0: of a tensor's largest value.
constexpr double kBound = 1e-4;
constexpr int64_t kAny = -1;

struct SizedModel {
  const char* name;
  std::vector<std::vector<int64_t>> inputs;  // kAny: a size that the test chooses.
};

void PrintTo(const SizedModel& model, std::ostream* stream) { *stream << model.name; }

std::string path_of(const SizedModel& model) {
  return std::string("tests/data/zoo/") + model.name + ".pt";
}

Ref<Model> load(const SizedModel& sized, const std::string& tiering) {
  ModelOptions options;
  options.tiering = {};
  options.tiering.apply(tiering);
  return Model::load(archive::map_file(path_of(sized)), options);
}

// The same numbers for the same sizes.
IValue numbers(std::vector<int64_t> sizes) {
  const Tensor tensor = Tensor::empty(IntVector(sizes.begin(), sizes.end()), ScalarType::kFloat);
  std::minstd_rand random(static_cast<uint32_t>(tensor.numel()) + 1);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
  }
  return tensor;
}

// Arguments of one choice of sizes, with what tier 0 answers.
struct Sample {
  std::vector<IValue> args;
  IValue expected;
};

// The n-th free size of every input is the n-th of `chosen`.
std::vector<IValue> arguments(const SizedModel& model, const std::vector<int64_t>& chosen) {
  std::vector<IValue> args;
  for (std::vector<int64_t> sizes : model.inputs) {
    size_t next = 0;
    for (int64_t& size : sizes) {
      if (size == kAny) size = chosen[next++];
    }
    args.push_back(numbers(sizes));
  }
  return args;
}

std::vector<Sample> make_samples(const SizedModel& sized, size_t count, uint32_t seed) {
  const Ref<Model> tier0 = load(sized, "compile=off");
  std::mt19937 random(seed);
  std::vector<Sample> samples(count);
  for (Sample& sample : samples) {
    const auto size = [&] { return static_cast<int64_t>(4 * (1 + random() % 6)); };
    sample.args = arguments(sized, {size(), size(), size()});
    sample.expected = tier0->call(sample.args);
  }
  return samples;
}

// Empty if right.
std::string problem_of(const Model& model, const Sample& sample) {
  try {
    const double off = relative_deviation(model.call(sample.args), sample.expected);
    return off <= kBound ? "" : "off by " + std::to_string(off);
  } catch (const std::exception& error) {
    return error.what();
  }
}

double seconds_per_model() {
  const char* text = std::getenv("STRESS_SECONDS");
  return text != nullptr ? std::atof(text) : 1.0;
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

class ChangingSizes : public testing::TestWithParam<SizedModel> {};

TEST_P(ChangingSizes, answers_stay_right_while_plans_come_and_go) {
  const std::vector<Sample> samples = make_samples(GetParam(), 24, 1);
  const Ref<Model> model =
      load(GetParam(), "profiled_runs=1,max_plans=3,release_delay_ms=3,verify_rate=0.1,poison=on");
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds_per_model()));
  std::vector<std::string> problems(16);
  std::vector<uint64_t> calls(problems.size());
  std::vector<std::thread> callers;
  for (size_t t = 0; t < problems.size(); ++t) {
    callers.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (; problems[t].empty() && Clock::now() < end; ++calls[t]) {
        problems[t] = problem_of(*model, samples[random() % samples.size()]);
      }
    });
  }
  std::mt19937 random(7);
  uint64_t flushes = 0;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
    if (random() % 2 == 0) {
      model->trim_frames();
    } else {
      model->tiers().flush();
      ++flushes;
    }
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
  uint64_t answers = 0;
  for (const uint64_t count : calls) answers += count;
  std::printf("%s: %llu answers, %llu flushes\n", GetParam().name,
              static_cast<unsigned long long>(answers), static_cast<unsigned long long>(flushes));
  EXPECT_GT(answers, 0U);
  for (const tier::GraphReport& graph : model->tiers().report().graphs) {
    EXPECT_NE(graph.reason, tier::Reason::kMismatch) << graph.detail;
    EXPECT_NE(graph.reason, tier::Reason::kCompileFailed) << graph.detail;
  }
}

// The n-th of a thousand choices for the free sizes of a model, no two of which are the same.
std::vector<int64_t> choice(const SizedModel& model, int64_t n) {
  switch (std::ranges::count(model.inputs[0], kAny)) {
    case 1: return {1 + n};
    case 2: return {1 + n % 100, 1 + n / 100};
    default: return {1 + n % 10, 4 * (1 + n / 10 % 10), 4 * (1 + n / 100)};
  }
}

// Sizes after which what is kept by sizes is full: some hundred nets and a thousand primitives.
constexpr size_t kFilling = 600;
constexpr int64_t kMostForFilling = int64_t{100} << 20;

TEST_P(ChangingSizes, a_thousand_sizes_stay_within_budget_and_memory) {
  const Ref<Model> tier0 = load(GetParam(), "compile=off");
  const Ref<Model> model = load(GetParam(), "");
  const tier::TieringOptions& options = model->tiers().options();
  std::vector<int64_t> order(1000);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  int64_t live = 0;
  int64_t resident = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    Sample sample{arguments(GetParam(), choice(GetParam(), order[i])), {}};
    sample.expected = tier0->call(sample.args);
    ASSERT_EQ(problem_of(*model, sample), "") << "call " << i;
    if (i == 100 || i == kFilling) {
      model->tiers().wait_for_jobs();
      const int64_t before = std::exchange(resident, resident_bytes());
      if (i == 100) live = allocator_stats().live_bytes;
      if (i == kFilling && !kBlocksAreMarked) {
        EXPECT_LE(resident, before + kMostForFilling);
      }
    }
  }
  model->tiers().wait_for_jobs();
  std::printf("%s: live %+.2f MiB, resident %+.2f MiB after the first 600\n", GetParam().name,
              static_cast<double>(allocator_stats().live_bytes - live) / 1048576,
              static_cast<double>(resident_bytes() - resident) / 1048576);
  EXPECT_LE(allocator_stats().live_bytes, live + (4 << 20));
#ifndef __SANITIZE_THREAD__  // Whose own books of every byte are resident too.
  // The address sanitizer keeps blocks that were freed.
  if (!kBlocksAreMarked) {
    EXPECT_LE(resident_bytes(), resident + (12 << 20));
  }
#endif
  for (const tier::GraphReport& graph : model->tiers().report().graphs) {
    EXPECT_LE(graph.plans.size(), options.max_plans);
    EXPECT_LE(graph.plans_made, options.budget());
    EXPECT_GE(graph.plans_made, 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ChangingSizes,
                         testing::Values(SizedModel{"mlp3", {{kAny, 20}}},
                                         SizedModel{"pointwise_chain",
                                                    {{kAny, kAny, 16}, {kAny, kAny, 16}}},
                                         SizedModel{"conv_autoencoder", {{kAny, 3, kAny, kAny}}},
                                         SizedModel{"fork_wait", {{kAny, kAny, 8}}},
                                         SizedModel{"lstm_cell_loop", {{kAny, kAny, 8}}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tierup::api
