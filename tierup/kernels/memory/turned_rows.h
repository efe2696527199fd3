// Short rows of numbers turned into columns, so that what is done with each row is done with many
// side by side.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// to[c * to_step + r] = from[r * from_step + c] for numbers of four bytes; steps are in numbers.
// Nothing outside of the rows is read.
void turn_rows(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t rows,
               int64_t columns);

using TurnRows = void (*)(float* to, int64_t to_step, const float* from, int64_t from_step,
                          int64_t rows, int64_t columns);
TurnRows turn_rows_base();
TurnRows turn_rows_avx2();
TurnRows turn_rows_avx512();

}  // namespace tierup::kernels
