// Settings by a table of kinds; rates by closed forms; what has a state besides the time (plateaus)
// keeps it.
#include "tierup/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "tierup/base/error.h"
#include "tierup/training/schedule_values.h"

namespace tierup::training {
namespace {

enum class SettingType : uint8_t { kNumber, kCount, kFlag, kText, kList, kOptional };

struct SettingDefault {
  std::string_view name;
  std::optional<double> value;  // None: must be given, unless it is no number.
  SettingType type = SettingType::kNumber;
  std::string_view text = {};
};

constexpr SettingDefault kGamma{"gamma", 0.1};
constexpr SettingDefault kFive{"total_iters", 5, SettingType::kCount};
constexpr std::array kStepRows{SettingDefault{"step_size", {}, SettingType::kCount}, kGamma};
constexpr std::array kMultiStepRows{SettingDefault{"milestones", {}, SettingType::kList}, kGamma};
constexpr std::array kConstantRows{SettingDefault{"factor", 1.0 / 3}, kFive};
constexpr std::array kLinearRows{SettingDefault{"start_factor", 1.0 / 3},
                                 SettingDefault{"end_factor", 1}, kFive};
constexpr std::array kExponentialRows{SettingDefault{"gamma", {}}};
constexpr std::array kPolynomialRows{kFive, SettingDefault{"power", 1}};
constexpr std::array kCosineRows{SettingDefault{"T_max", {}, SettingType::kCount},
                                 SettingDefault{"eta_min", 0}};
constexpr std::array kWarmRows{SettingDefault{"T_0", {}, SettingType::kCount},
                               SettingDefault{"T_mult", 1, SettingType::kCount},
                               SettingDefault{"eta_min", 0}};
constexpr std::array kOneCycleRows{SettingDefault{"max_lr", {}, SettingType::kOptional},
                                   SettingDefault{"total_steps", {}, SettingType::kOptional},
                                   SettingDefault{"epochs", {}, SettingType::kOptional},
                                   SettingDefault{"steps_per_epoch", {}, SettingType::kOptional},
                                   SettingDefault{"pct_start", 0.3},
                                   SettingDefault{"anneal_strategy", {}, SettingType::kText, "cos"},
                                   SettingDefault{"cycle_momentum", 1, SettingType::kFlag},
                                   SettingDefault{"base_momentum", 0.85},
                                   SettingDefault{"max_momentum", 0.95},
                                   SettingDefault{"div_factor", 25},
                                   SettingDefault{"final_div_factor", 1e4},
                                   SettingDefault{"three_phase", 0, SettingType::kFlag}};
constexpr std::array kCyclicRows{SettingDefault{"base_lr", {}, SettingType::kOptional},
                                 SettingDefault{"max_lr", {}, SettingType::kOptional},
                                 SettingDefault{"step_size_up", 2000, SettingType::kCount},
                                 SettingDefault{"step_size_down", {}, SettingType::kOptional},
                                 SettingDefault{"mode", {}, SettingType::kText, "triangular"},
                                 SettingDefault{"gamma", 1},
                                 SettingDefault{"cycle_momentum", 1, SettingType::kFlag},
                                 SettingDefault{"base_momentum", 0.8},
                                 SettingDefault{"max_momentum", 0.9}};
constexpr std::array kPlateauRows{SettingDefault{"mode", {}, SettingType::kText, "min"},
                                  SettingDefault{"factor", 0.1},
                                  SettingDefault{"patience", 10, SettingType::kCount},
                                  SettingDefault{"threshold", 1e-4},
                                  SettingDefault{"threshold_mode", {}, SettingType::kText, "rel"},
                                  SettingDefault{"cooldown", 0, SettingType::kCount},
                                  SettingDefault{"min_lr", 0},
                                  SettingDefault{"eps", 1e-8}};
constexpr std::array kSequentialRows{SettingDefault{"schedulers", {}, SettingType::kList},
                                     SettingDefault{"milestones", {}, SettingType::kList}};

struct KindRow {
  ScheduleKind kind;
  std::string_view name;
  std::span<const SettingDefault> settings;
};

constexpr std::array<KindRow, 13> kKinds{{
    {ScheduleKind::kLambda, "LambdaLR", {}},
    {ScheduleKind::kStep, "StepLR", kStepRows},
    {ScheduleKind::kMultiStep, "MultiStepLR", kMultiStepRows},
    {ScheduleKind::kConstant, "ConstantLR", kConstantRows},
    {ScheduleKind::kLinear, "LinearLR", kLinearRows},
    {ScheduleKind::kExponential, "ExponentialLR", kExponentialRows},
    {ScheduleKind::kPolynomial, "PolynomialLR", kPolynomialRows},
    {ScheduleKind::kCosine, "CosineAnnealingLR", kCosineRows},
    {ScheduleKind::kWarmRestarts, "CosineAnnealingWarmRestarts", kWarmRows},
    {ScheduleKind::kOneCycle, "OneCycleLR", kOneCycleRows},
    {ScheduleKind::kCyclic, "CyclicLR", kCyclicRows},
    {ScheduleKind::kPlateau, "ReduceLROnPlateau", kPlateauRows},
    {ScheduleKind::kSequential, "SequentialLR", kSequentialRows},
}};

const KindRow& row_of(ScheduleKind kind) { return kKinds[static_cast<size_t>(kind)]; }

const KindRow& row_of(const std::string& name) {
  std::string names;
  for (const KindRow& row : kKinds) {
    if (row.kind == ScheduleKind::kLambda) continue;
    if (row.name == name) return row;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  fail(ErrorCode::kInvalidArgument, "there is no schedule '{}'; there are {}", name, names);
}

bool fits(const IValue& value, SettingType type) {
  switch (type) {
    case SettingType::kNumber: return value.is_float() || value.is_int();
    case SettingType::kCount: return value.is_int();
    case SettingType::kFlag: return value.is_bool();
    case SettingType::kText: return value.is_str();
    case SettingType::kList: return value.is_list() || value.is_tuple();
    case SettingType::kOptional: return true;
  }
  return false;
}

IValue default_of(const SettingDefault& row) {
  if (row.type == SettingType::kText) return IValue(row.text);
  if (row.type == SettingType::kOptional || !row.value) return {};
  if (row.type == SettingType::kFlag) return *row.value != 0;
  if (row.type == SettingType::kCount) return static_cast<int64_t>(*row.value);
  return *row.value;
}

double extra(const Settings& settings, const std::string& name) {
  return settings.extra.at(name).to_float();
}

}  // namespace

Schedule::Schedule(const std::string& name, const DictValue& settings, Optimizer& optimizer)
    : kind_(row_of(name).kind), optimizer_(&optimizer) {
  take_settings(name, settings);
  check_settings();
  if (kind_ == ScheduleKind::kOneCycle) start_one_cycle();
  if (kind_ == ScheduleKind::kCyclic) start_cyclic();
  note_base_rates();
  if (kind_ == ScheduleKind::kSequential) {
    start_sequence();
    return;
  }
  if (kind_ == ScheduleKind::kPlateau) {
    best_ = std::numeric_limits<double>::infinity();
    if (settings_["mode"].to_str() == "max") best_ = -best_;
  }
  apply();
}

Schedule::Schedule(std::function<double(int64_t)> factor, Optimizer& optimizer)
    : kind_(ScheduleKind::kLambda), optimizer_(&optimizer), factor_(std::move(factor)) {
  note_base_rates();
  apply();
}

void Schedule::take_settings(const std::string& name, const DictValue& settings) {
  const KindRow& row = row_of(name);
  for (const auto& [key, value] : settings.entries()) {
    const auto known = std::ranges::find_if(
        row.settings, [&](const SettingDefault& s) { return s.name == key.to_str(); });
    require(known != row.settings.end(), ErrorCode::kInvalidArgument, "{} has no setting '{}'",
            name, key.to_str());
    require(fits(value, known->type), ErrorCode::kTypeError, "{}: '{}' cannot be a {}", name,
            key.to_str(), value.tag_name());
    settings_[key.to_str()] = value;
  }
  for (const SettingDefault& setting : row.settings) {
    const bool is_needed = !setting.value && setting.type != SettingType::kText &&
                           setting.type != SettingType::kOptional;
    const bool is_given = settings_.contains(setting.name);
    require(is_given || !is_needed, ErrorCode::kInvalidArgument, "{} needs the setting '{}'", name,
            setting.name);
    if (!is_given) settings_.emplace(setting.name, default_of(setting));
  }
}

void Schedule::check_settings() const {
  for (const std::string_view name :
       {"step_size", "T_max", "T_0", "T_mult", "total_iters", "div_factor", "final_div_factor"}) {
    const auto found = settings_.find(name);
    if (found == settings_.end()) continue;
    require(found->second.to_float() > 0, ErrorCode::kInvalidArgument,
            "{}: '{}' must be positive, not {}", row_of(kind_).name, name,
            found->second.to_float());
  }
  if (kind_ != ScheduleKind::kPlateau) return;
  require(number("factor") < 1, ErrorCode::kInvalidArgument,
          "ReduceLROnPlateau: the factor must be below 1");
  const std::string& mode = settings_.find("mode")->second.to_str();
  require(mode == "min" || mode == "max", ErrorCode::kInvalidArgument,
          "ReduceLROnPlateau: the mode '{}' is neither min nor max", mode);
}

void Schedule::note_base_rates() {
  for (ParameterGroup& group : optimizer_->groups()) {
    if (kind_ == ScheduleKind::kPlateau) {
      base_.push_back(group.settings.lr);
      continue;
    }
    const auto initial = group.settings.extra.try_emplace("initial_lr", group.settings.lr).first;
    base_.push_back(initial->second.to_float());
  }
}

void Schedule::require_momentum() const {
  const OptimizerFacts& facts = optimizer_facts(optimizer_->kind());
  const bool has_momentum = std::ranges::any_of(
      facts.settings, [](const SettingRow& row) { return row.is_pair || row.name == "momentum"; });
  require(!flag("cycle_momentum") || has_momentum, ErrorCode::kInvalidArgument,
          "{}: {} has no momentum that cycle_momentum could drive", row_of(kind_).name, facts.name);
}

void Schedule::start_one_cycle() {
  if (settings_["total_steps"].is_none()) {
    require(settings_["epochs"].is_int() && settings_["steps_per_epoch"].is_int(),
            ErrorCode::kInvalidArgument,
            "OneCycleLR needs total_steps, or epochs and steps_per_epoch");
    settings_["total_steps"] = settings_["epochs"].to_int() * settings_["steps_per_epoch"].to_int();
  }
  require(settings_["total_steps"].is_int() && settings_["total_steps"].to_int() > 0,
          ErrorCode::kInvalidArgument, "OneCycleLR: total_steps must be a positive integer");
  require(!settings_["max_lr"].is_none(), ErrorCode::kInvalidArgument,
          "OneCycleLR needs the setting 'max_lr'");
  require_momentum();
  std::vector<ParameterGroup>& groups = optimizer_->groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    std::map<std::string, IValue>& values = groups[i].settings.extra;
    const double top = of_group(settings_["max_lr"], i, groups.size(), "max_lr");
    const double first = top / number("div_factor");
    values["initial_lr"] = first;
    values["max_lr"] = top;
    values["min_lr"] = first / number("final_div_factor");
    if (!flag("cycle_momentum")) continue;
    values["max_momentum"] = number("max_momentum");
    values["base_momentum"] = number("base_momentum");
  }
}

void Schedule::start_sequence() {
  for (const IValue& value : items_of(settings_["milestones"])) {
    milestones_.push_back(value.to_int());
  }
  for (const IValue& part : items_of(settings_["schedulers"])) {
    const bool is_pair = (part.is_list() || part.is_tuple()) && items_of(part).size() == 2 &&
                         items_of(part)[0].is_str() && items_of(part)[1].is_dict();
    require(is_pair, ErrorCode::kInvalidArgument,
            "SequentialLR: a part is its name and its settings");
    const std::string& name = items_of(part)[0].to_str();
    require(name != row_of(ScheduleKind::kPlateau).name, ErrorCode::kInvalidArgument,
            "SequentialLR: ReduceLROnPlateau needs a metric and cannot be a part");
    parts_.push_back(std::make_unique<Schedule>(name, items_of(part)[1].to_dict(), *optimizer_));
  }
  require(parts_.size() == milestones_.size() + 1, ErrorCode::kInvalidArgument,
          "SequentialLR: {} parts need {} milestones, not {}", parts_.size(),
          parts_.empty() ? 0 : parts_.size() - 1, milestones_.size());
  parts_[0]->apply();
}

double Schedule::number(std::string_view name) const {
  return settings_.find(name)->second.to_float();
}
bool Schedule::flag(std::string_view name) const { return settings_.find(name)->second.to_bool(); }

std::vector<double> Schedule::rates() const {
  std::vector<double> result;
  for (const ParameterGroup& group : optimizer_->groups()) result.push_back(group.settings.lr);
  return result;
}

void Schedule::step(std::optional<double> metric) {
  require(metric.has_value() == wants_metric(), ErrorCode::kInvalidArgument, "{} takes {} metric",
          row_of(kind_).name, wants_metric() ? "a" : "no");
  ++time_;
  if (kind_ == ScheduleKind::kPlateau) return plateau_step(*metric);
  if (kind_ != ScheduleKind::kSequential) return apply();
  const auto next = std::ranges::upper_bound(milestones_, time_);
  Schedule& part = *parts_[static_cast<size_t>(next - milestones_.begin())];
  part.time_ = next == milestones_.begin() ? time_ : time_ - *(next - 1);
  part.apply();
}

void Schedule::apply() {
  if (kind_ == ScheduleKind::kPlateau) return;
  if (kind_ == ScheduleKind::kCyclic) return apply_cyclic();
  std::vector<ParameterGroup>& groups = optimizer_->groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    Settings& settings = groups[i].settings;
    if (kind_ != ScheduleKind::kOneCycle) {
      settings.lr = rate_at(base_[i], time_);
      continue;
    }
    settings.lr = one_cycle(i, "lr", time_);
    if (flag("cycle_momentum")) drive_momentum(i, one_cycle(i, "momentum", time_));
  }
}

void Schedule::drive_momentum(size_t group, double momentum) {
  Settings& settings = optimizer_->groups()[group].settings;
  const bool has_betas = optimizer_facts(optimizer_->kind()).settings[1].is_pair;
  (has_betas ? settings.beta1 : settings.momentum) = momentum;
}

double Schedule::rate_at(double base, int64_t time) const {
  const auto t = static_cast<double>(time);
  switch (kind_) {
    case ScheduleKind::kLambda: return base * factor_(time);
    case ScheduleKind::kStep:
      return base * std::pow(number("gamma"), std::floor(t / number("step_size")));
    case ScheduleKind::kMultiStep: {
      const std::vector<IValue>& items = items_of(settings_.find("milestones")->second);
      const auto passed =
          std::ranges::count_if(items, [&](const IValue& v) { return v.to_int() <= time; });
      return base * std::pow(number("gamma"), static_cast<double>(passed));
    }
    case ScheduleKind::kConstant: return t < number("total_iters") ? base * number("factor") : base;
    case ScheduleKind::kLinear: {
      const double start = number("start_factor");
      const double total = number("total_iters");
      return base * (start + (number("end_factor") - start) * std::min(total, t) / total);
    }
    case ScheduleKind::kExponential: return base * std::pow(number("gamma"), t);
    case ScheduleKind::kPolynomial: {
      const double total = number("total_iters");
      return base * std::pow(1 - std::min(total, t) / total, number("power"));
    }
    case ScheduleKind::kCosine: {
      const double low = number("eta_min");
      return low + (base - low) * (1 + std::cos(std::numbers::pi * t / number("T_max"))) / 2;
    }
    case ScheduleKind::kWarmRestarts: {
      double length = number("T_0");
      double now = t;
      for (; now >= length; length *= number("T_mult")) now -= length;
      const double low = number("eta_min");
      return low + (base - low) * (1 + std::cos(std::numbers::pi * now / length)) / 2;
    }
    default: return base;
  }
}

// Up to the top, down to the bottom; with three phases back to the start in between.
double Schedule::one_cycle(size_t group, std::string_view what, int64_t time) const {
  const double total = number("total_steps");
  const auto t = static_cast<double>(time);
  require(t <= total, ErrorCode::kInvalidArgument,
          "Tried to step {} times. The specified number of total steps is {}", time, total);
  const Settings& settings = optimizer_->groups()[group].settings;
  const bool is_rate = what == "lr";
  const double start = extra(settings, is_rate ? "initial_lr" : "max_momentum");
  const double top = extra(settings, is_rate ? "max_lr" : "base_momentum");
  const double end = extra(settings, is_rate ? "min_lr" : "max_momentum");
  const double rise = number("pct_start") * total;
  struct Phase {
    double until, from, to;
  };
  std::vector<Phase> phases{{rise - 1, start, top}};
  if (flag("three_phase")) phases.push_back({2 * rise - 2, top, start});
  phases.push_back({total - 1, phases.back().to, end});
  double begin = 0;
  for (size_t i = 0;; begin = phases[i].until, ++i) {
    const Phase& phase = phases[i];
    if (t > phase.until && i + 1 < phases.size()) continue;
    const double part = (t - begin) / (phase.until - begin);
    if (settings_.find("anneal_strategy")->second.to_str() == "linear") {
      return (phase.to - phase.from) * part + phase.from;
    }
    return phase.to + (phase.from - phase.to) / 2 * (std::cos(std::numbers::pi * part) + 1);
  }
}

bool Schedule::is_better(double metric) const {
  const double threshold = number("threshold");
  const bool relative = settings_.find("threshold_mode")->second.to_str() == "rel";
  if (settings_.find("mode")->second.to_str() == "min") {
    return metric < (relative ? best_ * (1 - threshold) : best_ - threshold);
  }
  return metric > (relative ? best_ * (threshold + 1) : best_ + threshold);
}

void Schedule::plateau_step(double metric) {
  const bool better = is_better(metric);
  if (better) best_ = metric;
  bad_ = better ? 0 : bad_ + 1;
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (static_cast<double>(bad_) <= number("patience")) return;
  cooling_ = settings_["cooldown"].to_int();
  bad_ = 0;
  for (ParameterGroup& group : optimizer_->groups()) {
    double& rate = group.settings.lr;
    const double lower = std::max(rate * number("factor"), number("min_lr"));
    if (rate - lower > number("eps")) rate = lower;
  }
}

}  // namespace tierup::training
