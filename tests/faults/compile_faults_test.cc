// A compile job's memory runs out, wherever it may: callers are answered by tier 0 as before, the
// process goes on, and explain counts the failure (T84 of the design of the profiling executor).
//
// Counted and refused by this program's own operator new and aligned allocations, in all threads
// but the caller's. Each fault has a process of its own, since some are for good. Not refused is
// what oneDNN and the code generator, which has LLVM in it, ask for while they compile: these are
// not made to go on without (base/headroom.h).
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tierup/base/sanitizers.h"
#include "tierup/codegen/compile_groups.h"
#include "tierup/codegen/library.h"
#include "tierup/tier/tiered_graph_fixture.h"

namespace {

std::atomic<int64_t> asked{0};           // Allocations of jobs so far.
std::atomic<int64_t> first_refused{-1};  // -1: none is.
std::atomic<int64_t> refusals_left{0};
std::atomic<bool> was_refused{false};
std::atomic<bool> are_libraries_refused{false};
thread_local bool is_caller = false;

// The code of oneDNN, the code generator and LLVM, of which the latter two are loaded late.
struct Libraries {
  struct Range {
    uintptr_t begin, end;
  };
  std::array<Range, 8> ranges{};
  size_t count = 0;

  static int add(dl_phdr_info* info, size_t, void* all) {
    auto& self = *static_cast<Libraries*>(all);
    const auto is = [&](const char* name) { return std::strstr(info->dlpi_name, name) != nullptr; };
    if (!is("libdnnl") && !is("libtierup_codegen") && !is("libLLVM")) return 0;
    for (int i = 0; i < info->dlpi_phnum && self.count < self.ranges.size(); ++i) {
      const auto& header = info->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
      self.ranges[self.count++] = {begin, begin + header.p_memsz};
    }
    return 0;
  }
  bool holds(void* frame) const {
    const auto at = reinterpret_cast<uintptr_t>(frame);
    return std::any_of(ranges.begin(), ranges.begin() + count,
                       [&](const Range& range) { return at >= range.begin && at < range.end; });
  }
};

bool is_asked_by_a_library() {
  Libraries libraries;
  dl_iterate_phdr(&Libraries::add, &libraries);
  std::array<void*, 32> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  return std::any_of(frames.begin(), frames.begin() + count,
                     [&](void* frame) { return libraries.holds(frame); });
}

bool refuse() {
  if (is_caller) return false;
  const int64_t number = asked.fetch_add(1);
  const int64_t first = first_refused.load();
  if (first < 0 || number < first || refusals_left.load() <= 0) return false;
  // What looking asks for itself is granted.
  is_caller = true;
  const bool is_granted = !are_libraries_refused.load() && is_asked_by_a_library();
  is_caller = false;
  if (is_granted || refusals_left.fetch_sub(1) <= 0) return false;
  was_refused.store(true);
  return true;
}

}  // namespace

void* operator new(size_t bytes) {
  if (refuse()) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t& /*none*/) noexcept {
  return refuse() ? nullptr : std::malloc(bytes);
}
// Not inlined: the compiler takes a pair of new and free for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

#if !defined(TIERUP_ADDRESS_SANITIZER) && !defined(TIERUP_THREAD_SANITIZER)
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return refuse() ? nullptr : memalign(alignment, bytes);
}
extern "C" int posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  void* memory = refuse() ? nullptr : memalign(alignment, bytes);
  if (memory == nullptr) return ENOMEM;
  *result = memory;
  return 0;
}
#endif

namespace tierup::tier {
namespace {

// A line of layers, which becomes a net, and point-wise operators around a view, which become
// groups; a loop whose trips are known.
constexpr const char* kProgram = R"(graph @main(%x : Tensor, %w : Tensor) {
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant[value=None]()
  %go : bool = prim::Constant[value=True]()
  %h : Tensor = aten::linear(%x, %w, %none)
  %a : Tensor = aten::relu(%h)
  %p : Tensor = aten::linear(%a, %w, %none)
  %sum : Tensor = prim::Loop(%two, %go, %p)
    block0(%i : int, %t : Tensor):
      %m : Tensor = aten::mul.Tensor(%t, %x)
      %n : Tensor = aten::add.Tensor(%m, %t, %one)
      -> (%go, %n)
  %s : Tensor = aten::sigmoid(%sum)
  %turned : Tensor = aten::transpose.int(%s, %zero, %one)
  %r : Tensor = aten::add.Tensor(%turned, %turned, %one)
  return (%r)
})";
constexpr int64_t kSide = 16;

// What one process tells of its calls.
struct Outcome {
  int64_t asked = 0;
  bool was_refused = false;
  bool is_right = true;
  uint32_t failed_jobs = 0;
  bool is_told = false;  // A note on a plan says what was left out.
  size_t plans = 0;
  size_t compiled_steps = 0;  // Nets and groups of them.
};

class CompileFaults : public TieredGraphFixture {
 protected:
  // Calls until nothing is left to be compiled, with so many allocations refused from `first` on.
  Outcome call_through(const std::string& options, int64_t first, int64_t count) {
    is_caller = true;
    const Tensor weight = filled({kSide, kSide}, 1.0 / 128).to_tensor();
    make("compile=background,profiled_runs=1," + options, kProgram, IValue(weight));
    refusals_left.store(count);
    asked.store(0);
    first_refused.store(first);
    Outcome outcome;
    for (int i = 0; i < 30; ++i) {
      const IValue result = call({filled({kSide, kSide}, 1), weight});
      outcome.is_right = outcome.is_right && is_right(result.to_tensor());
      if (i < 8 || i > 26) tiers_->wait_for_jobs();
    }
    first_refused.store(-1);
    const GraphReport told = report();
    outcome.asked = asked.load();
    outcome.was_refused = was_refused.load();
    outcome.failed_jobs = told.failed_jobs;
    outcome.plans = told.plans.size();
    for (const PlanReport& plan : told.plans) {
      for (const std::string& note : plan.notes)
        outcome.is_told = outcome.is_told || note.find("not compiled") != std::string::npos;
      for (const ops::StepReport& step : plan.compiled_steps)
        outcome.is_told = outcome.is_told || !step.refusal.empty();
      outcome.compiled_steps += plan.compiled_steps.size();
    }
    return outcome;
  }
  // Layers of 16 * 1/128: 1/8 and 1/64; two trips double it.
  static bool is_right(const Tensor& result) {
    const double expected = 2 / (1 + std::exp(-4.0 / 64));
    for (int64_t i = 0; i < result.numel(); ++i)
      if (std::abs(result.data<float>()[i] - expected) > 1e-5) return false;
    return result.numel() == kSide * kSide;
  }

  std::optional<Outcome> calls_in_a_process(const std::string& options, int64_t first,
                                            int64_t count) {
    return in_a_process([&] { return call_through(options, first, count); });
  }

  // In a process of its own; fails the test if that does not end by itself.
  template <typename Body>
  static std::optional<Outcome> in_a_process(const Body& body) {
    int ends[2];
    if (pipe(ends) != 0) return std::nullopt;
    const pid_t child = fork();
    if (child == 0) {
      Outcome outcome;
      try {
        outcome = body();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "the call raised: %s\n", error.what());
        _exit(2);
      }
      const bool written = write(ends[1], &outcome, sizeof outcome) == sizeof outcome;
      _exit(written ? 0 : 1);
    }
    close(ends[1]);
    Outcome outcome;
    const bool told = read(ends[0], &outcome, sizeof outcome) == sizeof outcome;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(told && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "ended with status " << status;
    return told ? std::optional(outcome) : std::nullopt;
  }

  // Faults spread over all allocations of the jobs that `options` give. With `is_steady`, the jobs
  // are the same each time, so that what is missing must be told.
  void fail_everywhere(const std::string& options, int faults, bool is_steady = true) {
    const std::optional<Outcome> whole = calls_in_a_process(options, -1, 0);
    ASSERT_TRUE(whole);
    ASSERT_TRUE(whole->is_right);
    ASSERT_EQ(whole->failed_jobs, 0U);
    ASSERT_GE(whole->plans, 1U);
    ASSERT_GT(whole->asked, 500);
    int refused = 0;
    for (int i = 0; i < faults; ++i) {
      const int64_t first = whole->asked * i / faults;
      for (const int64_t count : {int64_t{1}, INT64_MAX}) {
        SCOPED_TRACE(testing::Message() << "allocation " << first << " of " << whole->asked
                                        << (count == 1 ? "" : " and all after it"));
        const std::optional<Outcome> outcome = calls_in_a_process(options, first, count);
        if (!outcome) continue;
        EXPECT_TRUE(outcome->is_right);
        if (!outcome->was_refused) continue;
        ++refused;
        // A thread that cannot be started, say, costs nothing: the job runs in the queue's own.
        const bool is_whole =
            outcome->plans == whole->plans && outcome->compiled_steps == whole->compiled_steps;
        EXPECT_TRUE(!is_steady || is_whole || outcome->failed_jobs > 0 || outcome->is_told)
            << "nobody is told of what is missing";
      }
    }
    EXPECT_GE(refused, faults / 2) << "few faults were met";
  }
};

#ifndef TIERUP_THREAD_SANITIZER  // Which allows no threads after a fork.
TEST_F(CompileFaults, want_of_memory_at_any_stage_leaves_callers_to_tier_0) {
  fail_everywhere("fusion=off,plan_trial=off", 60);
}

TEST_F(CompileFaults, want_of_memory_while_plans_take_turns_leaves_callers_to_tier_0) {
  fail_everywhere("fusion=off,verify_rate=0.2,inter_op_threads=2,inter_op_grain_us=0", 30, false);
}

TEST_F(CompileFaults, want_of_memory_while_machine_code_is_made_leaves_callers_to_tier_0) {
  if (codegen::Library::instance().api() == nullptr) GTEST_SKIP() << "built without LLVM";
  fail_everywhere("fusion_group_min=1,plan_trial=off", 8);
}

// Code that is not taken up is given back where memory was short: by what LLVM asks for again.
TEST_F(CompileFaults, machine_code_is_given_back_without_memory) {
  const codegen::CodegenApi* api = codegen::Library::instance().api();
  if (api == nullptr) GTEST_SKIP() << "built without LLVM";
  const std::optional<Outcome> outcome = in_a_process([&] {
    const auto compile = [&] {
      const codegen::OperandSpec operands[] = {
          {codegen::ElementType::kF32, codegen::Access::kContiguous},
          {codegen::ElementType::kF32, codegen::Access::kContiguous}};
      codegen::ExprNode node{};
      node.opcode = codegen::Opcode::kInput;
      node.type = codegen::LaneType::kF32;
      node.immediate = 1;
      const uint32_t result = 0;
      const codegen::KernelSpec spec{"copy", operands, 1, 2, &node, 1, &result, nullptr, 0};
      const codegen::CompileOptions options = codegen::process_options();
      return api->compile(&spec, &options);
    };
    const codegen::CompileResult made = compile();
    const codegen::CompileResult other = compile();
    Outcome told;
    told.is_right = made.object != nullptr && other.object != nullptr;
    are_libraries_refused.store(true);
    refusals_left.store(INT64_MAX);
    first_refused.store(asked.load());
    api->release(made.object);
    api->release(other.object);
    told.was_refused = was_refused.load();
    first_refused.store(-1);
    told.is_told = compile().error != nullptr;
    return told;
  });
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->is_right);
  EXPECT_TRUE(outcome->was_refused);
  EXPECT_TRUE(outcome->is_told) << "LLVM is asked again";
}
#endif

}  // namespace
}  // namespace tierup::tier
