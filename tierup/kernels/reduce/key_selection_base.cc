// Selection of keys for one instruction set; see key_selection_body.h.
#include "tierup/kernels/reduce/key_selection_body.h"

namespace tierup::kernels {

KeySelection key_selection_base() { return kKeySelection; }

}  // namespace tierup::kernels
