// What an optimiser can be told: one table of kinds, settings, defaults and ranges.
//
// Names and defaults are those of torch.optim, in whose files they stand.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tierup/kernels/optimizer/optimizer_step.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::training {

enum class OptimizerKind : uint8_t {
  kSgd,
  kAdam,
  kAdamW,
  kRmsprop,
  kAdagrad,
  kAdadelta,
  kNadam,
  kRadam,
  kAdamax,
};

// Of one group of parameters. A kind uses those that its table names.
struct Settings {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  bool amsgrad = false;
  bool decoupled_weight_decay = false;
  double alpha = 0.99;
  bool centered = false;
  double lr_decay = 0;
  double initial_accumulator_value = 0;
  double rho = 0.9;
  double momentum_decay = 4e-3;
  // Of schedules and of other writers, by name: initial_lr, max_lr... Kept and written back.
  std::map<std::string, IValue> extra;
};

// A setting: its name in files, and where it lies.
struct SettingRow {
  std::string_view name;
  double Settings::*number = nullptr;
  bool Settings::*flag = nullptr;
  double least = 0;      // Numbers below it are refused,
  double below = 1e300;  // and numbers not below this.
  bool is_pair = false;  // betas: beta1 and beta2.
};

struct OptimizerFacts {
  OptimizerKind kind;
  std::string_view name;  // As in torch.optim: "SGD", "AdamW".
  kernels::StepRule rule;
  std::span<const SettingRow> settings;  // In the order of PyTorch's files.
  Settings defaults;
  // Of each parameter's tensors, in the order of the step's spans.
  std::array<std::string_view, 3> state;
  bool has_step = true;  // Counts its steps.
};

const OptimizerFacts& optimizer_facts(OptimizerKind kind);
// By a name as torch.optim or a command line spells it: "AdamW", "adamw". Throws kInvalidArgument
// naming those there are.
OptimizerKind optimizer_kind(std::string_view name);

// Takes settings by their names ("lr", "betas": a tuple or list of two), leaving the others as they
// are. Names that the kind does not have go to `extra` if `keep_unknown`, else they are refused.
// Throws kInvalidArgument for numbers out of range, kTypeError for values of other types.
void apply_settings(OptimizerKind kind, const DictValue& values, bool keep_unknown,
                    Settings& settings);
// Throws kInvalidArgument if one is out of range, with PyTorch's words.
void check_settings(OptimizerKind kind, const Settings& settings);

}  // namespace tierup::training
