#include "tierup/base/interrupt.h"

#include <utility>

namespace tierup {
namespace {

thread_local const Interrupt* current = nullptr;

}  // namespace

const Interrupt* current_interrupt() { return current; }

InterruptScope::InterruptScope(const Interrupt* interrupt)
    : previous_(std::exchange(current, interrupt)) {}

InterruptScope::~InterruptScope() { current = previous_; }

}  // namespace tierup
