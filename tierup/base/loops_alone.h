// LoopsAloneScope: a stretch of a thread's work that shares no loop with other threads.
//
// Two cores that share no cache hand a line to one another in more than twice the time that those
// take which do, and a virtual machine's may be the ones now and the others a minute later: small
// loops one after the other then take longer by two threads than by one. Who runs them finds out
// by trying (tier/plan_trial.h).
#pragma once

namespace tierup {

// While one stands, intra_op_threads() is 1 in the thread that made it, but allowed_threads() is
// what it was: what is kept by the number of threads is found, and primitives that were made for
// several use them.
class LoopsAloneScope {
 public:
  LoopsAloneScope();
  ~LoopsAloneScope();
  LoopsAloneScope(const LoopsAloneScope&) = delete;
  LoopsAloneScope& operator=(const LoopsAloneScope&) = delete;

 private:
  const bool outer_;
};

}  // namespace tierup
