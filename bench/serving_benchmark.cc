// What callers notice of work beside them, by turns in one process, so that drift of the machine
// hits both sides alike:
//
//   serving_benchmark MODEL --inputs CASE            the slowest calls beside compile jobs
//   serving_benchmark MODEL --inputs CASE --swaps    throughput beside swaps of weights
//
// Slow calls: in each round so many calls at tier 0, then as many of a model that is loaded anew
// and compiles beside them, its jobs put off so that they fall into these calls. Swaps: seconds of
// calls of a settled executor with and without a thread that swaps all weights. Kernels that the
// code generator compiled for a swapped generation are counted; there should be none.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tierup/api/model/model.h"
#include "tierup/archive/byte_source.h"
#include "tierup/base/error.h"
#include "tierup/cases/model_cases.h"
#include "tierup/executor/executor.h"

namespace tierup::bench {
namespace {

using Clock = std::chrono::steady_clock;
using api::CaseCall;
using api::Model;

struct Arguments {
  std::string model;
  std::string inputs;
  bool swaps = false;
  int threads = 0;
  int rounds = 5;
  int calls = 4000;          // Of a side, in a round.
  double seconds = 2;        // The same, with swaps.
  uint32_t delay_ms = 2000;  // Of each compile job.
  int period_ms = 50;        // From one swap's beginning to the next one's.
};

Ref<Model> load(const Arguments& arguments, tier::CompileMode compile, uint32_t delay_ms = 0) {
  api::ModelOptions options;
  options.threads = arguments.threads;
  options.tiering.compile = compile;
  options.tiering.compile_delay_ms = delay_ms;
  options.print = [](const std::string&) {};
  return Model::load(archive::map_file(arguments.model), std::move(options));
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of calls in a row, in milliseconds.
struct Slowest {
  double p50 = 0;
  double p999 = 0;
  double most = 0;
};

Slowest slowest_of(const Model& model, const CaseCall& call, int calls) {
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    std::vector<IValue> args = deep_copy(make_tuple(call.args)).to_tuple().items;
    const auto start = Clock::now();
    const IValue result = model.call(std::move(args));
    times.push_back(milliseconds_since(start));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 999 / 1000], times.back()};
}

void measure_slow_calls(const Arguments& arguments, const CaseCall& call) {
  constexpr int kWarmCalls = 10;
  std::vector<double> p999;
  std::vector<double> most;
  fmt::print("{:>27}{:>28}{:>20}\n", "p50", "p99.9", "slowest");
  for (int round = 0; round < arguments.rounds; ++round) {
    const Ref<Model> alone = load(arguments, tier::CompileMode::kOff);
    slowest_of(*alone, call, kWarmCalls);
    const Slowest before = slowest_of(*alone, call, arguments.calls);
    const Ref<Model> tiered = load(arguments, tier::CompileMode::kBackground, arguments.delay_ms);
    // Shorter than the delay, so that no job has run yet.
    slowest_of(*tiered, call, kWarmCalls);
    const Slowest beside = slowest_of(*tiered, call, arguments.calls);
    p999.push_back(beside.p999 / before.p999);
    most.push_back(beside.most / before.most);
    const bool has_plan = !tiered->tiers().report().graphs.front().plans.empty();
    fmt::print(
        "{:8.4f} -> {:8.4f} ms, {:8.4f} -> {:8.4f} ({:5.2f}), {:8.4f} -> {:8.4f} ({:5.2f}){}\n",
        before.p50, beside.p50, before.p999, beside.p999, p999.back(), before.most, beside.most,
        most.back(), has_plan ? "" : "  no plan stands");
    std::fflush(stdout);
  }
  fmt::print("medians of {} rounds: p99.9 {:.2f}, slowest {:.2f} times tier 0's\n", p999.size(),
             median(p999), median(most));
}

// Calls per second.
double throughput(executor::Executor& executor, const CaseCall& call, double seconds) {
  const auto start = Clock::now();
  int64_t calls = 0;
  for (; milliseconds_since(start) < 1e3 * seconds; ++calls)
    executor.run(deep_copy(make_tuple(call.args)).to_tuple().items, {}, {});
  return 1e3 * static_cast<double>(calls) / milliseconds_since(start);
}

// Kernels that a generation's plans had compiled, rather than found.
int64_t compiled_kernels(const executor::Servable& generation) {
  int64_t kernels = 0;
  const tier::TierReport report = static_cast<const Model&>(generation).tiers().report();
  for (const tier::GraphReport& graph : report.graphs) {
    for (const tier::PlanReport& plan : graph.plans) {
      for (const tier::StepReport& step : plan.steps) {
        for (const auto& [name, count] : step.counters) {
          if (step.name == "compile_groups" && name == "compiled") kernels += count;
        }
      }
    }
  }
  return kernels;
}

// Swaps two sets of weights in turn until it is destroyed.
class Swapper {
 public:
  Swapper(executor::Executor& executor, const std::array<archive::NamedTensors, 2>& weights,
          std::chrono::milliseconds period)
      : thread_([this, &executor, &weights, period] {
          auto next = Clock::now();
          for (; !stop_.load(); ++swaps_) {
            executor.swap_weights(weights[swaps_ % 2], true);
            next = std::max(next + period, Clock::now());
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait_until(lock, next, [this] { return stop_.load(); });
          }
        }) {}
  ~Swapper() { stop(); }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;

  size_t stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_.store(true);
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    return swaps_;
  }

 private:
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;  // One sleep from swap to swap: to wake takes a core from calls.
  size_t swaps_ = 0;
  std::thread thread_;  // Last: it uses the others.
};

void settle(const Model& model, const CaseCall& call) {
  constexpr int kMostRounds = 100;
  constexpr int kCalls = 3;
  for (int round = 0; round < kMostRounds; ++round) {
    for (int i = 0; i < kCalls; ++i) model.call(deep_copy(make_tuple(call.args)).to_tuple().items);
    model.tiers().wait_for_jobs();
    if (round >= kCalls && !model.tiers().has_open_trials()) return;
  }
}

void measure_swaps(const Arguments& arguments, const CaseCall& call) {
  const Ref<Model> model = load(arguments, tier::CompileMode::kBackground);
  settle(*model, call);
  std::array<archive::NamedTensors, 2> weights;
  for (archive::NamedTensors& set : weights) {
    for (const auto& [name, tensor] : model->state())
      set.emplace_back(name, deep_copy(IValue(tensor)).to_tensor());
  }
  executor::Executor executor(model, {});
  std::vector<double> shares;
  int64_t compiled = 0;
  for (int round = 0; round < arguments.rounds; ++round) {
    const double alone = throughput(executor, call, arguments.seconds);
    Swapper swapper(executor, weights, std::chrono::milliseconds(arguments.period_ms));
    const double beside = throughput(executor, call, arguments.seconds);
    const size_t swaps = swapper.stop();
    compiled += compiled_kernels(*executor.current());
    shares.push_back(beside / alone);
    fmt::print("{:10.2f} calls a second, {:10.2f} beside {} swaps: {:5.1f} %\n", alone, beside,
               swaps, 100 * shares.back());
    std::fflush(stdout);
  }
  fmt::print("median of {} rounds: {:.1f} %; {} kernels compiled for swapped weights\n",
             shares.size(), 100 * median(shares), compiled);
}

}  // namespace
}  // namespace tierup::bench

int main(int argc, char** argv) {
  CLI::App app("What callers notice of compile jobs, and of swaps.", "serving_benchmark");
  tierup::bench::Arguments arguments;
  app.add_option("model", arguments.model, "A .pt or .pt2 archive")->required();
  app.add_option("--inputs", arguments.inputs, "Case file; its first call")->required();
  app.add_flag("--swaps", arguments.swaps, "Throughput beside swaps instead of slow calls");
  app.add_option("--threads", arguments.threads, "Threads for one operator");
  app.add_option("--rounds", arguments.rounds, "Of both sides in turn")->check(CLI::PositiveNumber);
  app.add_option("--calls", arguments.calls, "Of a side, in a round")->check(CLI::PositiveNumber);
  app.add_option("--seconds", arguments.seconds, "Of a side in a round, with swaps");
  app.add_option("--compile-delay", arguments.delay_ms, "Milliseconds, of each compile job");
  app.add_option("--period", arguments.period_ms, "Milliseconds from swap to swap");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto model_case = tierup::api::read_model_case(arguments.inputs);
    const auto& call = model_case.calls.front();
    if (arguments.swaps) {
      tierup::bench::measure_swaps(arguments, call);
    } else {
      tierup::bench::measure_slow_calls(arguments, call);
    }
    return 0;
  } catch (const tierup::Error& error) {
    fmt::print(stderr, "serving_benchmark: {}\n", error.what());
    return 3;
  }
}
