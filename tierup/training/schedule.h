// Schedules of learning rates: closed forms of the number of their steps.
//
// Kinds, settings and state are those of torch.optim.lr_scheduler, in whose files they stand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/training/optimizer.h"

namespace tierup::training {

enum class ScheduleKind : uint8_t {
  kLambda,
  kStep,
  kMultiStep,
  kConstant,
  kLinear,
  kExponential,
  kPolynomial,
  kCosine,
  kWarmRestarts,
  kOneCycle,
  kCyclic,
  kPlateau,
  kSequential,
};

// Thread rule: used by one thread at a time.
class Schedule {
 public:
  // "CosineAnnealingLR" with {"T_max": 4}; settings that are absent have PyTorch's defaults. A
  // "SequentialLR" has "schedulers": a list of [name, settings], and "milestones". Sets the rates
  // of the optimiser's groups, which must outlive it. Throws kInvalidArgument for kinds and
  // settings that there are not, that are missing or out of range.
  Schedule(const std::string& name, const DictValue& settings, Optimizer& optimizer);
  // The groups' first rates times factor(number of steps).
  Schedule(std::function<double(int64_t)> factor, Optimizer& optimizer);

  // One step further: sets the rates of the groups. A ReduceLROnPlateau needs a metric, others take
  // none. Throws kInvalidArgument if the schedule has ended (OneCycleLR).
  void step(std::optional<double> metric = std::nullopt);
  // Of each group, now.
  std::vector<double> rates() const;
  bool wants_metric() const { return kind_ == ScheduleKind::kPlateau; }

  // In PyTorch's layout, both ways. Throws kInvalidArgument for a state of another kind.
  IValue state_dict() const;
  void load_state_dict(const IValue& state);

 private:
  void take_settings(const std::string& name, const DictValue& settings);
  void check_settings() const;
  void note_base_rates();
  void require_momentum() const;
  void start_one_cycle();
  void start_cyclic();
  void start_sequence();
  void apply();
  double rate_at(double base, int64_t time) const;
  double one_cycle(size_t group, std::string_view what, int64_t time) const;
  // How far the rate stands above its base now, of the whole way to the top.
  double cyclic_height() const;
  void apply_cyclic();
  void drive_momentum(size_t group, double momentum);
  void put_cyclic_state(DictValue& state) const;
  void take_cyclic_state(const DictValue& state);
  void plateau_step(double metric);
  bool is_better(double metric) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;

  ScheduleKind kind_;
  Optimizer* optimizer_;
  std::map<std::string, IValue, std::less<>> settings_;
  std::vector<int64_t> milestones_;
  std::vector<std::unique_ptr<Schedule>> parts_;  // Of a sequence.
  std::function<double(int64_t)> factor_;
  std::vector<double> base_;
  int64_t time_ = 0;
  // ReduceLROnPlateau.
  double best_ = 0;
  int64_t bad_ = 0;
  int64_t cooling_ = 0;
};

}  // namespace tierup::training
