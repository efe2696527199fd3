// Swish for one instruction set; see swish_body.h.
#include "tierup/kernels/net/swish_body.h"

namespace tierup::kernels::net {

SwishFn swish_avx2() { return &swish_run; }

}  // namespace tierup::kernels::net
