// Training runs: recorded trainings of a model, action by action ("Training runs" of the
// conformance cases): calls, backward passes, clipping, steps, schedules, and what they must give.
// For the command, too: includes nothing of the rooms.
#pragma once

#include <string>
#include <vector>

#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// A run on one archive: from its beginning, from the checkpoint that PyTorch wrote in its middle,
// or a joint program's first call.
struct TrainingRunCase {
  enum class Kind : uint8_t { kWhole, kFromCheckpoint, kJoint };
  std::string path;
  Kind kind = Kind::kWhole;
};

// NAME.RECIPE.train.safetensors beside NAME.train.pt, NAME.train.pt2 or NAME.joint.pt2 that name
// this archive. Throws v1::Error: kCorruptArchive.
std::vector<TrainingRunCase> training_runs_of(const std::string& model_path);

// On a freshly loaded model. Never throws.
CaseOutcome check_training_run(const std::string& model_path, const TrainingRunCase& run);

}  // namespace tierup::api
