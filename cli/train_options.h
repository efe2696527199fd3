// What training on the columns of a file needs, as options of `train` and `bench --train`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "model_options.h"
#include "tierup/optim.h"

namespace tierup::cli {

struct TrainingChoice {
  std::string data;
  std::vector<std::string> inputs;
  std::string target = "target";
  std::string loss = "cross_entropy";
  std::string optimizer = "adamw";
  std::string settings;
  double lr = -1;
  double clip_norm = -1;
  std::vector<std::string> only;

  // `columns_option` names the option that takes the columns of forward's arguments.
  void add_to(CLI::App& command, const char* columns_option);
  // Forward gives the loss itself, from all columns.
  bool model_gives_loss() const { return loss == "output"; }
  // The columns of forward's arguments, then the target, if the loss wants one.
  std::vector<std::string> columns(const v1::Module& module) const;
  // Over the parameters that the choice names. Throws kInvalidArgument for settings that the
  // optimiser does not have.
  v1::Optimizer make_optimizer(const v1::Module& module) const;

 private:
  v1::NamedTensors parameters(const v1::Module& module) const;
};

// A text in JSON that is an object, as settings; `option` names it in errors.
v1::NamedValues read_settings(const std::string& option, const std::string& json);

}  // namespace tierup::cli
