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
#include "json_writer.h"
#include "settling.h"
#include "tierup/api/model/model_task.h"
#include "tierup/api/model/parameter_gradients.h"
#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/tensor/allocator.h"
#include "tierup/training/clip.h"

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
  Steps(const TrainBenchOptions& options, const api::Model& model)
      : options_(options),
        model_(model),
        loss_(api::loss_of(options.choice.loss)),
        data_(training::DataSet::open(options.choice.data, options.choice.columns(model, loss_))),
        optimizer_(options.choice.make_optimizer(model)),
        parameters_(optimizer_.parameters()) {
    batch_ = options.batch > 0 ? std::min(options.batch, data_.rows()) : data_.rows();
  }

  StepTimes make(size_t number) {
    StepTimes times;
    const training::Batch batch = batch_of(number);
    const auto start = Clock::now();
    double last = 0;
    const auto done = [&](Part part) {
      const double now = milliseconds_since(start);
      times.parts[part] = now - last;
      last = now;
    };
    api::clear_gradients(parameters_);
    done(kZero);
    Tensor loss = forward(batch);
    done(kForward);
    model_.backward({loss});
    last_loss_ = std::move(loss);
    done(kBackward);
    const std::vector<Tensor> gradients = api::gradients_of(parameters_);
    double factor = 1;
    if (options_.choice.clip_norm >= 0) {
      factor = training::clip_factor(training::total_norm(gradients), options_.choice.clip_norm,
                                     parameters_[0].dtype());
    }
    done(kClip);
    optimizer_.step(gradients, factor);
    done(kStep);
    times.all = last;
    return times;
  }

  // The tensors' memory of one step at its highest, less what is left after it.
  double peak_mib(size_t number) {
    reset_peak();
    make(number);
    const AllocatorStats stats = allocator_stats();
    return static_cast<double>(stats.peak_bytes - stats.live_bytes) / kMebi;
  }

  double loss() const {
    return kernels::to_dtype(last_loss_, ScalarType::kDouble).data<double>()[0];
  }

 private:
  training::Batch batch_of(size_t number) const {
    const int64_t batches = data_.rows() / batch_;
    const int64_t at = static_cast<int64_t>(number) % batches * batch_;
    return data_.range(at, at + batch_);
  }

  Tensor forward(const training::Batch& batch) const {
    const size_t inputs = loss_.op.empty() ? batch.size() : batch.size() - 1;
    std::vector<IValue> args(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(inputs));
    api::RunOptions run;
    run.gradients = true;
    const IValue result = model_.call(std::move(args), {}, run);
    require(result.is_tensor(), ErrorCode::kInvalidArgument,
            "training needs a model whose forward gives one tensor, not a {}", result.tag_name());
    if (loss_.op.empty()) return result.to_tensor();
    return api::mean_loss(loss_, result.to_tensor(), batch.back(), true);
  }

  const TrainBenchOptions& options_;
  const api::Model& model_;
  const api::Loss& loss_;
  training::DataSet data_;
  training::Optimizer optimizer_;
  std::vector<Tensor> parameters_;
  int64_t batch_ = 0;
  Tensor last_loss_;
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
  command.add_option("--batch", batch, "With --train: rows of a step (default: all of the data)");
}

int bench_training(const TrainBenchOptions& options, const ModelArguments& arguments) {
  require(!options.choice.data.empty(), ErrorCode::kInvalidArgument,
          "--train needs --data, the columns to train on");
  std::vector<Figure> figures;
  auto start = Clock::now();
  const Ref<api::Model> model = arguments.load(true);
  figures.emplace_back("load_ms", milliseconds_since(start));
  if (model->exported() == nullptr) model->set_training(true);
  const ThreadCountScope threads(arguments.threads);  // Of the optimiser and the loss.
  Steps steps(options, *model);
  start = Clock::now();
  steps.make(0);
  figures.emplace_back("first_ms", milliseconds_since(start));
  const double first_loss = steps.loss();
  for (int i = 1; i < kEarlySteps; ++i) steps.make(static_cast<size_t>(i));
  const double tenth_loss = steps.loss();
  figures.emplace_back("settle_ms", settle(*model, [&](size_t number) { steps.make(number); }));
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
