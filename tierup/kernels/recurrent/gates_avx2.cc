// The gates of recurrent layers for one instruction set; see gates.h.
#include "tierup/kernels/recurrent/gates_body.h"

namespace tierup::kernels {

GateKernels gate_kernels_avx2() { return kGateKernels; }

}  // namespace tierup::kernels
