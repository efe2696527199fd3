#include "tierup/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/training/clip.h"

namespace tierup::training {
namespace {

constexpr const char* kName = "main";  // Of the one optimiser and schedule in a checkpoint.
constexpr const char* kBestLoss = "best_loss";
constexpr const char* kBestEpoch = "best_epoch";
constexpr const char* kSinceBest = "epochs_since_best";
constexpr const char* kBestModel = "best_model";

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::optional<double> accuracy_of(const Score& score) {
  if (score.decided == 0) return std::nullopt;
  return static_cast<double>(score.right) / static_cast<double>(score.decided);
}

double mean_loss(const Score& score) { return score.loss_sum / static_cast<double>(score.rows); }

IValue dict_of(const archive::NamedTensors& tensors) {
  const auto dict = make_ref<DictValue>(Type::str(), Type::tensor());
  for (const auto& [name, tensor] : tensors) dict->set(IValue(name), IValue(tensor));
  return IValue(dict);
}

}  // namespace

Score& Score::operator+=(const Score& other) {
  loss_sum += other.loss_sum;
  rows += other.rows;
  right += other.right;
  decided += other.decided;
  return *this;
}

Trainer::Trainer(TrainingTask& task, Optimizer& optimizer, Schedule* schedule,
                 TrainerOptions options)
    : task_(task),
      optimizer_(optimizer),
      schedule_(schedule),
      options_(std::move(options)),
      best_loss_(std::numeric_limits<double>::infinity()) {
  require(options_.epochs > 0, ErrorCode::kInvalidArgument, "{} epochs of training",
          options_.epochs);
  require(options_.batch > 0, ErrorCode::kInvalidArgument, "a batch of {} rows", options_.batch);
  require(!options_.early_stop || *options_.early_stop > 0, ErrorCode::kInvalidArgument,
          "early stopping after {} epochs", options_.early_stop.value_or(0));
  require(!options_.resume || !options_.checkpoint.empty(), ErrorCode::kInvalidArgument,
          "resuming needs a checkpoint file");
}

void Trainer::check(const DataSet& data, const DataSet* validation) const {
  require(options_.batch <= data.rows(), ErrorCode::kInvalidArgument,
          "{}: a batch of {} rows is larger than the data, which has {}", data.name(),
          options_.batch, data.rows());
  require(validation != nullptr || !options_.early_stop, ErrorCode::kInvalidArgument,
          "early stopping needs validation data");
  require(validation != nullptr || schedule_ == nullptr || !schedule_->wants_metric(),
          ErrorCode::kInvalidArgument,
          "a schedule that follows the validation loss needs validation data");
}

TrainingResult Trainer::run(const DataSet& data, const DataSet* validation,
                            const EpochCallback& callback) {
  check(data, validation);
  if (options_.resume && std::filesystem::exists(options_.checkpoint)) resume();
  TrainingResult result;
  bool stopped_early = false;
  while (epoch_ < options_.epochs && !stopped_early) {
    const auto begin = std::chrono::steady_clock::now();
    EpochReport report;
    report.epoch = epoch_ + 1;
    const Score score = train_epoch(data);
    report.loss = mean_loss(score);
    report.accuracy = accuracy_of(score);
    if (validation != nullptr) {
      stopped_early = note_validation(report, validate(*validation));
    }
    report.best_epoch = best_epoch_;
    report.stopped_early = stopped_early;
    if (schedule_ != nullptr && options_.pace == SchedulePace::kEpoch) {
      step_schedule(report.validation_loss);
    }
    report.rate = optimizer_.groups()[0].settings.lr;
    ++epoch_;
    if (!options_.checkpoint.empty()) save();
    report.seconds = seconds_since(begin);
    result.epochs.push_back(report);
    if (callback && !callback(report)) break;
  }
  if (options_.early_stop) restore_best();
  return result;
}

Score Trainer::train_epoch(const DataSet& data) {
  task_.set_training(true);
  std::vector<int64_t> order(static_cast<size_t>(data.rows()));
  std::iota(order.begin(), order.end(), 0);
  if (options_.shuffle) order = shuffled_order(data.rows(), task_.generator());
  Score total;
  const auto step = static_cast<size_t>(options_.batch);
  for (size_t at = 0; at < order.size(); at += step) {
    const size_t count = std::min(step, order.size() - at);
    if (options_.drop_last && count < step) break;
    train_batch(data.rows_of(std::span(order).subspan(at, count)), total);
  }
  return total;
}

void Trainer::train_batch(const Batch& batch, Score& total) {
  const Score score = task_.learn(batch);
  const std::vector<Tensor> gradients = task_.gradients(optimizer_.parameters());
  double factor = 1;
  double norm = 0;
  if (options_.clip_value) clip_value(gradients, *options_.clip_value);
  if (options_.clip_norm || options_.stop_at_nonfinite) norm = total_norm(gradients);
  if (options_.stop_at_nonfinite && !(std::isfinite(score.loss_sum) && std::isfinite(norm))) {
    const bool has_loss = std::isfinite(score.loss_sum);
    const double value = has_loss ? norm : mean_loss(score);
    fail(ErrorCode::kInvalidArgument, "in epoch {} the {} is {}: {}", epoch_ + 1,
         has_loss ? "norm of the gradients" : "loss",
         std::isnan(value) ? "nan" : fmt::format("{}", value), task_.explain_nonfinite(batch));
  }
  if (options_.clip_norm) {
    factor = clip_factor(norm, *options_.clip_norm, optimizer_.parameters()[0].dtype());
  }
  optimizer_.step(gradients, factor);
  total += score;
  if (schedule_ != nullptr && options_.pace == SchedulePace::kBatch) step_schedule(std::nullopt);
}

Score Trainer::validate(const DataSet& data) const {
  task_.set_training(false);
  Score total;
  for (int64_t at = 0; at < data.rows(); at += options_.batch) {
    total += task_.evaluate(data.range(at, std::min(data.rows(), at + options_.batch)));
  }
  return total;
}

// Whether training ends here.
bool Trainer::note_validation(EpochReport& report, const Score& score) {
  report.validation_loss = mean_loss(score);
  report.validation_accuracy = accuracy_of(score);
  report.is_best = *report.validation_loss < best_loss_;
  if (!report.is_best) return options_.early_stop && ++since_best_ >= *options_.early_stop;
  best_loss_ = *report.validation_loss;
  best_epoch_ = report.epoch;
  since_best_ = 0;
  if (options_.early_stop) keep_best();
  return false;
}

void Trainer::step_schedule(std::optional<double> metric) {
  schedule_->step(schedule_->wants_metric() ? metric : std::nullopt);
}

void Trainer::keep_best() {
  best_.clear();
  for (const auto& [name, tensor] : task_.state()) best_.emplace_back(name, kernels::clone(tensor));
}

void Trainer::restore_best() { copy_state(best_, task_.state()); }

void Trainer::save() const {
  Checkpoint checkpoint;
  checkpoint.model = task_.state();
  checkpoint.optimizers.emplace_back(kName, optimizer_.state_dict());
  if (schedule_ != nullptr) checkpoint.schedules.emplace_back(kName, schedule_->state_dict());
  checkpoint.generator = task_.generator().state();
  checkpoint.epoch = epoch_;
  checkpoint.extra = {
      {kBestLoss, best_loss_}, {kBestEpoch, best_epoch_}, {kSinceBest, since_best_}};
  if (!best_.empty()) checkpoint.extra.emplace_back(kBestModel, dict_of(best_));
  save_checkpoint(options_.checkpoint, checkpoint);
}

void Trainer::resume() {
  const Checkpoint saved = load_checkpoint(options_.checkpoint);
  restore(saved, options_.checkpoint, {task_.state(), &optimizer_, schedule_, &task_.generator()});
  epoch_ = saved.epoch;
  for (const auto& [name, value] : saved.extra) {
    if (name == kBestLoss && value.is_float()) best_loss_ = value.to_float();
    if (name == kBestEpoch && value.is_int()) best_epoch_ = value.to_int();
    if (name == kSinceBest && value.is_int()) since_best_ = value.to_int();
    if (name != kBestModel || !value.is_dict()) continue;
    best_.clear();
    for (const auto& [key, tensor] : value.to_dict().entries()) {
      best_.emplace_back(key.to_str(), tensor.to_tensor());
    }
  }
}

}  // namespace tierup::training
