// Trainer: epochs of shuffled batches, with validation, early stopping and checkpoints.
//
// It knows nothing of models: a TrainingTask gives losses and gradients. The order of the batches
// and all random numbers come from the task's generator, so the same seed gives the same bits, also
// of a run that was resumed from a checkpoint.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/training/checkpoint.h"
#include "tierup/training/data_set.h"
#include "tierup/training/schedule.h"

namespace tierup::training {

// What validation gives for a batch.
struct Score {
  double loss_sum = 0;  // The mean loss times the number of rows.
  int64_t rows = 0;
  int64_t right = 0;  // Of `decided` decisions, if the task makes any.
  int64_t decided = 0;
  Score& operator+=(const Score& other);
};

// What is trained. Thread rule: used by one thread.
class TrainingTask {
 public:
  virtual ~TrainingTask() = default;
  // Makes the gradients of the optimiser's parameters undefined, then those of the mean loss over
  // the batch; gives the loss and how many rows it was right about.
  virtual Score learn(const Batch& batch) = 0;
  // The gradients of the parameters, in the order of the optimiser; undefined ones included.
  virtual std::vector<Tensor> gradients(const std::vector<Tensor>& parameters) = 0;
  // Without gradients and in evaluation mode.
  virtual Score evaluate(const Batch& batch) = 0;
  // A sentence that names what first made something infinite or NaN of this batch.
  virtual std::string explain_nonfinite(const Batch& batch) = 0;
  virtual void set_training(bool training) = 0;
  // Parameters and buffers; the tensors are the module's own.
  virtual archive::NamedTensors state() = 0;
  virtual kernels::Generator& generator() = 0;
};

// When a schedule steps.
enum class SchedulePace : uint8_t { kBatch, kEpoch };

struct TrainerOptions {
  int64_t epochs = 1;
  int64_t batch = 32;
  bool shuffle = true;
  bool drop_last = false;  // The rows that do not fill the last batch.
  std::optional<double> clip_norm;
  std::optional<double> clip_value;
  // Ends after this many epochs without a lower validation loss; the best weights come back.
  std::optional<int64_t> early_stop;
  bool stop_at_nonfinite = true;  // An error at the first loss or gradient that is not a number.
  SchedulePace pace = SchedulePace::kBatch;
  std::string checkpoint;  // A file written after every epoch; empty: none.
  bool resume = false;     // Go on from that file, if it is there.
};

struct EpochReport {
  int64_t epoch = 0;  // From 1.
  double loss = 0;    // The mean over the rows.
  std::optional<double> accuracy;
  std::optional<double> validation_loss;
  std::optional<double> validation_accuracy;
  double rate = 0;  // Of the first group, at the end.
  double seconds = 0;
  bool is_best = false;        // The lowest validation loss so far.
  int64_t best_epoch = 0;      // Of that loss; 0: without validation.
  bool stopped_early = false;  // Early stopping ends the training with this epoch.
};

struct TrainingResult {
  std::vector<EpochReport> epochs;  // Of this run; those of a resumed one are not repeated.
};

// Returns false to end after this epoch.
using EpochCallback = std::function<bool(const EpochReport& report)>;

class Trainer {
 public:
  // All are outlived by the caller's; `schedule` may be null. Throws kInvalidArgument for options
  // out of range.
  Trainer(TrainingTask& task, Optimizer& optimizer, Schedule* schedule, TrainerOptions options);

  // Throws kInvalidArgument for a batch larger than the data, early stopping without validation
  // data, a schedule that ends before the training does, a checkpoint of another module or
  // optimiser, and losses and gradients that are not finite; else what the task throws. The weights
  // are then those after the last whole step.
  TrainingResult run(const DataSet& data, const DataSet* validation,
                     const EpochCallback& callback = nullptr);

 private:
  void check(const DataSet& data, const DataSet* validation) const;
  void resume();
  void save() const;
  Score train_epoch(const DataSet& data);
  void train_batch(const Batch& batch, Score& total);
  Score validate(const DataSet& data) const;
  bool note_validation(EpochReport& report, const Score& score);
  void step_schedule(std::optional<double> metric);
  void keep_best();
  void restore_best();

  TrainingTask& task_;
  Optimizer& optimizer_;
  Schedule* schedule_;
  TrainerOptions options_;
  int64_t epoch_ = 0;  // Epochs that are done.
  int64_t since_best_ = 0;
  int64_t best_epoch_ = 0;
  double best_loss_;
  archive::NamedTensors best_;
};

}  // namespace tierup::training
