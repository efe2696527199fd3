// The folds without vector extensions beyond the platform's own, and the choice of a variant.
#include "tierup/kernels/float_folds_body.h"
#include "tierup/kernels/instruction_set.h"

namespace tierup::kernels {

FloatFolds float_folds_base() { return kFolds; }

const FloatFolds& float_folds() {
  // Making a table runs instructions of its level: only that of the machine is made.
  static const FloatFolds folds =
      of_instruction_set(float_folds_base, float_folds_avx2, float_folds_avx512);
  return folds;
}

}  // namespace tierup::kernels
