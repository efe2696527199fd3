// The end of executors whose runs are under way: threads of their own wait for those.
//
// The last handle's destructor waits for the runs, however long they take. The garbage collector
// must not wait so, and who calls close() must be able to interrupt it.
#pragma once

#include <tierup/executor.h>

#include <optional>

namespace tierup::python {

enum class Wait : bool { kNo, kForRuns };

// Empties `executor`, with the GIL; runs under way end as they would. Wait::kForRuns returns when
// they have, and throws nb::python_error if a signal's handler raises before: the runs go on.
void close_executor(std::optional<Executor>& executor, Wait wait);

// Returns when all executors are gone that were let go of, without the GIL: the interpreter ends.
// Their runs were cancelled before.
void finish_closing();

}  // namespace tierup::python
