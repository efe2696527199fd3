// An optimiser's state in the layout of torch.optim's files, and back.
#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/training/optimizer.h"

namespace tierup::training {
namespace {

// What PyTorch's groups hold besides: how its own steps are run.
constexpr std::array<std::string_view, 4> kForeignSettings{"foreach", "capturable",
                                                           "differentiable", "fused"};
constexpr std::string_view kStep = "step";
constexpr std::string_view kMuProduct = "mu_product";

Ref<DictValue> text_dict() { return make_ref<DictValue>(Type::str(), Type::any()); }

bool has_foreign(OptimizerKind kind, std::string_view name) {
  using Kind = OptimizerKind;
  if (name == "fused") {
    return kind == Kind::kSgd || kind == Kind::kAdam || kind == Kind::kAdamW ||
           kind == Kind::kAdagrad;
  }
  if (name == "capturable") return kind != Kind::kSgd && kind != Kind::kAdagrad;
  return true;
}

Tensor count_tensor(double value) { return Tensor::scalar(Scalar(value), ScalarType::kFloat); }

const DictValue* dict_at(const IValue& value, std::string_view key) {
  if (!value.is_dict()) return nullptr;
  const IValue* found = value.to_dict().find(IValue(key));
  return found != nullptr && found->is_dict() ? &found->to_dict() : nullptr;
}

const std::vector<IValue>* list_at(const DictValue& dict, std::string_view key) {
  const IValue* found = dict.find(IValue(key));
  return found != nullptr && found->is_list() ? &found->to_list().items : nullptr;
}

}  // namespace

IValue Optimizer::group_dict(const ParameterGroup& group, size_t first) const {
  const Ref<DictValue> dict = text_dict();
  const Settings& settings = group.settings;
  for (const SettingRow& row : facts_.settings) {
    IValue value;
    if (row.is_pair) {
      value = make_tuple({settings.beta1, settings.beta2});
    } else if (row.flag != nullptr) {
      value = settings.*row.flag;
    } else {
      value = settings.*row.number;
    }
    dict->set(IValue(row.name), std::move(value));
  }
  for (const std::string_view name : kForeignSettings) {
    if (!has_foreign(facts_.kind, name)) continue;
    const bool is_flag = name == "capturable" || name == "differentiable";
    dict->set(IValue(name), is_flag ? IValue(false) : IValue());
  }
  for (const auto& [name, value] : settings.extra) dict->set(IValue(name), value);
  const auto indices = make_ref<ListValue>(Type::integer());
  for (size_t i = 0; i < group.parameters.size(); ++i) {
    indices->items.emplace_back(static_cast<int64_t>(first + i));
  }
  dict->set(IValue("params"), IValue(indices));
  return IValue(dict);
}

IValue Optimizer::state_dict() const {
  const auto state = make_ref<DictValue>(Type::integer(), Type::any());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const State& own = entries_[i].state;
    if (!own.exists) continue;
    const Ref<DictValue> values = text_dict();
    if (facts_.has_step) values->set(IValue(kStep), IValue(count_tensor(own.steps)));
    if (facts_.kind == OptimizerKind::kNadam) {
      values->set(IValue(kMuProduct), IValue(count_tensor(own.mu_product)));
    }
    for (size_t k = 0; k < own.tensors.size(); ++k) {
      if (own.tensors[k].defined()) {
        values->set(IValue(facts_.state[k]), IValue(own.tensors[k]));
      }
    }
    state->set(IValue(static_cast<int64_t>(i)), IValue(values));
  }
  const auto groups = make_ref<ListValue>(Type::any());
  size_t first = 0;
  for (const ParameterGroup& group : groups_) {
    groups->items.push_back(group_dict(group, first));
    first += group.parameters.size();
  }
  const Ref<DictValue> result = text_dict();
  result->set(IValue("state"), IValue(state));
  result->set(IValue("param_groups"), IValue(groups));
  return IValue(result);
}

// What keeps a state from being loaded, one line each; empty if nothing does.
std::string Optimizer::state_problems(const IValue& state) const {
  const DictValue* values = dict_at(state, "state");
  const std::vector<IValue>* groups =
      state.is_dict() ? list_at(state.to_dict(), "param_groups") : nullptr;
  if (values == nullptr || groups == nullptr) {
    return "\n- it is no optimizer's state: a dict with \"state\" and \"param_groups\"";
  }
  std::string problems;
  if (groups->size() != groups_.size()) {
    problems +=
        fmt::format("\n- it has {} parameter groups instead of {}", groups->size(), groups_.size());
  }
  for (size_t i = 0; i < std::min(groups->size(), groups_.size()); ++i) {
    const IValue& group = (*groups)[i];
    const std::vector<IValue>* indices =
        group.is_dict() ? list_at(group.to_dict(), "params") : nullptr;
    const size_t count = indices == nullptr ? 0 : indices->size();
    if (count != groups_[i].parameters.size()) {
      problems += fmt::format("\n- group {} has {} parameters instead of {}", i, count,
                              groups_[i].parameters.size());
    }
  }
  for (const auto& [key, entry] : values->entries()) {
    const bool is_index =
        key.is_int() && key.to_int() >= 0 && key.to_int() < static_cast<int64_t>(entries_.size());
    if (!is_index || !entry.is_dict()) {
      problems += fmt::format("\n- there is no parameter {}", to_text(key));
      continue;
    }
    const Entry& own = entries_[static_cast<size_t>(key.to_int())];
    for (const auto& [name, value] : entry.to_dict().entries()) {
      if (!name.is_str() || name.to_str() == kStep || name.to_str() == kMuProduct) continue;
      const auto slot = std::ranges::find(facts_.state, std::string_view(name.to_str()));
      if (slot == facts_.state.end()) {
        problems += fmt::format("\n- parameter '{}': {} has no state '{}'", own.name, facts_.name,
                                name.to_str());
      } else if (value.is_tensor() &&
                 !std::ranges::equal(value.to_tensor().sizes(), own.parameter.sizes())) {
        problems += fmt::format("\n- parameter '{}' is {}, its state '{}' is {}", own.name,
                                shape_string(own.parameter.sizes()), name.to_str(),
                                shape_string(value.to_tensor().sizes()));
      }
    }
  }
  return problems;
}

void Optimizer::load_entry(Entry& entry, const DictValue& values) {
  entry.state = State();
  entry.state.exists = true;
  for (const auto& [name, value] : values.entries()) {
    if (name.to_str() == kStep) {
      entry.state.steps = value.to_scalar().to_double();
    } else if (name.to_str() == kMuProduct) {
      entry.state.mu_product = value.to_scalar().to_double();
    } else if (value.is_tensor()) {
      const auto slot = std::ranges::find(facts_.state, std::string_view(name.to_str()));
      const Tensor& parameter = entry.parameter;
      Tensor& own = entry.state.tensors[static_cast<size_t>(slot - facts_.state.begin())];
      own = parameter.is_non_overlapping_and_dense()
                ? Tensor::empty_strided(parameter.sizes(), parameter.strides(), parameter.dtype())
                : Tensor::empty(parameter.sizes(), parameter.dtype());
      kernels::copy_into(own, value.to_tensor());
    }
  }
}

void Optimizer::load_state_dict(const IValue& state) {
  const std::string problems = state_problems(state);
  require(problems.empty(), ErrorCode::kInvalidArgument,
          "the state does not fit the {} optimizer:{}", facts_.name, problems);
  const std::vector<IValue>& groups = *list_at(state.to_dict(), "param_groups");
  std::vector<Settings> settings;
  for (const IValue& group : groups) {
    settings.push_back(facts_.defaults);
    apply_settings(facts_.kind, group.to_dict(), true, settings.back());
    for (const std::string_view name : kForeignSettings) {
      settings.back().extra.erase(std::string(name));
    }
  }
  for (size_t i = 0; i < groups_.size(); ++i) groups_[i].settings = std::move(settings[i]);
  for (Entry& entry : entries_) entry.state = State();
  for (const auto& [key, values] : dict_at(state, "state")->entries()) {
    load_entry(entries_[static_cast<size_t>(key.to_int())], values.to_dict());
  }
}

}  // namespace tierup::training
