// v1::Executor on the models of the tiny zoo, .pt and .pt2.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <thread>

#include "tierup/archive/safetensors.h"
#include "tierup/tensor/allocator.h"

// Behind the internal headers, whose names its own would hide.
#include "tierup/api/public/weights_fixture.h"

namespace {

using namespace tierup::v1;

const std::string kZoo = "tests/data/zoo/";

Tensor ones(int64_t rows, int64_t columns, float value = 1.0F) {
  const std::vector<float> data(static_cast<size_t>(rows * columns), value);
  return Tensor::of<float>(data, std::vector<int64_t>{rows, columns});
}

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(error_code_name(error.code())) + ": " + error.message();
  }
  return "no error";
}

class ExecutorOnZoo : public testing::TestWithParam<const char*> {
 protected:
  const std::string path_ = kZoo + GetParam();
  const Tensor input_ = ones(2, 20);
};

TEST_P(ExecutorOnZoo, gives_what_the_module_gives) {
  const Executor executor(path_, {.max_frames = 2});
  const std::vector<float> expected = values(Module::load(path_)({input_}).to_tensor());
  EXPECT_EQ(values(executor({input_}).to_tensor()), expected);
  EXPECT_EQ(values(executor.run_flat({input_})[0].to_tensor()), expected);
  EXPECT_EQ(values(executor.run_async({input_}).get().to_tensor()), expected);
  std::vector<float> memory(expected.size());
  const std::vector<int64_t> shape = {2, static_cast<int64_t>(expected.size()) / 2};
  const Tensor output = Tensor::borrow(memory.data(), shape, DType::kFloat32);
  executor.run_into({input_}, std::vector<Tensor>{output});
  EXPECT_EQ(memory, expected);
  EXPECT_EQ(executor.stats().runs, 4U);
}

TEST_P(ExecutorOnZoo, swapped_weights_answer_and_return) {
  const Executor executor(path_);
  const std::vector<float> before = values(executor({input_}).to_tensor());
  const NamedTensors original = executor.weights();
  ASSERT_FALSE(original.empty());
  EXPECT_EQ(executor.swap_weights(scaled(original, 0.0F)), 1U);
  EXPECT_NE(values(executor({input_}).to_tensor()), before);
  EXPECT_EQ(executor.swap_weights(path_), 2U);  // The archive itself.
  EXPECT_EQ(values(executor({input_}).to_tensor()), before);
  EXPECT_EQ(executor.stats().generation, 2U);
}

TEST_P(ExecutorOnZoo, prepared_weights_wait_until_they_are_installed) {
  const Executor executor(path_);
  const std::vector<float> before = values(executor({input_}).to_tensor());
  PreparedWeights prepared = executor.prepare_weights(scaled(executor.weights(), 0.5F));
  EXPECT_EQ(values(executor({input_}).to_tensor()), before);
  executor.install(std::move(prepared));
  EXPECT_NE(values(executor({input_}).to_tensor()), before);
}

TEST_P(ExecutorOnZoo, misfits_are_listed_and_refused_whole) {
  const Executor executor(path_);
  const std::vector<float> before = values(executor({input_}).to_tensor());
  NamedTensors weights = scaled(executor.weights(), 0.0F);
  const std::string missing = weights.back().first;
  weights.pop_back();
  const std::string misfit = weights[0].first;
  weights[0].second = ones(1, 1);
  weights.emplace_back("nobody", ones(1, 1));
  weights[1].second = weights[1].second.to(DType::kFloat64);
  const std::string failure = failure_of([&] { executor.swap_weights(weights); });
  for (const std::string& part : {"- missing: " + missing, "- " + misfit + ": expected float32[",
                                  std::string("got float32[1, 1]"), std::string("got float64["),
                                  std::string("- unexpected: nobody")}) {
    EXPECT_NE(failure.find(part), std::string::npos) << part << "\n" << failure;
  }
  EXPECT_EQ(values(executor({input_}).to_tensor()), before);
  EXPECT_EQ(executor.stats().generation, 0U);
}

TEST_P(ExecutorOnZoo, part_of_the_weights_without_strict) {
  const Executor executor(path_);
  const std::vector<float> before = values(executor({input_}).to_tensor());
  const NamedTensors original = executor.weights();
  const NamedTensors one = {original.back()};
  EXPECT_EQ(executor.swap_weights(scaled(one, 3.0F), false), 1U);
  const std::vector<float> after = values(executor({input_}).to_tensor());
  EXPECT_NE(after, before);
  executor.swap_weights(one, false);
  EXPECT_EQ(values(executor({input_}).to_tensor()), before);
}

TEST_P(ExecutorOnZoo, weights_from_a_safetensors_file) {
  const Executor executor(path_);
  const std::vector<float> before = values(executor({input_}).to_tensor());
  const std::string file = ::testing::TempDir() + "tierup_weights_" + GetParam() + ".safetensors";
  tierup::archive::NamedTensors tensors;
  for (const auto& [name, tensor] : executor.weights()) {
    std::vector<int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
    const auto copy = tierup::Tensor::empty(sizes, tierup::ScalarType::kFloat);
    std::memset(copy.data<float>(), 0, static_cast<size_t>(tensor.element_count()) * sizeof(float));
    tensors.emplace_back(name, copy);
  }
  tierup::archive::write_safetensors(file, tensors, {});
  executor.swap_weights(file);
  for (const float value : values(executor({input_}).to_tensor())) EXPECT_EQ(value, 0.0F);
  std::filesystem::remove(file);
}

// Sixteen callers, a swap every few milliseconds: each answer is one generation's, and what the
// old generations held comes back.
TEST_P(ExecutorOnZoo, every_answer_is_one_generations) {
  const Executor executor(path_, {.max_frames = 4, .frame_idle_ms = 20});
  const NamedTensors original = executor.weights();
  std::vector<std::vector<float>> expected;
  for (const float factor : {1.0F, 2.0F, 4.0F}) {
    executor.swap_weights(scaled(original, factor));
    expected.push_back(values(executor({input_}).to_tensor()));
  }
  ASSERT_NE(expected[0], expected[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int64_t base = memory_stats().live_bytes;
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        const std::vector<float> answer = values(executor({input_}).to_tensor());
        if (std::find(expected.begin(), expected.end(), answer) == expected.end()) ++torn;
      }
    });
  }
  for (int swap = 0; swap < 60; ++swap) {
    executor.swap_weights(scaled(original, static_cast<float>(1 << (swap % 3))));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(torn, 0);
  // A generation goes when its compile job has ended, which on a busy machine takes its time.
  for (int i = 0; i < 3000 && executor.stats().generations_old > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(executor.stats().generations_old, 0U);
  EXPECT_LE(memory_stats().live_bytes, base + (1 << 16));
}

TEST_P(ExecutorOnZoo, idle_frames_go_back) {
  const Executor executor(path_, {.frame_idle_ms = 20});
  executor({input_});
  EXPECT_GT(executor.stats().frames_idle, 0U);
  for (int i = 0; i < 300 && executor.stats().frames_idle > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(executor.stats().frames_idle, 0U);
}

// Frames are looked at once per idle time, so one used just after a look goes at the one after the
// next. The quickest of three tries, since the machine may hold this process up.
TEST_P(ExecutorOnZoo, frames_are_gone_twice_the_idle_time_after_the_load_ends) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kIdle(200);
  const Executor executor(path_, {.frame_idle_ms = kIdle.count()});
  Clock::duration quickest = Clock::duration::max();
  for (int round = 0; round < 3 && quickest > 2 * kIdle + kIdle / 4; ++round) {
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        const auto stop = Clock::now() + kIdle + kIdle / 2;
        while (Clock::now() < stop) executor({input_});
      });
    }
    for (std::thread& caller : callers) caller.join();
    const auto end = Clock::now();
    EXPECT_GT(executor.stats().frames_idle, 0U);
    while (executor.stats().frames_idle > 0 && Clock::now() < end + std::chrono::seconds(20)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    quickest = std::min(quickest, Clock::now() - end);
  }
  EXPECT_EQ(executor.stats().frames_idle, 0U);
  EXPECT_LE(std::chrono::duration_cast<std::chrono::milliseconds>(quickest).count(),
            (2 * kIdle + kIdle / 4).count());
}

TEST_P(ExecutorOnZoo, bound_results_are_computed_where_they_go) {
  const Executor executor(path_);
  const std::vector<float> expected = values(executor({input_}).to_tensor());
  const std::vector<int64_t> shape = {2, static_cast<int64_t>(expected.size()) / 2};
  for (int i = 0; i < 50; ++i) {  // Through the tiers, each of which has its place to learn.
    const Tensor output = ones(shape[0], shape[1], -7.0F);
    executor.run_into({input_}, std::vector<Tensor>{output});
    const std::vector<float> found = values(output);
    for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-5);
  }
  EXPECT_LE(executor.stats().outputs_copied, 12U);
  // An unaligned buffer takes a copy.
  std::vector<float> memory(expected.size() + 17);
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  float* unaligned = memory.data() + (64 - address % 64) / sizeof(float) + 1;
  const uint64_t before = executor.stats().outputs_copied;
  executor.run_into({input_},
                    std::vector<Tensor>{Tensor::borrow(unaligned, shape, DType::kFloat32)});
  EXPECT_NEAR(unaligned[0], expected[0], 1e-5);
  EXPECT_EQ(executor.stats().outputs_copied, before + 1);
}

INSTANTIATE_TEST_SUITE_P(Archives, ExecutorOnZoo, testing::Values("mlp3.pt", "mlp3.pt2"),
                         [](const auto& info) {
                           return std::string(info.param).ends_with("2") ? "exported"
                                                                         : "torchscript";
                         });

TEST(PublicExecutor, inputs_are_checked_by_name) {
  const Executor executor(kZoo + "mlp3.pt2");
  EXPECT_NE(failure_of([&] { executor({ones(2, 7)}); }).find("input '"), std::string::npos);
  EXPECT_NE(failure_of([&] { executor({ones(2, 20).to(DType::kFloat64)}); }).find("float32"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { executor({}); }).find("missing"), std::string::npos);
  EXPECT_NE(failure_of([&] {
              executor.run_flat({ones(2, 20), ones(2, 20)});
            }).find("takes 1 flat inputs but got 2"),
            std::string::npos);
}

TEST(PublicExecutor, a_cancelled_or_late_run_says_so) {
  const Executor executor(kZoo + "mlp3.pt");
  CancellationToken token;
  token.cancel();
  RunOptions options;
  options.cancellation = token;
  EXPECT_EQ(failure_of([&] { executor.run_async({ones(2, 20)}, {}, options).get(); }).substr(0, 9),
            "cancelled");
  // One frame, held by a call that waits for the callback's end.
  const Executor narrow(kZoo + "mlp3.pt", {.max_frames = 1, .async_threads = 1});
  std::promise<void> held;
  std::promise<void> go;
  narrow.run_async({ones(2, 20)}, {}, {}, [&](const Value&, const Error*) {
    held.set_value();
    go.get_future().wait();
  });
  held.get_future().wait();
  RunOptions late;
  late.time_limit_ms = 20;
  auto waiting = narrow.run_async({ones(2, 20)}, {}, late);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  go.set_value();
  EXPECT_EQ(failure_of([&] { waiting.get(); }).substr(0, 17), "deadline_exceeded");
}

TEST(PublicExecutor, a_full_queue_and_frames_in_use_have_a_code_of_their_own) {
  const Executor full(kZoo + "mlp3.pt", {.max_queued = 0});
  EXPECT_EQ(failure_of([&] { full.run_async({ones(2, 20)}); }),
            "exhausted: 0 runs wait in the executor's queue already");
  EXPECT_EQ(error_code_name(ErrorCode::kExhausted), "exhausted");
}

// A run that fails while its memory is being recorded leaves everything as it was.
TEST(PublicExecutor, an_error_in_any_early_run_spoils_no_later_one) {
  const auto ids = [](int64_t value) {
    const std::vector<int64_t> data(12, value);
    return Tensor::of<int64_t>(data, std::vector<int64_t>{2, 6});
  };
  for (int failing = 0; failing < 6; ++failing) {
    const Executor executor("tests/data/exported/torch_2_15_tied.pt2");
    const std::vector<float> expected = values(executor({ids(3)}).to_tensor());
    for (int i = 0; i < 12; ++i) {
      if (i == failing) {
        EXPECT_NE(failure_of([&] { executor({ids(7)}); }), "no error");
      }
      const std::vector<float> found = values(executor({ids(3)}).to_tensor());
      for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-5);
    }
  }
}

TEST(PublicExecutor, weights_can_be_shared_with_a_module) {
  const Module module = Module::load(kZoo + "mlp3.pt");
  const Executor executor(module);
  EXPECT_EQ(values(executor({ones(2, 20)}).to_tensor()), values(module({ones(2, 20)}).to_tensor()));
}

// Of a program that has some, each handed over whatever it costs: the reports count such calls.
TEST(PublicExecutor, branches_at_the_same_time_give_the_same) {
  const auto load = [](uint32_t threads) {
    Options options;
    options.inter_op_threads = threads;
    options.tiering = "compile=off,inter_op_grain_us=0";
    return Module::load(kZoo + "googlenet.pt2", options);
  };
  std::vector<float> image(3 * 24 * 24);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 13) / 13;
  const Tensor input = Tensor::of<float>(image, std::vector<int64_t>{1, 3, 24, 24});
  const Module module = load(3);
  ExecutorConfig config;
  config.inter_op_threads = 3;
  const Executor executor(module, config);
  const Executor serial(load(1));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(values(executor({input}).to_tensor()), values(serial({input}).to_tensor()));
  }
  const std::string detail = module.explain().graphs.at(0).detail;
  EXPECT_NE(detail.find("branches at the same time: in 6 calls"), std::string::npos) << detail;
}

TEST(PublicExecutor, a_module_keeps_the_threads_that_it_was_loaded_for) {
  Options options;
  options.inter_op_threads = 2;
  const Module module = Module::load(kZoo + "mlp3.pt", options);
  ExecutorConfig config;
  config.inter_op_threads = 2;
  EXPECT_EQ(failure_of([&] { const Executor fits(module, config); }), "no error");
  config.inter_op_threads = 4;
  EXPECT_NE(failure_of([&] {
              const Executor other(module, config);
            }).find("loaded for 2 inter-op threads, the executor asks for 4"),
            std::string::npos);
}

}  // namespace
