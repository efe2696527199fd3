// What a run of the Executor takes from the heap once nothing is new any more, under four callers.
//
// Counted by this program's own operator new. Tensors' memory comes from the arena of the plan, or
// from the allocator's kept blocks; what is counted are the objects of values and tensors, and the
// arguments of oneDNN's primitives.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <new>
#include <thread>

#include "tierup/api/model.h"
#include "tierup/api/model_cases.h"
#include "tierup/executor/executor.h"

namespace {
std::atomic<uint64_t> allocations{0};
}

void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tierup {
namespace {

constexpr int kCallers = 4;
constexpr int kRuns = 200;

// Heap blocks of one run, in each of two windows after the warm-up; frames that are kept.
struct Steady {
  double first;
  double second;
  uint64_t frames;
};

Steady measure(const std::string& path, const std::string& inputs, const char* tiering) {
  api::ModelOptions options;
  options.threads = 1;
  options.tiering.apply(tiering);
  const auto model = api::Model::load(archive::map_file(path), options);
  const std::vector<IValue> args = api::read_model_case(inputs).calls[0].args;
  executor::Executor executor(Ref<executor::Servable>(model.get()), {});
  // Callers and counter meet before and after each window.
  std::barrier meeting(kCallers + 1);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&] {
      for (int window = 0; window < 3; ++window) {
        meeting.arrive_and_wait();
        for (int i = 0; i < kRuns; ++i) executor.run_flat(args, {});
        meeting.arrive_and_wait();
      }
    });
  }
  std::array<double, 3> blocks{};
  for (double& count : blocks) {
    const uint64_t before = allocations.load();
    meeting.arrive_and_wait();
    meeting.arrive_and_wait();
    count = static_cast<double>(allocations.load() - before) / (kCallers * kRuns);
    model->tiers().wait_for_jobs();
  }
  for (std::thread& caller : callers) caller.join();
  return {blocks[1], blocks[2], executor.stats().frames_idle};
}

TEST(SteadyRuns, take_no_more_blocks_and_frames_as_time_goes_by) {
  for (const char* tiering : {"compile=off", "compile=blocking,profiled_runs=1"}) {
    for (const char* name : {"mlp3.pt", "mlp3.pt2", "mobilenet_v3_small.pt2", "bert_base.pt"}) {
      const std::string path = std::string("tests/data/zoo/") + name;
      const std::string inputs = path.substr(0, path.rfind('.')) + ".case0.safetensors";
      const Steady steady = measure(path, inputs, tiering);
      std::printf("%s, %s: %.1f heap blocks a run\n", name, tiering, steady.second);
      EXPECT_LE(steady.second, 1.02 * steady.first + 1) << name << ", " << tiering;
      EXPECT_LE(steady.frames, 3U * kCallers) << name << ", " << tiering;
    }
  }
}

}  // namespace
}  // namespace tierup
