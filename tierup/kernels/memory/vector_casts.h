// Conversions of dense blocks between float and the two narrow types, from bytes to float, and from
// float and double to integers, in vector code.
#pragma once

#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

// Count elements from `in` to `out`, both dense.
using DenseCast = void (*)(char* out, const char* in, int64_t count);

// The vector code for this pair, or null if there is none: a plain loop does.
DenseCast dense_cast(ScalarType to, ScalarType from, InstructionSet set);

// One by one, whatever the numbers are: for the code of all instruction sets.
void truncate_floats(uint8_t* out, const float* in, int64_t count);
void truncate_floats(int8_t* out, const float* in, int64_t count);
void truncate_floats(int16_t* out, const float* in, int64_t count);
void truncate_floats(int32_t* out, const float* in, int64_t count);
void truncate_floats(int64_t* out, const float* in, int64_t count);

#define TIERUP_VECTOR_CASTS(name) \
  namespace name {                \
  DenseCast half_to_float();      \
  DenseCast float_to_half();      \
  DenseCast bfloat_to_float();    \
  DenseCast float_to_bfloat();    \
  DenseCast bytes_to_float();     \
  DenseCast float_to_bytes();     \
  DenseCast float_to_chars();     \
  DenseCast float_to_shorts();    \
  DenseCast float_to_ints();      \
  DenseCast float_to_longs();     \
  DenseCast double_to_ints();     \
  }
TIERUP_VECTOR_CASTS(simd_base)
TIERUP_VECTOR_CASTS(simd_avx2)
TIERUP_VECTOR_CASTS(simd_avx512)
#undef TIERUP_VECTOR_CASTS

}  // namespace tierup::kernels
