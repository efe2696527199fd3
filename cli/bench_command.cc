// tierup bench: how long a model takes to load, to answer first, and to answer steadily.
//
// load: file to callable; first: the first call; warm: calls 2 to 10 less nine steady ones; the
// percentiles are over the steady calls of all callers. error: the first result's largest
// deviation from the case's outputs, relative to their largest value; "nan" (in JSON null) for a
// case without outputs. slowest, of a number of calls: which one of its caller's took longest
// (max_ms), when it began, and how much of it its thread ran: the rest went to whatever the system
// ran instead, or to waiting. (Asking costs as much as a tiny model's call: the calls of so many
// seconds are not asked.)
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "case_calls.h"
#include "code_generator_notice.h"
#include "commands.h"
#include "failure.h"
#include "json_writer.h"
#include "model_options.h"
#include "node_bench.h"
#include "number_range.h"
#include "settling.h"
#include "train_bench.h"

namespace tierup::cli {
namespace {

struct BenchArguments {
  ModelArguments model;
  std::vector<std::string> inputs;
  bool train = false;
  TrainBenchOptions training;
  double seconds = 3;
  size_t calls = 0;  // Of each caller, however long they take; 0: as many as the seconds hold.
  int callers = 1;
  bool settle = true;  // Steady calls begin once the compile jobs that the first ones caused ended.
  bool nodes = false;
  uint32_t warmup_runs = 10;
  uint32_t main_runs = 0;  // Of --nodes; 0: so many seconds.
  bool json = false;

  NodeBenchOptions node_options() const { return {seconds, warmup_runs, main_runs, json}; }
};

struct TimedCall {
  size_t number = 0;
  double begin_ms = 0;  // Since the steady calls began.
  double ms = 0;
  double cpu_ms = 0;
};

struct SteadyCalls {
  std::vector<double> ms;
  TimedCall slowest;
};

struct Figures {
  double load_ms = 0;
  double first_ms = 0;
  double warm_ms = 0;
  double settle_ms = 0;
  std::vector<double> steady_ms;  // Sorted.
  TimedCall slowest;
  double throughput = 0;  // Calls per second of all callers.
  double rss_mib = 0;
  double error = 0;

  double percentile(double share) const {
    const auto index = static_cast<size_t>(static_cast<double>(steady_ms.size()) * share);
    return steady_ms[std::min(index, steady_ms.size() - 1)];
  }
};

// The cases' arguments, gone through in turn.
class Calls {
 public:
  Calls(const v1::Module& module, const std::vector<std::string>& paths)
      : module_(module), calls_(calls_of(paths)) {}

  v1::Value make(size_t number) const { return make_call(module_, call(number)); }

  size_t size() const { return calls_.size(); }

  double deviation(size_t number, const v1::Value& result) const {
    if (!call(number).expected) return std::numeric_limits<double>::quiet_NaN();
    return api::relative_deviation(result, *call(number).expected);
  }

 private:
  const RecordedCall& call(size_t number) const { return calls_[number % calls_.size()]; }

  const v1::Module& module_;
  const std::vector<RecordedCall> calls_;
};

double timed_call(const Calls& calls, size_t number) {
  const auto start = Clock::now();
  const v1::Value result = calls.make(number);
  return milliseconds_since(start);
}

double thread_cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

SteadyCalls calls_for_seconds(double seconds, const Calls& calls, size_t offset) {
  SteadyCalls done;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (done.ms.size() < 10 || Clock::now() < end) {
    done.ms.push_back(timed_call(calls, offset + done.ms.size()));
  }
  return done;
}

SteadyCalls so_many_calls(size_t count, const Calls& calls, size_t offset) {
  SteadyCalls done;
  const auto start = Clock::now();
  for (size_t number = 0; number < count; ++number) {
    const double begin_ms = milliseconds_since(start);
    const double cpu_ms = thread_cpu_ms();
    const double ms = timed_call(calls, offset + number);
    done.ms.push_back(ms);
    if (ms > done.slowest.ms) done.slowest = {number, begin_ms, ms, thread_cpu_ms() - cpu_ms};
  }
  return done;
}

void run_callers(const BenchArguments& arguments, const Calls& calls, Figures& figures) {
  std::vector<SteadyCalls> done(static_cast<size_t>(std::max(arguments.callers, 1)));
  std::vector<std::exception_ptr> failures(done.size());
  const auto run = [&](size_t i) {
    try {
      done[i] = arguments.calls > 0 ? so_many_calls(arguments.calls, calls, i)
                                    : calls_for_seconds(arguments.seconds, calls, i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (size_t i = 1; i < done.size(); ++i) threads.emplace_back(run, i);
  run(0);
  for (std::thread& thread : threads) thread.join();
  const double taken_ms = milliseconds_since(start);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  for (const SteadyCalls& one : done) {
    figures.steady_ms.insert(figures.steady_ms.end(), one.ms.begin(), one.ms.end());
    if (one.slowest.ms > figures.slowest.ms) figures.slowest = one.slowest;
  }
  figures.throughput = static_cast<double>(figures.steady_ms.size()) * 1000 / taken_ms;
  std::sort(figures.steady_ms.begin(), figures.steady_ms.end());
}

Figures measure(const BenchArguments& arguments) {
  Figures figures;
  auto start = Clock::now();
  const v1::Module module = arguments.model.load(true);
  figures.load_ms = milliseconds_since(start);
  const Calls calls(module, arguments.inputs);
  Settling settling(module);
  start = Clock::now();
  const v1::Value result = calls.make(0);
  figures.first_ms = milliseconds_since(start);
  double early = 0;
  for (size_t i = 1; i < 10; ++i) {
    early += timed_call(calls, i);
    settling.look();
  }
  figures.error = calls.deviation(0, result);
  if (arguments.settle) {
    figures.settle_ms = settling.finish([&](size_t number) { calls.make(number); });
  }
  // The top tier's answer counts too. A case of several calls has state that these have changed.
  if (calls.size() == 1) figures.error = std::max(figures.error, calls.deviation(0, calls.make(0)));
  run_callers(arguments, calls, figures);
  figures.warm_ms = std::max(0.0, early - 9 * figures.percentile(0.5));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures.rss_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return figures;
}

int run_node_bench(const BenchArguments& arguments) {
  const v1::Module module = arguments.model.load(true);
  const std::vector<RecordedCall> calls = calls_of(arguments.inputs);
  bench_nodes(
      [&](size_t number, const v1::RunOptions& options) {
        make_call_or_fail_as_expected(module, calls[number % calls.size()], options);
      },
      arguments.node_options(), arguments.model);
  return kOk;
}

int run_train_bench(const BenchArguments& arguments) {
  TrainBenchOptions options = arguments.training;
  options.seconds = arguments.seconds;
  options.steps = arguments.calls;
  options.json = arguments.json;
  return bench_training(options, arguments.model);
}

int run_bench(const BenchArguments& arguments) {
  if (arguments.train) return run_train_bench(arguments);
  require(!arguments.inputs.empty(), v1::ErrorCode::kInvalidArgument,
          "--inputs names a case file to be timed");
  if (arguments.nodes) return run_node_bench(arguments);
  const Figures figures = measure(arguments);
  const std::pair<const char*, double> rows[] = {
      {"load_ms", figures.load_ms},         {"first_ms", figures.first_ms},
      {"warm_ms", figures.warm_ms},         {"settle_ms", figures.settle_ms},
      {"p50_ms", figures.percentile(0.5)},  {"p90_ms", figures.percentile(0.9)},
      {"p99_ms", figures.percentile(0.99)}, {"p999_ms", figures.percentile(0.999)},
      {"max_ms", figures.steady_ms.back()}, {"throughput", figures.throughput},
      {"rss_mib", figures.rss_mib},         {"error", figures.error},
  };
  if (arguments.json) {
    JsonWriter json;
    json.begin_object();
    write_code_generator(json, arguments.model);
    for (const auto& [name, value] : rows) json.key(name).number(value);
    json.key("calls").number(figures.steady_ms.size());
    if (arguments.calls > 0) {
      json.key("slowest").begin_object();
      json.key("number").number(figures.slowest.number);
      json.key("begin_ms").number(figures.slowest.begin_ms);
      json.key("cpu_ms").number(figures.slowest.cpu_ms);
      json.end_object();
    }
    json.end_object();
    fmt::print("{}\n", json.text());
  } else {
    print_missing_code_generator(arguments.model);
    for (const auto& [name, value] : rows) fmt::print("{:12}{:14.4g}\n", name, value);
    if (arguments.calls > 0) {
      fmt::print("slowest: call {} of {}, begun after {:.4g} ms; its thread ran {:.4g} ms of it\n",
                 figures.slowest.number, arguments.calls, figures.slowest.begin_ms,
                 figures.slowest.cpu_ms);
    }
  }
  return kOk;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "Measure load, first call and steady calls");
  arguments->model.add_to(*command);
  command->add_option("--inputs", arguments->inputs, "Case file; several are taken in turn");
  command->add_flag("--train", arguments->train,
                    "Steps of training on the columns of --data instead: gradients cleared, "
                    "forward, backward, clipped, optimizer");
  arguments->training.add_to(*command);
  command->add_option("-t", arguments->seconds, "Seconds of steady calls (default: 3)")
      ->check(seconds_range());
  command
      ->add_option("-n", arguments->calls,
                   "Steady calls of each caller, instead of seconds of them")
      ->check(count_range());
  command->add_option("-c", arguments->callers, "Threads that call at once (default: 1)")
      ->check(number_from(1, 1024));
  command->add_option_function<uint32_t>(
      "--compile-delay",
      [arguments](uint32_t milliseconds) {
        arguments->model.tiering += fmt::format(",compile_delay_ms={}", milliseconds);
        arguments->settle = false;
      },
      "A test aid: every compile job takes so many milliseconds longer, and steady calls do not "
      "wait for it");
  command->add_flag("--nodes", arguments->nodes,
                    "Time, share, kind, shapes, GFLOP/s and GB/s of each node instead");
  command->add_option("--main-runs", arguments->main_runs,
                      "With --nodes: so many measured calls, instead of seconds of them");
  command->add_option("--warmup-runs", arguments->warmup_runs,
                      "With --main-runs: so many calls before, not measured (default: 10)");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &action] {
    action = {[arguments] { return run_bench(*arguments); }, arguments->json};
  });
}

}  // namespace tierup::cli
