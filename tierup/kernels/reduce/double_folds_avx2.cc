// The f64 folds for one instruction set; see double_folds_body.h.
#include "tierup/kernels/reduce/double_folds_body.h"

namespace tierup::kernels {

const DoubleFolds& double_folds_avx2() { return kDoubleFolds; }

}  // namespace tierup::kernels
