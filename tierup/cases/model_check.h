// The recorded cases of one model archive, run one after the other. For the command, too: includes
// nothing of the rooms.
#pragma once

#include <string>
#include <vector>

#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// The case files beside a model archive that are for it: NAME.caseK.safetensors whose `archives`
// name the file, or that say nothing of archives. Throws v1::Error: kCorruptArchive.
std::vector<std::string> case_paths_of(const std::string& model_path);

// A whole case on a freshly loaded model. Never throws.
CaseOutcome check_model_case(const std::string& model_path, const std::string& case_path);

}  // namespace tierup::api
