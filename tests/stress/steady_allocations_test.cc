// What a run of the Executor takes from the heap once nothing is new any more, under four callers:
// nothing of ours, whether results are given or written into bound buffers.
//
// Counted by this program's own operator new. Objects and vectors of values come from kept blocks
// (base/object_memory.h), tensors' memory from the arena of the plan or from the allocator's kept
// blocks. oneDNN puts the arguments of each primitive into a map of its own while it runs one; what
// it takes is counted apart.
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "tierup/api/model/model.h"
#include "tierup/base/block_marks.h"
#include "tierup/cases/model_cases.h"
#include "tierup/executor/executor.h"
#include "tierup/tensor/allocator.h"

namespace {

struct Library {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};
Library onednn;  // Where its code lies.
std::atomic<uint64_t> own_blocks{0};
std::atomic<uint64_t> onednn_blocks{0};

int find_onednn(dl_phdr_info* info, size_t, void*) {
  if (std::strstr(info->dlpi_name, "libdnnl") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    onednn.begin = info->dlpi_addr + header.p_vaddr;
    onednn.end = onednn.begin + header.p_memsz;
  }
  return 1;
}

}  // namespace

void* operator new(size_t bytes) {
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  const bool is_onednn = caller >= onednn.begin && caller < onednn.end;
  (is_onednn ? onednn_blocks : own_blocks).fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// The address sanitizer's own would not go with the delete below.
void* operator new(size_t bytes, const std::nothrow_t& /*none*/) noexcept {
  own_blocks.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes);
}
// Not inlined: the compiler takes a pair of new and free for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tierup {
namespace {

constexpr int kCallers = 4;
constexpr int kRuns = 200;

constexpr int kMostWindows = kBlocksAreMarked ? 6 : 60;

// What kRuns runs of each caller took, after a warm-up. Frames, arenas and kept blocks are made
// when so many callers meet inside a run for the first time, which is late where cores are few: one
// window meets two callers in the same net, a later one three. So windows go on until one takes
// nothing; what every run takes, each of them sees. The leanest counts.
struct Steady {
  uint64_t blocks = UINT64_MAX;
  uint64_t copied = UINT64_MAX;     // Results that were bound.
  int64_t from_system = INT64_MAX;  // Calls of the allocator's that had to ask the system.
  double onednn = 0;                // A run.
  uint64_t frames = 0;              // Kept at the end.

  bool took_nothing() const { return blocks == 0 && from_system == 0; }
};

struct Way {
  const char* tiering;
  bool is_bound;
};

std::vector<Tensor> buffers_like(const std::vector<IValue>& results) {
  std::vector<Tensor> buffers;
  for (const IValue& result : results) {
    const Tensor tensor = result.to_tensor();
    buffers.push_back(Tensor::empty(tensor.sizes(), tensor.dtype()));
  }
  return buffers;
}

class Measurement {
 public:
  Measurement(const std::string& path, const std::string& inputs, const Way& way)
      : is_bound_(way.is_bound) {
    api::ModelOptions options;
    options.threads = 1;
    options.tiering.apply(way.tiering);
    model_ = api::Model::load(archive::map_file(path), options);
    args_ = api::read_model_case(inputs).calls[0].args;
  }

  Steady take() {
    executor::Executor executor(Ref<executor::Servable>(model_.get()), {});
    // Callers and counter meet before and after each window.
    std::barrier meeting(kCallers + 1);
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&] { call(executor, meeting); });
    }
    Steady steady;
    for (int window = 0; window < kMostWindows && !steady.took_nothing(); ++window) {
      const uint64_t before_onednn = onednn_blocks.load();
      const int64_t before_system = allocator_stats().system_count;
      const uint64_t before_copied = executor.stats().outputs_copied;
      const uint64_t before = own_blocks.load();  // Behind the others: they take blocks.
      meeting.arrive_and_wait();
      meeting.arrive_and_wait();
      if (window == 0) {  // The warm-up.
        model_->tiers().wait_for_jobs();
        continue;
      }
      steady.blocks = std::min(steady.blocks, own_blocks.load() - before);
      steady.from_system =
          std::min(steady.from_system, allocator_stats().system_count - before_system);
      steady.copied = std::min(steady.copied, executor.stats().outputs_copied - before_copied);
      steady.onednn =
          static_cast<double>(onednn_blocks.load() - before_onednn) / (kCallers * kRuns);
    }
    is_over_ = true;
    meeting.arrive_and_wait();
    for (std::thread& caller : callers) caller.join();
    steady.frames = executor.stats().frames_idle;
    return steady;
  }

 private:
  void call(executor::Executor& executor, std::barrier<>& meeting) const {
    const std::vector<Tensor> buffers = buffers_like(executor.run_flat(args_, {}));
    for (;;) {
      meeting.arrive_and_wait();
      if (is_over_) return;
      for (int i = 0; i < kRuns; ++i) {
        if (is_bound_) {
          executor.run_into(args_, buffers, {});
        } else {
          executor.run_flat(args_, {});
        }
      }
      meeting.arrive_and_wait();
    }
  }

  const bool is_bound_;
  std::atomic<bool> is_over_{false};  // Set between two windows.
  Ref<api::Model> model_;
  std::vector<IValue> args_;
};

TEST(SteadyRuns, take_nothing_from_the_heap) {
  dl_iterate_phdr(find_onednn, nullptr);
  ASSERT_NE(onednn.begin, onednn.end);
  for (const Way& way : {Way{"compile=off", false}, Way{"compile=off", true},
                         Way{"compile=blocking,profiled_runs=1", false},
                         Way{"compile=blocking,profiled_runs=1", true}}) {
    for (const char* name : {"mlp3.pt", "mlp3.pt2", "mobilenet_v3_small.pt2", "bert_base.pt"}) {
      const std::string path = std::string("tests/data/zoo/") + name;
      const std::string inputs = path.substr(0, path.rfind('.')) + ".case0.safetensors";
      const Steady steady = Measurement(path, inputs, way).take();
      const std::string what =
          std::string(name) + ", " + way.tiering + (way.is_bound ? ", bound" : ", not bound");
      std::printf("%s: %lu heap blocks in %d runs, %.1f a run by oneDNN\n", what.c_str(),
                  steady.blocks, kCallers * kRuns, steady.onednn);
      EXPECT_LE(steady.frames, 3U * kCallers) << what;
      EXPECT_EQ(steady.copied, 0U) << what;
      EXPECT_EQ(steady.from_system, 0) << what;
      if (kBlocksAreMarked) continue;  // The sanitizer's builds keep no objects.
      EXPECT_EQ(steady.blocks, 0U) << what;
    }
  }
}

}  // namespace
}  // namespace tierup
