// A model's tiers against tier 0, call by call. For the command, too: includes nothing of the
// rooms.
#pragma once

#include <string>

#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// Goes through a case's calls `rounds` times on two freshly loaded models, one with the tiers of
// the environment, one with compile=off, and waits for compile jobs between rounds. Fails where the
// first differs from the second beyond the case's tolerances, or raises where it does not, and
// where a compile job failed. State and random draws take the same course on both. Never throws.
CaseOutcome check_in_lockstep(const std::string& model_path, const std::string& case_path,
                              int rounds);

}  // namespace tierup::api
