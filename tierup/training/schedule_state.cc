// A schedule's state in the layout of torch.optim.lr_scheduler, and back.
#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/training/schedule.h"

namespace tierup::training {
namespace {

IValue floats(const std::vector<double>& values) {
  const auto list = make_ref<ListValue>(Type::floating());
  for (const double value : values) list->items.emplace_back(value);
  return IValue(list);
}

IValue ints(const std::vector<int64_t>& values) {
  return IValue(make_int_list({values.data(), values.size()}));
}

IValue phase(double end, bool is_last, const char* from, const char* to, const char* from_momentum,
             const char* to_momentum) {
  const auto dict = make_ref<DictValue>(Type::str(), Type::any());
  dict->set("end_step", is_last ? IValue(static_cast<int64_t>(end)) : IValue(end));
  dict->set("start_lr", from);
  dict->set("end_lr", to);
  dict->set("start_momentum", from_momentum);
  dict->set("end_momentum", to_momentum);
  return IValue(dict);
}

IValue phases(double rise, double total, bool three) {
  const auto list = make_ref<ListValue>(Type::any());
  const char* high = "max_momentum";
  const char* low = "base_momentum";
  list->items.push_back(phase(rise - 1, false, "initial_lr", "max_lr", high, low));
  if (three) {
    list->items.push_back(phase(2 * rise - 2, false, "max_lr", "initial_lr", low, high));
    list->items.push_back(phase(total - 1, true, "initial_lr", "min_lr", high, high));
  } else {
    list->items.push_back(phase(total - 1, true, "max_lr", "min_lr", low, high));
  }
  return IValue(list);
}

const IValue& needed(const DictValue& state, const char* name) {
  const IValue* found = state.find(IValue(name));
  require(found != nullptr, ErrorCode::kInvalidArgument,
          "the state does not fit the schedule: it lacks '{}'", name);
  return *found;
}

}  // namespace

IValue Schedule::state_dict() const {
  const auto state = make_ref<DictValue>(Type::str(), Type::any());
  const auto put = [&](const char* name, IValue value) { state->set(name, std::move(value)); };
  const auto get = [&](const char* name) { return settings_.find(name)->second; };
  switch (kind_) {
    case ScheduleKind::kSequential: {
      put("_milestones", ints(milestones_));
      put("last_epoch", time_);
      put("_last_lr", floats(rates()));
      const auto parts = make_ref<ListValue>(Type::any());
      for (const auto& part : parts_) parts->items.push_back(part->state_dict());
      put("_schedulers", IValue(parts));
      return IValue(state);
    }
    case ScheduleKind::kPlateau:
      for (const char* name :
           {"factor", "patience", "cooldown", "eps", "mode", "threshold", "threshold_mode"}) {
        put(name, get(name));
      }
      put("default_min_lr", get("min_lr"));
      put("min_lrs", floats(std::vector<double>(base_.size(), number("min_lr"))));
      put("best", best_);
      put("cooldown_counter", cooling_);
      put("num_bad_epochs", bad_);
      put("last_epoch", time_);
      put("_last_lr", floats(rates()));
      return IValue(state);
    case ScheduleKind::kOneCycle:
      put("total_steps", get("total_steps"));
      put("_schedule_phases", phases(number("pct_start") * number("total_steps"),
                                     number("total_steps"), flag("three_phase")));
      put("_anneal_func_type", get("anneal_strategy"));
      put("cycle_momentum", get("cycle_momentum"));
      put("use_beta1", optimizer_facts(optimizer_->kind()).settings[1].is_pair);
      break;
    case ScheduleKind::kCyclic: put_cyclic_state(*state); break;
    case ScheduleKind::kMultiStep: {
      const auto counts = make_ref<DictValue>(Type::integer(), Type::integer());
      const IValue milestones = get("milestones");
      const auto& items =
          milestones.is_list() ? milestones.to_list().items : milestones.to_tuple().items;
      for (const IValue& item : items) {
        const IValue* before = counts->find(item);
        counts->set(item, IValue(before == nullptr ? 1 : before->to_int() + 1));
      }
      put("milestones", IValue(counts));
      put("gamma", get("gamma"));
      break;
    }
    default:
      for (const auto& [name, value] : settings_) put(name.c_str(), value);
  }
  if (kind_ == ScheduleKind::kWarmRestarts) {
    double length = number("T_0");
    auto now = static_cast<double>(time_);
    for (; now >= length; length *= number("T_mult")) now -= length;
    put("T_i", static_cast<int64_t>(length));
    put("T_cur", static_cast<int64_t>(now));
  }
  put("base_lrs", floats(base_));
  put("last_epoch", time_);
  put("_step_count", time_ + 1);
  put("_is_initial", false);
  put("_get_lr_called_within_step", false);
  put("_last_lr", floats(rates()));
  return IValue(state);
}

// The groups' rates come with the optimiser's own state.
void Schedule::load_state_dict(const IValue& value) {
  require(value.is_dict(), ErrorCode::kInvalidArgument,
          "the state does not fit the schedule: it is a {}", value.tag_name());
  const DictValue& state = value.to_dict();
  const int64_t time = needed(state, "last_epoch").to_int();
  if (kind_ == ScheduleKind::kSequential) {
    const IValue& parts = needed(state, "_schedulers");
    require(parts.is_list() && parts.to_list().items.size() == parts_.size(),
            ErrorCode::kInvalidArgument, "the state does not fit the schedule: other parts");
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts_[i]->load_state_dict(parts.to_list().items[i]);
      parts_[i]->time_ = std::max<int64_t>(parts_[i]->time_, 0);
    }
  } else if (kind_ == ScheduleKind::kPlateau) {
    best_ = needed(state, "best").to_float();
    bad_ = needed(state, "num_bad_epochs").to_int();
    cooling_ = needed(state, "cooldown_counter").to_int();
  } else {
    const IValue& base = needed(state, "base_lrs");
    require(base.is_list() && base.to_list().items.size() == base_.size(),
            ErrorCode::kInvalidArgument,
            "the state does not fit the schedule: it is of an optimizer with other groups");
    for (const auto& [name, setting] : settings_) {
      const IValue* saved = state.find(IValue(name));
      const bool is_number = setting.is_float() || setting.is_int();
      if (saved != nullptr && is_number) settings_[name] = *saved;
    }
    if (kind_ == ScheduleKind::kCyclic) take_cyclic_state(state);
    for (size_t i = 0; i < base_.size(); ++i) base_[i] = base.to_list().items[i].to_float();
  }
  time_ = time;
}

}  // namespace tierup::training
