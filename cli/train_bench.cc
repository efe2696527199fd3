// A step: gradients made undefined, forward and loss under the tape, backward, the norm that
// clipping needs, and the optimiser's pass. Batches are the data's rows in order, taken in turn.
// Memory is what the allocator of tensors handed out: step_mib is the step's peak above what lives
// on between steps (state, gradients).
#include "train_bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <functional>

#include "commands.h"
#include "failure.h"
#include "json_writer.h"
#include "number_range.h"
#include "settling.h"
#include "tierup/machine.h"
#include "tierup/training.h"

namespace tierup::cli {
namespace {

constexpr int kEarlySteps = 10;
constexpr double kMebi = 1024.0 * 1024.0;

enum Part : size_t { kZero, kForward, kBackward, kClip, kStep, kParts };
constexpr std::array<const char*, kParts> kPartNames = {"zero_ms", "forward_ms", "backward_ms",
                                                        "clip_ms", "optimizer_ms"};

struct StepTimes {
  std::array<double, kParts> parts{};
  double all = 0;
};

double median(std::vector<double> values, double share = 0.5) {
  std::sort(values.begin(), values.end());
  const auto index = static_cast<size_t>(static_cast<double>(values.size()) * share);
  return values[std::min(index, values.size() - 1)];
}

class Steps {
 public:
  Steps(const TrainBenchOptions& options, const v1::Module& module)
      : options_(options),
        module_(module),
        data_(v1::load_columns(options.choice.data, options.choice.columns(module))),
        rows_(data_[0].second.size(0)),
        batch_(options.batch > 0 ? std::min(options.batch, rows_) : rows_),
        optimizer_(options.choice.make_optimizer(module)),
        parameters_(optimizer_.parameters()) {}

  StepTimes make(size_t number) {
    StepTimes times;
    const std::vector<v1::Value> batch = batch_of(number);
    const auto start = Clock::now();
    double last = 0;
    const auto done = [&](Part part) {
      const double now = milliseconds_since(start);
      times.parts[part] = now - last;
      last = now;
    };
    optimizer_.zero_grad();
    done(kZero);
    v1::Tensor loss = forward(batch);
    done(kForward);
    v1::backward(loss);
    last_loss_ = std::move(loss);
    done(kBackward);
    const bool clips = options_.choice.clip_norm >= 0;
    const double norm = clips ? v1::gradient_norm(parameters_) : 0;
    done(kClip);
    clips ? optimizer_.step_clipped(norm, options_.choice.clip_norm) : optimizer_.step();
    done(kStep);
    times.all = last;
    return times;
  }

  // The tensors' memory of one step at its highest, less what is left after it.
  double peak_mib(size_t number) {
    v1::reset_peak_memory();
    make(number);
    const v1::MemoryStats stats = v1::memory_stats();
    return static_cast<double>(stats.peak_bytes - stats.live_bytes) / kMebi;
  }

  double loss() const { return last_loss_.to(v1::DType::kFloat64).data<double>()[0]; }

 private:
  std::vector<v1::Value> batch_of(size_t number) const {
    const int64_t at = static_cast<int64_t>(number) % (rows_ / batch_) * batch_;
    std::vector<v1::Value> batch;
    for (const auto& [name, column] : data_) batch.emplace_back(column.rows(at, at + batch_));
    return batch;
  }

  v1::Tensor forward(std::vector<v1::Value> batch) const {
    v1::Tensor target;
    if (!options_.choice.model_gives_loss()) {
      target = batch.back().to_tensor();
      batch.pop_back();
    }
    v1::RunOptions run;
    run.gradients = true;
    const v1::Value result = module_.call(std::move(batch), {}, run);
    require(result.is_tensor(), v1::ErrorCode::kInvalidArgument,
            "training needs a model whose forward gives one tensor, not a {}", result.type());
    if (!target.defined()) return given_loss(result.to_tensor());
    return v1::mean_loss(options_.choice.loss, result.to_tensor(), target);
  }

  static v1::Tensor given_loss(v1::Tensor output) {
    require(output.element_count() == 1, v1::ErrorCode::kInvalidArgument,
            "--loss output: forward gives {}, not a loss, which is a single number; name a loss "
            "that compares it with --target, like --loss cross_entropy",
            output.describe());
    return output;
  }

  const TrainBenchOptions& options_;
  const v1::Module& module_;
  const v1::NamedTensors data_;
  const int64_t rows_;
  const int64_t batch_;
  const v1::Optimizer optimizer_;
  const std::vector<v1::Tensor> parameters_;
  v1::Tensor last_loss_;
};

std::vector<StepTimes> timed_steps(Steps& steps, const TrainBenchOptions& options) {
  std::vector<StepTimes> times;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  const auto goes_on = [&] {
    if (options.steps > 0) return times.size() < options.steps;
    return times.size() < static_cast<size_t>(kEarlySteps) || Clock::now() < end;
  };
  while (goes_on()) times.push_back(steps.make(times.size()));
  return times;
}

using Figure = std::pair<const char*, double>;

void add_times(const std::vector<StepTimes>& times, std::vector<Figure>& figures) {
  std::vector<double> all;
  for (const StepTimes& one : times) all.push_back(one.all);
  figures.emplace_back("p50_ms", median(all));
  figures.emplace_back("p90_ms", median(all, 0.9));
  figures.emplace_back("p99_ms", median(all, 0.99));
  figures.emplace_back("max_ms", *std::max_element(all.begin(), all.end()));
  for (size_t part = 0; part < kParts; ++part) {
    std::vector<double> share;
    for (const StepTimes& one : times) share.push_back(one.parts[part]);
    figures.emplace_back(kPartNames[part], median(std::move(share)));
  }
}

}  // namespace

void TrainBenchOptions::add_to(CLI::App& command) {
  choice.add_to(command, "--columns");
  command.add_option("--batch", batch, "With --train: rows of a step (default: all of the data)")
      ->check(count_range());
}

int bench_training(const TrainBenchOptions& options, const ModelArguments& arguments) {
  require(!options.choice.data.empty(), v1::ErrorCode::kInvalidArgument,
          "--train needs --data, the columns to train on");
  std::vector<Figure> figures;
  auto start = Clock::now();
  const v1::Module module = arguments.load(true);
  figures.emplace_back("load_ms", milliseconds_since(start));
  if (!module.info().is_exported) module.train();  // An exported program's mode is baked in.
  const v1::ThreadScope threads(arguments.threads);
  Steps steps(options, module);
  Settling settling(module);
  start = Clock::now();
  steps.make(0);
  figures.emplace_back("first_ms", milliseconds_since(start));
  const double first_loss = steps.loss();
  for (int i = 1; i < kEarlySteps; ++i) {
    steps.make(static_cast<size_t>(i));
    settling.look();
  }
  const double tenth_loss = steps.loss();
  figures.emplace_back("settle_ms", settling.finish([&](size_t number) { steps.make(number); }));
  const std::vector<StepTimes> times = timed_steps(steps, options);
  add_times(times, figures);
  figures.emplace_back("step_mib", steps.peak_mib(times.size()));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures.emplace_back("rss_mib", static_cast<double>(usage.ru_maxrss) / 1024);
  figures.emplace_back("first_loss", first_loss);
  figures.emplace_back("tenth_loss", tenth_loss);
  if (options.json) {
    JsonWriter json;
    json.begin_object();
    for (const auto& [name, value] : figures) json.key(name).number(value);
    json.key("steps").number(times.size());
    json.end_object();
    fmt::print("{}\n", json.text());
  } else {
    for (const auto& [name, value] : figures) fmt::print("{:12}{:14.4g}\n", name, value);
  }
  return kOk;
}

}  // namespace tierup::cli
