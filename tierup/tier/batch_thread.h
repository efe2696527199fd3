// Work beside callers, in a thread of its own that stays out of their way: see decision 0024.
#pragma once

#include <chrono>
#include <functional>

namespace tierup::tier {

// Runs `work` in a thread of low priority, and waits for it; where no thread is to be had, in this
// one. Throws what it throws. The OpenMP team that it may start ends with its thread: while a team
// more than there are cores for exists, libgomp lets the callers' threads sleep at every barrier
// instead of waiting a little. And the caller's own thread keeps its priority: one of low priority
// would be stopped while it holds a lock that others need. `call_time` is what the callers' calls
// take, 0 if that is not known: beside long ones the work gets a larger share.
void run_as_batch(std::chrono::nanoseconds call_time, const std::function<void()>& work);

}  // namespace tierup::tier
