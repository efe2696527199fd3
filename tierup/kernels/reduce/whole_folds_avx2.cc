// The folds of integers for one instruction set; see whole_folds_body.h.
#include "tierup/kernels/reduce/whole_folds_body.h"

namespace tierup::kernels {

const WholeFoldTable& whole_folds_avx2() { return kWholeFolds; }

}  // namespace tierup::kernels
