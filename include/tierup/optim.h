// Optimisers, schedules, clipping, checkpoints, and a training loop over all of them.
//
//   tierup::Optimizer optimizer("AdamW", module, {{"lr", 1e-3}});
//   for (each batch) {
//     optimizer.zero_grad();
//     tierup::Tensor loss = module.call({input, target}, {}, {.gradients = true}).to_tensor();
//     tierup::backward(loss);
//     tierup::clip_norm(optimizer.parameters(), 1.0);
//     optimizer.step();
//   }
//   module.save("trained.pt");
//
// Kinds and settings have the names, defaults and meaning that they have in torch.optim, and state
// dicts its layout. A step gives the bits of PyTorch's loop over parameters, whatever the number of
// threads. Functions throw Error. Thread rule: one thread at a time, while nothing runs the module.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/export.h"
#include "tierup/module.h"
#include "tierup/tensor.h"
#include "tierup/value.h"

namespace tierup::v1 {

// A handle; copies are the same optimiser.
class TIERUP_API Optimizer {
 public:
  // Settings that are not given have the kind's defaults.
  struct Group {
    NamedTensors parameters;
    NamedValues settings;
  };
  // SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, NAdam, RAdam, Adamax. Throws for no parameters,
  // one that is given twice, one that is not float32 or float64, settings that the kind does not
  // have or out of range.
  Optimizer(const std::string& kind, const std::vector<Group>& groups);
  // All parameters of a module that require gradients.
  Optimizer(const std::string& kind, const Module& module, const NamedValues& settings = {});
  ~Optimizer();
  Optimizer(const Optimizer&) noexcept;
  Optimizer& operator=(const Optimizer&) noexcept;

  // One step by the gradients of the parameters (grad_of). A parameter without one is skipped, and
  // so is its state. Throws, before anything moves, for a gradient of another shape or dtype.
  void step() const;
  // A step by the gradients as clip_norm(parameters, max_norm) would leave them, `norm` being their
  // gradient_norm(): the same bits in one pass over memory. The gradients stay as they are.
  void step_clipped(double norm, double max_norm) const;
  // Makes the gradients undefined, not zeros.
  void zero_grad() const;
  // In the order of the groups.
  std::vector<Tensor> parameters() const;
  size_t group_count() const;
  double rate(size_t group = 0) const;
  void set_rate(double rate, size_t group = 0) const;

  // {"state": {index: {...}}, "param_groups": [...]}, as torch.optim writes and reads it. Throws,
  // with every difference listed, before anything changes.
  Value state_dict() const;
  void load_state_dict(const Value& state) const;

 private:
  friend struct Access;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Sets the rates of an optimiser. A handle; copies are the same schedule.
class TIERUP_API Schedule {
 public:
  // StepLR, MultiStepLR, ConstantLR, LinearLR, ExponentialLR, PolynomialLR, CosineAnnealingLR,
  // CosineAnnealingWarmRestarts, OneCycleLR, CyclicLR, ReduceLROnPlateau; SequentialLR with
  // "schedulers": a list of (name, settings), and "milestones". Sets the first rates.
  Schedule(const std::string& kind, const NamedValues& settings, const Optimizer& optimizer);
  // The first rates times factor(number of steps).
  Schedule(std::function<double(int64_t)> factor, const Optimizer& optimizer);
  ~Schedule();
  Schedule(const Schedule&) noexcept;
  Schedule& operator=(const Schedule&) noexcept;

  // Throws if the schedule has ended. ReduceLROnPlateau takes a metric, others take none.
  void step() const;
  void step(double metric) const;
  std::vector<double> rates() const;
  Value state_dict() const;
  void load_state_dict(const Value& state) const;

 private:
  friend struct Access;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Scales the gradients of these parameters so that the norm of their norms is at most `max_norm`,
// and returns what it was. NaN and infinity poison all gradients, unless they are to be an error.
TIERUP_API double clip_norm(const std::vector<Tensor>& parameters, double max_norm,
                            double norm_type = 2, bool error_if_nonfinite = false);
// The norm of the norms of these parameters' gradients; 0 for none.
TIERUP_API double gradient_norm(const std::vector<Tensor>& parameters, double norm_type = 2);
// Clamps the gradients to [-limit, limit].
TIERUP_API void clip_value(const std::vector<Tensor>& parameters, double limit);

// Weights, optimiser, schedule (may be null), the module's random stream and the number of epochs
// done, as torch.load(weights_only=True) reads it: {"model", "optimizers": {"main"}, "schedules":
// {"main"}, "rng", "epoch"}. The file appears whole or not at all.
TIERUP_API void save_checkpoint(const std::string& path, const Module& module,
                                const Optimizer& optimizer, const Schedule* schedule,
                                int64_t epoch);
// Puts everything back and returns the epoch. Throws, before anything changes, for a file that is
// cut short, or of another module, optimiser or schedule.
TIERUP_API int64_t load_checkpoint(const std::string& path, const Module& module,
                                   const Optimizer& optimizer, const Schedule* schedule);

struct TrainOptions {
  // Of what forward gives and the last column: cross_entropy, nll, mse, l1, smooth_l1, huber, bce,
  // bce_with_logits; "output": forward gives the loss, from all columns.
  std::string loss = "cross_entropy";
  int64_t epochs = 1;
  int64_t batch = 32;
  bool shuffle = true;
  bool drop_last = false;  // The rows that do not fill the last batch.
  std::optional<double> clip_norm = std::nullopt;
  std::optional<double> clip_value = std::nullopt;
  // Ends after so many epochs without a lower validation loss; the best weights come back.
  std::optional<int64_t> early_stop = std::nullopt;
  bool stop_at_nonfinite = true;       // An error that names the first operator.
  bool step_schedule_by_batch = true;  // Else by epoch.
  std::string checkpoint = {};         // A file written after every epoch; empty: none.
  bool resume = false;                 // Go on from that file, if it is there.
};

struct TrainReport {
  int64_t epoch = 0;  // From 1.
  double loss = 0;    // The mean over the rows.
  std::optional<double> accuracy;
  std::optional<double> validation_loss;
  std::optional<double> validation_accuracy;
  double rate = 0;
  double seconds = 0;
  bool is_best = false;
  int64_t best_epoch = 0;      // Of the lowest validation loss so far; 0: without validation.
  bool stopped_early = false;  // TrainOptions::early_stop ended the training with this epoch.
};

// The columns `names`, tensors [N, ...], of a safetensors file, in this order. Throws
// kInvalidArgument, naming what the file has, for columns that are missing, of different lengths or
// without rows.
TIERUP_API NamedTensors load_columns(const std::string& path,
                                     const std::vector<std::string>& names);

// Epochs of shuffled batches. `data` has columns [N, ...]: forward's arguments in order, then the
// target; so has `validation`, which may be empty. The module's seed decides the order of batches
// and all random numbers: the same seed gives the same bits, also of a resumed run. `callback`, if
// given, sees each epoch and returns false to end. The module is left in training mode, or, after
// validation, in evaluation mode. The optimiser and the loss have the module's threads. Returns the
// reports of all epochs of this call.
TIERUP_API std::vector<TrainReport> train(
    const Module& module, const Optimizer& optimizer, const Schedule* schedule,
    const NamedTensors& data, const NamedTensors& validation, const TrainOptions& options = {},
    const std::function<bool(const TrainReport&)>& callback = nullptr);

}  // namespace tierup::v1
