// Turned rows for one instruction set; see turned_rows_body.h.
#include "tierup/kernels/memory/turned_rows_body.h"

namespace tierup::kernels {

TurnRows turn_rows_avx512() { return &turn; }
TakeStrided take_strided_avx512() { return &take; }
Weave weave_avx512() { return &weave; }

}  // namespace tierup::kernels
