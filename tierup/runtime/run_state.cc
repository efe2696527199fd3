#include "tierup/runtime/run_state.h"

#include "tierup/base/error.h"

namespace tierup::runtime {

void RunState::fail_cancelled() { fail(ErrorCode::kCancelled, "the run was cancelled"); }

void RunState::fail_deadline() {
  fail(ErrorCode::kDeadlineExceeded,
       "the run exceeded its time limit; raise the limit in the options if the model needs longer");
}

void RunState::fail_objects() {
  fail(ErrorCode::kOutOfMemory,
       "out of memory: lists, views and other values take {} bytes, and the limit is {}",
       object_use().bytes.load(), object_use().limit.load());
}

}  // namespace tierup::runtime
