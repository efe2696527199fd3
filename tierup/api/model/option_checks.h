// option_checks: what numbers options may have, for all ways by which they come in.
//
// Beyond these bounds sums of times overflow, or more threads are asked for than systems give.
#pragma once

#include <cstdint>

#include "tierup/api/model/model.h"
#include "tierup/executor/executor.h"

namespace tierup::api {

// Throw kInvalidArgument naming the option, its value and what it takes.
void check_options(const ModelOptions& options);
void check_options(const RunOptions& options);
void check_config(const executor::ExecutorConfig& config);

}  // namespace tierup::api
