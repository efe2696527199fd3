#include "tierup/kernels/memory/vector_casts.h"

namespace tierup::kernels {

namespace {

template <typename To>
void truncate_all(To* out, const float* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = convert<To>(in[i]);
}

}  // namespace

void truncate_floats(uint8_t* out, const float* in, int64_t count) { truncate_all(out, in, count); }
void truncate_floats(int8_t* out, const float* in, int64_t count) { truncate_all(out, in, count); }
void truncate_floats(int16_t* out, const float* in, int64_t count) { truncate_all(out, in, count); }
void truncate_floats(int32_t* out, const float* in, int64_t count) { truncate_all(out, in, count); }
void truncate_floats(int64_t* out, const float* in, int64_t count) { truncate_all(out, in, count); }

DenseCast dense_cast(ScalarType to, ScalarType from, InstructionSet set) {
#define TIERUP_CAST(name) TIERUP_VARIANT(set, simd_base::name, simd_avx2::name, simd_avx512::name)()
  if (to == ScalarType::kFloat && from == ScalarType::kHalf) return TIERUP_CAST(half_to_float);
  if (to == ScalarType::kHalf && from == ScalarType::kFloat) return TIERUP_CAST(float_to_half);
  if (to == ScalarType::kFloat && from == ScalarType::kBFloat16)
    return TIERUP_CAST(bfloat_to_float);
  if (to == ScalarType::kBFloat16 && from == ScalarType::kFloat)
    return TIERUP_CAST(float_to_bfloat);
  if (to == ScalarType::kInt && from == ScalarType::kDouble) return TIERUP_CAST(double_to_ints);
  const bool are_bytes = from == ScalarType::kBool || from == ScalarType::kByte;
  if (to == ScalarType::kFloat && are_bytes) return TIERUP_CAST(bytes_to_float);
  if (from != ScalarType::kFloat) return nullptr;
  if (to == ScalarType::kByte) return TIERUP_CAST(float_to_bytes);
  if (to == ScalarType::kChar) return TIERUP_CAST(float_to_chars);
  if (to == ScalarType::kShort) return TIERUP_CAST(float_to_shorts);
  if (to == ScalarType::kInt) return TIERUP_CAST(float_to_ints);
  if (to == ScalarType::kLong) return TIERUP_CAST(float_to_longs);
#undef TIERUP_CAST
  return nullptr;
}

}  // namespace tierup::kernels
