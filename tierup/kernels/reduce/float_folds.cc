// The folds without vector extensions beyond the platform's own, and the choice of a variant.
#include "tierup/kernels/reduce/float_folds_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

FloatFolds float_folds_base() { return kFolds; }

const FloatFolds& float_folds() {
  // Making a table runs instructions of its level: each is made when that level is first in use.
  switch (instruction_set()) {
    case InstructionSet::kAvx512: {
      static const FloatFolds avx512 = float_folds_avx512();
      return avx512;
    }
    case InstructionSet::kAvx2: {
      static const FloatFolds avx2 = float_folds_avx2();
      return avx2;
    }
    default: break;
  }
  static const FloatFolds base = float_folds_base();
  return base;
}

}  // namespace tierup::kernels
