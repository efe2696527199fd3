// The choice of a variant.
#include "tierup/kernels/memory/turned_rows.h"

#include <array>

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

void turn_rows(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t rows,
               int64_t columns) {
  const TurnRows turn_them =
      TIERUP_VARIANT(instruction_set(), turn_rows_base, turn_rows_avx2, turn_rows_avx512)();
  turn_them(static_cast<float*>(to), to_step, static_cast<const float*>(from), from_step, rows,
            columns);
}

void take_strided(void* to, const void* from, int64_t step, int64_t count) {
  const TakeStrided take_them = TIERUP_VARIANT(instruction_set(), take_strided_base,
                                               take_strided_avx2, take_strided_avx512)();
  take_them(static_cast<float*>(to), static_cast<const float*>(from), step, count);
}

void weave(void* to, const void* const* from, int64_t parts, int64_t count) {
  const Weave weave_them =
      TIERUP_VARIANT(instruction_set(), weave_base, weave_avx2, weave_avx512)();
  std::array<const float*, 4> floats{};
  for (int64_t p = 0; p < parts; ++p) floats[p] = static_cast<const float*>(from[p]);
  weave_them(static_cast<float*>(to), floats.data(), parts, count);
}

}  // namespace tierup::kernels
