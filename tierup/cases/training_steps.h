// The zoo's training cases: what a few steps of SGD and of Adam make of a model. For the
// command, too: includes nothing of the rooms.
#pragma once

#include <string>

#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// Of NAME.train.safetensors: for each of its two optimisers, from the saved parameters, the loss of
// each step, then all parameters and buffers. Never throws.
CaseOutcome check_training_steps(const std::string& model_path, const std::string& case_path);

}  // namespace tierup::api
