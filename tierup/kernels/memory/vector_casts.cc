#include "tierup/kernels/memory/vector_casts.h"

#include <array>

namespace tierup::kernels {
namespace {

struct Casts {
  DenseCast half_to_float;
  DenseCast float_to_half;
  DenseCast bfloat_to_float;
  DenseCast float_to_bfloat;
};

const Casts& casts_of(InstructionSet set) {
  static const std::array<Casts, 3> all = {
      Casts{simd_sse42::half_to_float(), simd_sse42::float_to_half(), simd_sse42::bfloat_to_float(),
            simd_sse42::float_to_bfloat()},
      Casts{simd_avx2::half_to_float(), simd_avx2::float_to_half(), simd_avx2::bfloat_to_float(),
            simd_avx2::float_to_bfloat()},
      Casts{simd_avx512::half_to_float(), simd_avx512::float_to_half(),
            simd_avx512::bfloat_to_float(), simd_avx512::float_to_bfloat()}};
  return all[static_cast<size_t>(set)];
}

}  // namespace

DenseCast dense_cast(ScalarType to, ScalarType from, InstructionSet set) {
  const Casts& casts = casts_of(set);
  if (to == ScalarType::kFloat && from == ScalarType::kHalf) return casts.half_to_float;
  if (to == ScalarType::kHalf && from == ScalarType::kFloat) return casts.float_to_half;
  if (to == ScalarType::kFloat && from == ScalarType::kBFloat16) return casts.bfloat_to_float;
  if (to == ScalarType::kBFloat16 && from == ScalarType::kFloat) return casts.float_to_bfloat;
  return nullptr;
}

}  // namespace tierup::kernels
