// The loops of weight factors for one instruction set; see weight_factors_body.h.
#include "tierup/kernels/net/weight_factors_body.h"

namespace tierup::kernels::net {

FactorLoops factor_loops_base() { return kFactorLoops; }

}  // namespace tierup::kernels::net
