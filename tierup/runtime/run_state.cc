#include "tierup/runtime/run_state.h"

#include "tierup/base/error.h"

namespace tierup::runtime {

void RunState::fail_cancelled() { fail(ErrorCode::kCancelled, "the run was cancelled"); }

void RunState::fail_deadline() {
  fail(ErrorCode::kDeadlineExceeded,
       "the run exceeded its time limit; raise the limit in the options if the model needs longer");
}

}  // namespace tierup::runtime
