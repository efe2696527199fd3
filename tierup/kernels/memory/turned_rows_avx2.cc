// Turned rows for one instruction set; see turned_rows_body.h.
#include "tierup/kernels/memory/turned_rows_body.h"

namespace tierup::kernels {

TurnRows turn_rows_avx2() { return &turn; }
TakeStrided take_strided_avx2() { return &take; }
Weave weave_avx2() { return &weave; }

}  // namespace tierup::kernels
