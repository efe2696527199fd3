// The folds without vector extensions beyond the platform's own, and the choice of a variant.
#include "tierup/kernels/reduce/double_folds_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

const DoubleFolds& double_folds_base() { return kDoubleFolds; }

const DoubleFolds& double_folds() {
  return TIERUP_VARIANT(instruction_set(), double_folds_base, double_folds_avx2,
                        double_folds_avx512)();
}

}  // namespace tierup::kernels
