// The choice of a variant.
#include "tierup/kernels/reduce/whole_folds.h"

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

const WholeFoldTable& whole_fold_table() {
  return TIERUP_VARIANT(instruction_set(), whole_folds_base, whole_folds_avx2,
                        whole_folds_avx512)();
}

}  // namespace tierup::kernels
