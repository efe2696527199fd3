// Models and executors in a forked child: they work there, or say that they cannot.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "tierup/archive/zip_builder.h"
#include "tierup/base/emulator_fixture.h"
#include "tierup/base/sanitizers.h"
#include "tierup/tierup.h"

namespace {

#ifndef TIERUP_THREAD_SANITIZER  // Which allows no threads after a fork.

using namespace tierup::v1;
using std::chrono::milliseconds;

const char* const kModel = "tests/data/zoo/mlp3.pt";

// What `body` gave in a child; 128 and more: the signal that ended it, as SIGALRM where it hung.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int result = 99;
    try {
      result = body();
    } catch (const std::exception& error) {
      fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Tensor input(int64_t rows = 2) {
  return Tensor::zeros(std::vector<int64_t>{rows, 20}, DType::kFloat32);
}

Module load(const std::string& tiering, int threads = 2) {
  Options options;
  options.tiering = tiering + ",plan_trial=off";
  options.threads = threads;
  return Module::load(kModel, options);
}

uint64_t hits_of(const Module& module) {
  uint64_t hits = 0;
  for (const GraphInfo& graph : module.explain().graphs) {
    for (const PlanInfo& plan : graph.plans) hits += plan.hits;
  }
  return hits;
}

TEST(Fork, compile_jobs_run_in_a_child) {
  if (tierup::is_emulated()) GTEST_SKIP() << "QEMU ends a child that makes threads";
  const Module module = load("compile=background,profiled_runs=2");
  module({input()});
  const auto gets_a_plan = [&] {
    for (int i = 0; i < 3; ++i) module({input()});
    if (!module.wait_for_compilation(milliseconds(30000))) return 1;
    const uint64_t before = hits_of(module);
    module({input()});
    return hits_of(module) == before + 1 ? 0 : 2;
  };
  EXPECT_EQ(in_child(gets_a_plan), 0);
  EXPECT_EQ(gets_a_plan(), 0);
  EXPECT_EQ(in_child(gets_a_plan), 0);  // With the plan and the queue's thread of the parent.
}

TEST(Fork, a_job_that_waited_is_done_in_the_child_too) {
  if (tierup::is_emulated()) GTEST_SKIP() << "QEMU ends a child that makes threads";
  // The first job takes so long that the second still waits.
  const Module module = load("compile=background,profiled_runs=1,compile_delay_ms=300");
  module({input()});
  EXPECT_EQ(in_child([&] {
              if (!module.wait_for_compilation(milliseconds(30000))) return 1;
              module({input()});
              module({input()});
              return module.wait_for_compilation(milliseconds(30000)) ? 0 : 2;
            }),
            0);
  EXPECT_TRUE(module.wait_for_compilation(milliseconds(30000)));
}

TEST(Fork, modules_and_executors_of_the_parent_can_be_destroyed_in_the_child) {
  std::optional<Module> module = load("compile=background,profiled_runs=1");
  std::optional<Executor> executor = Executor(*module, ExecutorConfig{});
  executor->run_async({input()}).get();
  module->wait_for_compilation();
  EXPECT_EQ(in_child([&] {
              executor.reset();
              module.reset();
              return 0;
            }),
            0);
  EXPECT_EQ((*executor)({input()}).to_tensor().size(0), 2);
}

TEST(Fork, executors_serve_in_a_child) {
  if (tierup::is_emulated()) GTEST_SKIP() << "QEMU ends a child that makes threads";
  const Executor executor(kModel, {.max_frames = 2, .async_threads = 2, .frame_idle_ms = 20});
  executor.run_async({input()}).get();
  EXPECT_EQ(in_child([&] {
              if (executor.run_async({input(3)}).get().to_tensor().size(0) != 3) return 1;
              if (executor({input()}).to_tensor().size(0) != 2) return 2;
              executor.swap_weights(executor.weights());
              if (executor({input()}).to_tensor().size(0) != 2) return 3;
              for (int i = 0; i < 300 && executor.stats().generations_old > 0; ++i)
                std::this_thread::sleep_for(milliseconds(10));
              return executor.stats().generations_old == 0 ? 0 : 4;  // There is a housekeeper.
            }),
            0);
  EXPECT_EQ(executor.run_async({input()}).get().to_tensor().size(0), 2);
}

// They would be answered twice.
TEST(Fork, runs_that_waited_are_answered_in_the_parent_alone) {
  if (tierup::is_emulated()) GTEST_SKIP() << "QEMU ends a child that makes threads";
  tierup::archive::testing::PickleBuilder pickle;
  pickle.global("__torch__", "M").op(")\x81}(").str("training").op("\x88ub");
  const std::string archive =
      tierup::archive::testing::ZipBuilder()
          .add("m/data.pkl", pickle.finish())
          .add("m/code/__torch__.py",
               "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
               "  def forward(self: __torch__.M,\n    a: int) -> int:\n    go = torch.gt(a, -1)\n"
               "    b = a\n    _0 = go\n    while _0:\n      b0 = torch.add(b, 1)\n"
               "      _0, b = torch.gt(b0, -1), b0\n    return b\n")
          .add("m/constants.pkl", "\x80\x02).")
          .add("m/version", "3\n")
          .finish();
  const Module forever = Module::load(std::as_bytes(std::span(archive.data(), archive.size())));
  const Executor executor(forever, {.async_threads = 1, .time_limit_ms = 3000});
  std::future<Value> running = executor.run_async({1});
  std::future<Value> waiting = executor.run_async({2});
  while (executor.stats().runs == 0) std::this_thread::sleep_for(milliseconds(1));
  // A run is under way: the child says so instead of waiting for what it will never get.
  EXPECT_EQ(in_child([&] {
              try {
                executor({3});
                return 1;
              } catch (const Error& error) {
                if (error.code() != ErrorCode::kUnsupported) return 2;
                if (std::string(error.what()).find("forked") == std::string::npos) return 3;
              }
              try {
                waiting.get();
                return 4;
              } catch (const std::future_error&) {
                return 0;
              }
            }),
            0);
  EXPECT_THROW(running.get(), Error);
  EXPECT_THROW(waiting.get(), Error);
}

TEST(Fork, a_daemon_serves) {
  if (tierup::is_emulated()) GTEST_SKIP() << "QEMU ends a child that makes threads";
  const Module module = load("compile=background,profiled_runs=1");
  module({input()});
  module.wait_for_compilation();
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  in_child([&] {
    if (daemon(1, 1) != 0) return 1;
    alarm(60);
    const bool works = module({input()}).to_tensor().size(0) == 2 &&
                       Executor(module).run_async({input()}).get().to_tensor().size(0) == 2 &&
                       Module::load(kModel)({input()}).to_tensor().size(0) == 2;
    const char answer = works ? 'y' : 'n';
    return write(pipes[1], &answer, 1) == 1 ? 0 : 1;
  });
  close(pipes[1]);
  char answer = '-';
  EXPECT_EQ(read(pipes[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  close(pipes[0]);
}

#endif

}  // namespace
