#include "tierup/training/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "tierup/base/error.h"

namespace tierup::training {
namespace {

// So that 1 itself is in range.
constexpr double kJustAbove1 = 1 + 0x1p-52;

constexpr SettingRow kLr{"lr", &Settings::lr};
constexpr SettingRow kBetas{.name = "betas", .below = 1, .is_pair = true};
constexpr SettingRow kEps{"eps", &Settings::eps};
constexpr SettingRow kDecay{"weight_decay", &Settings::weight_decay};
constexpr SettingRow kMomentum{"momentum", &Settings::momentum};
constexpr SettingRow kMaximize{"maximize", nullptr, &Settings::maximize};
constexpr SettingRow kDecoupled{"decoupled_weight_decay", nullptr,
                                &Settings::decoupled_weight_decay};

constexpr std::array kSgdRows{kLr,
                              kMomentum,
                              SettingRow{"dampening", &Settings::dampening, nullptr, -1e300},
                              kDecay,
                              SettingRow{"nesterov", nullptr, &Settings::nesterov},
                              kMaximize};
constexpr std::array kAdamRows{
    kLr,       kBetas,    kEps, kDecay, SettingRow{"amsgrad", nullptr, &Settings::amsgrad},
    kMaximize, kDecoupled};
constexpr std::array kRmspropRows{kLr,
                                  kMomentum,
                                  SettingRow{"alpha", &Settings::alpha},
                                  kEps,
                                  SettingRow{"centered", nullptr, &Settings::centered},
                                  kDecay,
                                  kMaximize};
constexpr std::array kAdagradRows{
    kLr,
    SettingRow{"lr_decay", &Settings::lr_decay},
    kEps,
    kDecay,
    SettingRow{"initial_accumulator_value", &Settings::initial_accumulator_value},
    kMaximize};
constexpr std::array kAdadeltaRows{
    kLr, SettingRow{.name = "rho", .number = &Settings::rho, .below = kJustAbove1}, kEps, kDecay,
    kMaximize};
constexpr std::array kNadamRows{
    kLr,        kBetas,   kEps, kDecay, SettingRow{"momentum_decay", &Settings::momentum_decay},
    kDecoupled, kMaximize};
constexpr std::array kRadamRows{kLr, kBetas, kEps, kDecay, kMaximize, kDecoupled};
constexpr std::array kAdamaxRows{kLr, kBetas, kEps, kDecay, kMaximize};

Settings with(void (*change)(Settings& settings)) {
  Settings settings;
  change(settings);
  return settings;
}

const std::array<OptimizerFacts, 9>& all_facts() {
  using Kind = OptimizerKind;
  using Rule = kernels::StepRule;
  static const std::array<OptimizerFacts, 9> facts{{
      {Kind::kSgd, "SGD", Rule::kSgd, kSgdRows, Settings(), {"momentum_buffer"}, false},
      {Kind::kAdam,
       "Adam",
       Rule::kAdam,
       kAdamRows,
       Settings(),
       {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}},
      {Kind::kAdamW,
       "AdamW",
       Rule::kAdam,
       kAdamRows,
       with([](Settings& s) {
         s.weight_decay = 1e-2;
         s.decoupled_weight_decay = true;
       }),
       {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}},
      {Kind::kRmsprop,
       "RMSprop",
       Rule::kRmsprop,
       kRmspropRows,
       with([](Settings& s) { s.lr = 1e-2; }),
       {"square_avg", "grad_avg", "momentum_buffer"}},
      {Kind::kAdagrad,
       "Adagrad",
       Rule::kAdagrad,
       kAdagradRows,
       with([](Settings& s) {
         s.lr = 1e-2;
         s.eps = 1e-10;
       }),
       {"sum"}},
      {Kind::kAdadelta,
       "Adadelta",
       Rule::kAdadelta,
       kAdadeltaRows,
       with([](Settings& s) {
         s.lr = 1;
         s.eps = 1e-6;
       }),
       {"square_avg", "acc_delta"}},
      {Kind::kNadam,
       "NAdam",
       Rule::kNadam,
       kNadamRows,
       with([](Settings& s) { s.lr = 2e-3; }),
       {"exp_avg", "exp_avg_sq"}},
      {Kind::kRadam, "RAdam", Rule::kRadam, kRadamRows, Settings(), {"exp_avg", "exp_avg_sq"}},
      {Kind::kAdamax,
       "Adamax",
       Rule::kAdamax,
       kAdamaxRows,
       with([](Settings& s) { s.lr = 2e-3; }),
       {"exp_avg", "exp_inf"}},
  }};
  return facts;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

double number_of(const IValue& value, std::string_view name) {
  if (value.is_tensor() && value.to_tensor().numel() == 1) return value.to_scalar().to_double();
  require(value.is_float() || value.is_int(), ErrorCode::kTypeError,
          "the optimiser's setting '{}' is a number, not a {}", name, value.tag_name());
  return value.to_float();
}

// What torch.optim's settings say of how its loop runs: kept for state dicts, without effect here.
bool is_way_of_running(std::string_view name) {
  return name == "foreach" || name == "fused" || name == "capturable" || name == "differentiable";
}

void apply_pair(const IValue& value, std::string_view name, Settings& settings) {
  const bool is_list = value.is_list() && value.to_list().items.size() == 2;
  const bool is_tuple = value.is_tuple() && value.to_tuple().items.size() == 2;
  require(is_list || is_tuple, ErrorCode::kTypeError,
          "the optimiser's setting '{}' is a pair of numbers, not a {}", name, value.tag_name());
  const std::vector<IValue>& items = is_list ? value.to_list().items : value.to_tuple().items;
  settings.beta1 = number_of(items[0], name);
  settings.beta2 = number_of(items[1], name);
}

void check_number(const OptimizerFacts& facts, const SettingRow& row, double value) {
  const bool fits = value >= row.least && value < row.below && !std::isnan(value);
  require(fits, ErrorCode::kInvalidArgument, "{}: invalid {} value: {}", facts.name, row.name,
          value);
}

}  // namespace

const OptimizerFacts& optimizer_facts(OptimizerKind kind) {
  return all_facts()[static_cast<size_t>(kind)];
}

OptimizerKind optimizer_kind(std::string_view name) {
  std::string names;
  for (const OptimizerFacts& facts : all_facts()) {
    if (equal_ignoring_case(facts.name, name)) return facts.kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", facts.name);
  }
  fail(ErrorCode::kInvalidArgument, "there is no optimiser '{}'; there are {}", name, names);
}

void apply_settings(OptimizerKind kind, const DictValue& values, bool keep_unknown,
                    Settings& settings) {
  const OptimizerFacts& facts = optimizer_facts(kind);
  for (const auto& [key, value] : values.entries()) {
    const std::string& name = key.to_str();
    if (name == "params") continue;
    const auto row =
        std::ranges::find_if(facts.settings, [&](const SettingRow& r) { return r.name == name; });
    if (row == facts.settings.end()) {
      require(keep_unknown || is_way_of_running(name), ErrorCode::kInvalidArgument,
              "{} has no setting '{}'", facts.name, name);
      settings.extra[name] = value;
    } else if (row->is_pair) {
      apply_pair(value, name, settings);
    } else if (row->flag != nullptr) {
      require(value.is_bool(), ErrorCode::kTypeError,
              "the optimiser's setting '{}' is true or false, not a {}", name, value.tag_name());
      settings.*row->flag = value.to_bool();
    } else {
      settings.*row->number = number_of(value, name);
    }
  }
  check_settings(kind, settings);
}

void check_settings(OptimizerKind kind, const Settings& settings) {
  const OptimizerFacts& facts = optimizer_facts(kind);
  for (const SettingRow& row : facts.settings) {
    if (row.is_pair) {
      check_number(facts, row, settings.beta1);
      check_number(facts, row, settings.beta2);
    } else if (row.number != nullptr) {
      check_number(facts, row, settings.*row.number);
    }
  }
  require(!settings.nesterov || (settings.momentum > 0 && settings.dampening == 0),
          ErrorCode::kInvalidArgument,
          "{}: Nesterov momentum requires a momentum and zero dampening", facts.name);
}

}  // namespace tierup::training
