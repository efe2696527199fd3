// CyclicLR (Smith 2017, "Cyclical Learning Rates for Training Neural Networks"): rates that go up
// from a base to a top in so many steps and down again, momentum the other way; the way up gets
// shorter with each cycle ("triangular2") or each step ("exp_range").
#include <cmath>

#include "tierup/base/error.h"
#include "tierup/training/schedule.h"
#include "tierup/training/schedule_values.h"

namespace tierup::training {

void Schedule::start_cyclic() {
  for (const char* name : {"base_lr", "max_lr"}) {
    require(!settings_[name].is_none(), ErrorCode::kInvalidArgument,
            "CyclicLR needs the setting '{}'", name);
  }
  IValue& down = settings_["step_size_down"];
  if (down.is_none()) down = settings_["step_size_up"];
  require(down.is_int() && down.to_int() > 0 && number("step_size_up") > 0,
          ErrorCode::kInvalidArgument, "CyclicLR: its step sizes must be positive integers");
  const std::string& mode = settings_["mode"].to_str();
  require(mode == "triangular" || mode == "triangular2" || mode == "exp_range",
          ErrorCode::kInvalidArgument,
          "CyclicLR: the mode '{}' is none of triangular, triangular2, exp_range", mode);
  require_momentum();
  std::vector<ParameterGroup>& groups = optimizer_->groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    std::map<std::string, IValue>& values = groups[i].settings.extra;
    values["initial_lr"] = of_group(settings_["base_lr"], i, groups.size(), "base_lr");
    static_cast<void>(of_group(settings_["max_lr"], i, groups.size(), "max_lr"));
    if (!flag("cycle_momentum")) continue;
    values["max_momentum"] = number("max_momentum");
    values["base_momentum"] = number("base_momentum");
  }
}

double Schedule::cyclic_height() const {
  const double up = number("step_size_up");
  const double length = up + number("step_size_down");
  const auto t = static_cast<double>(time_);
  const double cycle = std::floor(t / length);
  const double part = t / length - cycle;  // Of this cycle.
  const double top = up / length;
  const double height = part <= top ? part / top : (1 - part) / (1 - top);
  const std::string& mode = settings_.find("mode")->second.to_str();
  if (mode == "triangular2") return height * std::pow(0.5, cycle);
  if (mode == "exp_range") return height * std::pow(number("gamma"), t);
  return height;
}

void Schedule::apply_cyclic() {
  const double height = cyclic_height();
  const IValue& tops = settings_.find("max_lr")->second;
  for (size_t i = 0; i < base_.size(); ++i) {
    const double top = of_group(tops, i, base_.size(), "max_lr");
    optimizer_->groups()[i].settings.lr = base_[i] + (top - base_[i]) * height;
    if (!flag("cycle_momentum")) continue;
    const double high = number("max_momentum");
    drive_momentum(i, high - (high - number("base_momentum")) * height);
  }
}

void Schedule::put_cyclic_state(DictValue& state) const {
  const auto numbers = [&](const auto& value_of) {
    const auto list = make_ref<ListValue>(Type::floating());
    for (size_t i = 0; i < base_.size(); ++i) list->items.emplace_back(value_of(i));
    return IValue(list);
  };
  const auto same = [&](const char* name) {
    return numbers([&](size_t /*group*/) { return number(name); });
  };
  const IValue& tops = settings_.find("max_lr")->second;
  const double up = number("step_size_up");
  const double length = up + number("step_size_down");
  const IValue& mode = settings_.find("mode")->second;
  state.set("max_lrs",
            numbers([&](size_t i) { return of_group(tops, i, base_.size(), "max_lr"); }));
  state.set("total_size", length);
  state.set("step_ratio", up / length);
  state.set("mode", mode);
  state.set("gamma", number("gamma"));
  state.set("scale_mode", mode.to_str() == "exp_range" ? "iterations" : "cycle");
  state.set("cycle_momentum", flag("cycle_momentum"));
  if (flag("cycle_momentum")) {
    state.set("use_beta1", optimizer_facts(optimizer_->kind()).settings[1].is_pair);
    state.set("base_momentums", same("base_momentum"));
    state.set("max_momentums", same("max_momentum"));
  }
  state.set("_scale_fn_custom", IValue());
}

void Schedule::take_cyclic_state(const DictValue& state) {
  const auto take = [&](const char* saved, const char* setting) {
    if (const IValue* value = state.find(IValue(saved))) settings_[setting] = *value;
  };
  take("max_lrs", "max_lr");
  take("mode", "mode");
  take("cycle_momentum", "cycle_momentum");
  const IValue* length = state.find(IValue("total_size"));
  const IValue* part = state.find(IValue("step_ratio"));
  if (length == nullptr || part == nullptr) return;
  const int64_t up = std::lround(length->to_float() * part->to_float());
  settings_["step_size_up"] = up;
  settings_["step_size_down"] = std::lround(length->to_float()) - up;
}

}  // namespace tierup::training
