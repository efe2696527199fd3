// The f32 folds for one instruction set; see float_folds_body.h.
#include "tierup/kernels/reduce/float_folds_body.h"

namespace tierup::kernels {

const FloatFolds& float_folds_avx2() { return kFolds; }

}  // namespace tierup::kernels
