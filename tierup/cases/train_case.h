// A training case of a model: the loss of one recorded call and the gradients of its parameters.
// For the command, too: includes nothing of the rooms.
#pragma once

#include <string>
#include <vector>

#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// The case beside NAME.train.pt: NAME.train.safetensors, if it is there.
std::vector<std::string> train_case_paths_of(const std::string& model_path);

// On a freshly loaded model. Never throws.
CaseOutcome check_train_case(const std::string& model_path, const std::string& case_path);

}  // namespace tierup::api
