// What training on the columns of a file needs, as options of `train` and `bench --train`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "model_options.h"
#include "tierup/api/model/losses.h"
#include "tierup/training/optimizer.h"

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
  // The columns of the model's arguments, then the target.
  std::vector<std::string> columns(const api::Model& model, const api::Loss& loss) const;
  // Over the parameters that the choice names. Throws kInvalidArgument for settings that the
  // optimiser does not have.
  training::Optimizer make_optimizer(const api::Model& model) const;
};

}  // namespace tierup::cli
