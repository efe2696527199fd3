// Loops of steps for one instruction set; see step_loops_body.h.
#include "tierup/kernels/net/step_loops_body.h"

namespace tierup::kernels::net {

StepLoops step_loops_base() { return kStepLoops; }

}  // namespace tierup::kernels::net
