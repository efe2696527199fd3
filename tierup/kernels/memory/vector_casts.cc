#include "tierup/kernels/memory/vector_casts.h"

namespace tierup::kernels {

DenseCast dense_cast(ScalarType to, ScalarType from, InstructionSet set) {
#define TIERUP_CAST(name) TIERUP_VARIANT(set, simd_base::name, simd_avx2::name, simd_avx512::name)()
  if (to == ScalarType::kFloat && from == ScalarType::kHalf) return TIERUP_CAST(half_to_float);
  if (to == ScalarType::kHalf && from == ScalarType::kFloat) return TIERUP_CAST(float_to_half);
  if (to == ScalarType::kFloat && from == ScalarType::kBFloat16)
    return TIERUP_CAST(bfloat_to_float);
  if (to == ScalarType::kBFloat16 && from == ScalarType::kFloat)
    return TIERUP_CAST(float_to_bfloat);
#undef TIERUP_CAST
  return nullptr;
}

}  // namespace tierup::kernels
