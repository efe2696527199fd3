// The Executor over a model of its own making: permits, deadlines, generations, the queue.
#include "tierup/executor/executor.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <iterator>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"

namespace tierup::executor {
namespace {

using std::chrono::milliseconds;

// Answers with its number; may be made to wait inside a run.
class FakeModel final : public Servable {
 public:
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = true;
    int inside = 0;
    int alive = 0;
  };
  FakeModel(Gate& gate, int64_t number) : gate_(gate), number_(number) {
    const std::lock_guard<std::mutex> lock(gate_.mutex);
    ++gate_.alive;
  }
  ~FakeModel() override {
    const std::lock_guard<std::mutex> lock(gate_.mutex);
    --gate_.alive;
  }

  IValue serve(std::vector<IValue> args, NamedValues, const RunLimits&) const override {
    std::unique_lock<std::mutex> lock(gate_.mutex);
    ++gate_.inside;
    gate_.changed.notify_all();
    gate_.changed.wait(lock, [&] { return gate_.open; });
    --gate_.inside;
    require(args.empty() || !args[0].is_none(), ErrorCode::kInvalidArgument, "None is refused");
    return number_;
  }
  std::vector<IValue> serve_flat(std::vector<IValue> leaves, const RunLimits&) const override {
    return leaves;
  }
  NamedTensors weights() const override { return {}; }
  Ref<Servable> with_weights(const NamedTensors& weights, bool) const override {
    require(weights.size() == 1, ErrorCode::kInvalidArgument, "one weight is wanted");
    return make_ref<FakeModel>(gate_, number_ + 1);
  }
  // With a team of its own, as kernels are rehearsed.
  void prepare_like(const Servable&) const override {
    const ThreadCountScope threads(5);
    start_workers();
  }
  size_t idle_frames() const override { return 0; }
  size_t trim_frames() const override { return trims_++ == 0 ? 2 : 0; }

 private:
  Gate& gate_;
  const int64_t number_;
  mutable std::atomic<int> trims_{0};
};

class ExecutorTest : public ::testing::Test {
 protected:
  Ref<Servable> model() { return make_ref<FakeModel>(gate_, 0); }
  void shut() {
    const std::lock_guard<std::mutex> lock(gate_.mutex);
    gate_.open = false;
  }
  void open() {
    const std::lock_guard<std::mutex> lock(gate_.mutex);
    gate_.open = true;
    gate_.changed.notify_all();
  }
  void wait_inside(int count) {
    std::unique_lock<std::mutex> lock(gate_.mutex);
    gate_.changed.wait(lock, [&] { return gate_.inside == count; });
  }
  int alive() {
    const std::lock_guard<std::mutex> lock(gate_.mutex);
    return gate_.alive;
  }
  template <typename Condition>
  bool comes_true(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  }
  template <typename Body>
  static std::string failure_of(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      return std::string(error_code_name(error.code())) + ": " + error.message();
    }
    return "no error";
  }

  FakeModel::Gate gate_;
  const NamedTensors weight_ = {{"w", Tensor()}};
};

TEST_F(ExecutorTest, one_run_too_many_is_refused_by_option) {
  Executor executor(model(), {.max_frames = 1, .wait_for_frame = false});
  shut();
  std::thread first([&] { executor.run({}, {}, {}); });
  wait_inside(1);
  EXPECT_EQ(failure_of([&] { executor.run({}, {}, {}); }),
            "exhausted: all 1 frames of the executor are in use");
  open();
  first.join();
  EXPECT_EQ(executor.run({}, {}, {}).to_int(), 0);
  const ExecutorStats stats = executor.stats();
  EXPECT_EQ(stats.runs_refused, 1U);
  EXPECT_EQ(stats.frames_in_use, 0U);
  EXPECT_EQ(stats.frames_peak, 1U);
}

TEST_F(ExecutorTest, waiting_ends_by_deadline_and_by_token) {
  Executor executor(model(), {.max_frames = 1});
  shut();
  std::thread first([&] { executor.run({}, {}, {}); });
  wait_inside(1);
  RunLimits late;
  late.deadline = Clock::now() + milliseconds(20);
  EXPECT_EQ(failure_of([&] { executor.run({}, {}, late); }),
            "deadline_exceeded: the time limit passed before the run began");
  RunLimits token;
  const auto flag = std::make_shared<std::atomic<bool>>(false);
  token.cancelled = flag;
  std::thread canceller([&] {
    comes_true([&] { return executor.stats().runs_waiting == 1; });
    flag->store(true);
  });
  EXPECT_EQ(failure_of([&] { executor.run({}, {}, token); }),
            "cancelled: the run was cancelled before it began");
  canceller.join();
  open();
  first.join();
  EXPECT_EQ(executor.stats().frames_in_use, 0U);
}

TEST_F(ExecutorTest, waiting_runs_get_the_frames_that_come_back) {
  Executor executor(model(), {.max_frames = 2});
  std::vector<std::thread> callers;
  std::atomic<int> answered{0};
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) answered += executor.run({}, {}, {}).to_int() == 0 ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(answered, 16 * 200);
  EXPECT_LE(executor.stats().frames_peak, 2U);
  EXPECT_EQ(executor.stats().frames_in_use, 0U);
}

TEST_F(ExecutorTest, a_run_keeps_its_generation_and_the_old_one_goes_after) {
  Executor executor(model(), {});
  shut();
  uint64_t number = 7;
  int64_t answer = 7;
  std::thread first([&] { answer = executor.run({}, {}, {}, &number).to_int(); });
  wait_inside(1);
  EXPECT_EQ(executor.swap_weights(weight_, true), 1U);
  EXPECT_EQ(executor.stats().generations_old, 1U);
  EXPECT_EQ(alive(), 2);
  open();
  first.join();
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(number, 0U);
  EXPECT_EQ(executor.run({}, {}, {}).to_int(), 1);
  EXPECT_TRUE(comes_true([&] { return alive() == 1; }));
  EXPECT_TRUE(comes_true([&] { return executor.stats().generations_old == 0; }));
}

// An idle team of the thread that swaps would let the callers' teams sleep at every barrier.
TEST_F(ExecutorTest, a_swap_leaves_no_team_behind) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  std::thread([&] {
    Executor executor(model(), {});
    const int64_t before = threads();
    executor.swap_weights(weight_, true);
    // The thread that frees what is old may have come.
    EXPECT_TRUE(comes_true([&] { return threads() < before + 4; }));
  }).join();
}

TEST_F(ExecutorTest, a_refused_swap_leaves_the_generation) {
  Executor executor(model(), {});
  EXPECT_EQ(failure_of([&] { executor.swap_weights({}, true); }),
            "invalid_argument: one weight is wanted");
  EXPECT_EQ(executor.generation(), 0U);
  EXPECT_EQ(executor.run({}, {}, {}).to_int(), 0);
}

TEST_F(ExecutorTest, background_runs_answer_or_fail_and_the_queue_is_bounded) {
  Executor executor(model(), {.async_threads = 1, .max_queued = 2});
  shut();
  std::atomic<int> answers{0};
  std::atomic<int> failures{0};
  const auto count = [&](const RunOutcome& outcome) { ++(outcome.failure ? failures : answers); };
  executor.run_async({}, {}, {}, count);
  wait_inside(1);
  executor.run_async({IValue()}, {}, {}, count);
  executor.run_async({}, {}, {}, count);
  EXPECT_EQ(failure_of([&] { executor.run_async({}, {}, {}, count); }),
            "exhausted: 2 runs wait in the executor's queue already");
  open();
  EXPECT_TRUE(comes_true([&] { return answers + failures == 3; }));
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(executor.stats().errors, 1U);
}

TEST_F(ExecutorTest, the_destructor_waits_for_background_runs) {
  std::atomic<int> answers{0};
  {
    Executor executor(model(), {.async_threads = 2});
    for (int i = 0; i < 10; ++i) {
      executor.run_async({}, {}, {}, [&](const RunOutcome&) { ++answers; });
    }
  }
  EXPECT_EQ(answers, 10);
  EXPECT_EQ(alive(), 0);
}

TEST_F(ExecutorTest, idle_frames_are_given_back) {
  Executor executor(model(), {.frame_idle_ms = 10});
  executor.run({}, {}, {});
  EXPECT_TRUE(comes_true([&] { return executor.stats().frames_trimmed == 2; }));
}

TEST_F(ExecutorTest, bound_outputs_must_fit) {
  Executor executor(model(), {});
  const Tensor input = Tensor::empty(std::array<int64_t, 1>{3}, ScalarType::kFloat);
  const Tensor other = Tensor::empty(std::array<int64_t, 1>{4}, ScalarType::kFloat);
  for (int i = 0; i < 3; ++i) input.data<float>()[i] = 1.5F + static_cast<float>(i);
  EXPECT_EQ(failure_of([&] { executor.run_into({input}, std::array{other}, {}); }),
            "invalid_argument: output 0 is float32[3], its buffer float32[4]");
  EXPECT_EQ(failure_of([&] { executor.run_into({input}, {}, {}); }),
            "invalid_argument: the model gives 1 outputs, 0 buffers were bound");
  const Tensor output = Tensor::empty(std::array<int64_t, 1>{3}, ScalarType::kFloat);
  executor.run_into({input}, std::array{output}, {});
  EXPECT_EQ(output.data<float>()[2], 3.5F);
}

}  // namespace
}  // namespace tierup::executor
