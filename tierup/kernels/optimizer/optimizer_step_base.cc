// The optimisers' rules for one instruction set; see optimizer_step_body.h.
#include "tierup/kernels/optimizer/optimizer_step_body.h"
