// Training runs: recorded trainings of a model, action by action ("Training runs" of the
// conformance cases): calls, backward passes, clipping, steps, schedules, and what they must give.
#pragma once

#include <string>
#include <vector>

#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// A run on one archive: from its beginning, or from the checkpoint that PyTorch wrote in its
// middle.
struct TrainingRunCase {
  std::string path;
  bool from_checkpoint = false;
};

// NAME.RECIPE.train.safetensors beside NAME.train.pt or NAME.train.pt2 that name this archive.
std::vector<TrainingRunCase> training_runs_of(const std::string& model_path);

// On a freshly loaded model. Never throws.
CaseOutcome check_training_run(const std::string& model_path, const TrainingRunCase& run);

}  // namespace tierup::api
