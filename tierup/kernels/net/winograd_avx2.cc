// Winograd's convolution for one instruction set; see winograd_body.h.
#include "tierup/kernels/net/winograd_body.h"

namespace tierup::kernels::net {

WinogradPartFn winograd_part_avx2() { return &run_part; }

}  // namespace tierup::kernels::net
