// The folds without vector extensions beyond the platform's own, and the choice of a variant.
#include "tierup/kernels/reduce/float_folds_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

const FloatFolds& float_folds_base() { return kFolds; }

const FloatFolds& float_folds() {
  return TIERUP_VARIANT(instruction_set(), float_folds_base, float_folds_avx2,
                        float_folds_avx512)();
}

}  // namespace tierup::kernels
