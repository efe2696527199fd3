// Turned rows for one instruction set; see turned_rows_body.h.
#include "tierup/kernels/memory/turned_rows_body.h"

namespace tierup::kernels {

TurnRows turn_rows_base() { return &turn; }
TakeStrided take_strided_base() { return &take; }
Weave weave_base() { return &weave; }

}  // namespace tierup::kernels
