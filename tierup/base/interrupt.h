// Interrupt: what may stop long work in the middle: a run's deadline, or its caller's cancellation.
//
// A run asks between its steps. One step can take hours all the same: a sum over a tensor that
// expand() made of one element costs no memory. So a run makes its interrupt the calling thread's,
// parallel_for hands it on to its threads and asks it between pieces of long work, and kernels
// whose work is not bounded by the memory they take ask by poll_interrupt(). What a step had
// written by then stays written.
#pragma once

namespace tierup {

class Interrupt {
 public:
  // Throws if the work is to end. Any thread.
  virtual void poll() const = 0;

 protected:
  ~Interrupt() = default;
};

// The calling thread's; null if nothing can stop it.
const Interrupt* current_interrupt();

inline void poll_interrupt() {
  if (const Interrupt* interrupt = current_interrupt()) interrupt->poll();
}

// Makes an interrupt (null: none) the calling thread's for the scope's lifetime.
class InterruptScope {
 public:
  explicit InterruptScope(const Interrupt* interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  const Interrupt* previous_;
};

}  // namespace tierup
