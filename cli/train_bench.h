// tierup bench --train: what a step of training takes, whole and by its parts.
#pragma once

#include "train_options.h"

namespace tierup::cli {

struct TrainBenchOptions {
  TrainingChoice choice;
  int64_t batch = 0;  // Rows of a step; 0: all of the data.
  double seconds = 3;
  size_t steps = 0;  // Instead of seconds.
  bool json = false;

  void add_to(CLI::App& command);
};

// Prints the figures; returns the exit code.
int bench_training(const TrainBenchOptions& options, const ModelArguments& model);

}  // namespace tierup::cli
