// Waiting for the tier that steady calls run at.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "tierup/module.h"

namespace tierup::cli {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start);

// Waits for the plans that the calls so far asked for; their first calls may ask for more, so that
// some are made in between: call(0) to call(2). Returns the milliseconds that it took.
double settle(const v1::Module& module, const std::function<void(size_t)>& call);

}  // namespace tierup::cli
