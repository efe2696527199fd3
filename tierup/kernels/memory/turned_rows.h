// Numbers of four bytes that lie apart brought side by side: short rows turned into columns, so
// that what is done with each row is done with many, and lines of which every so-manieth number is
// taken.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// to[c * to_step + r] = from[r * from_step + c] for numbers of four bytes; steps are in numbers.
// Nothing outside of the rows is read.
void turn_rows(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t rows,
               int64_t columns);

// to[i] = from[i * step] for numbers of four bytes; the step, in numbers, may be negative. Nothing
// before the first or behind the last is read.
void take_strided(void* to, const void* from, int64_t step, int64_t count);

// to[i * parts + p] = from[p][i] for numbers of four bytes, of two to four parts.
void weave(void* to, const void* const* from, int64_t parts, int64_t count);

using TurnRows = void (*)(float* to, int64_t to_step, const float* from, int64_t from_step,
                          int64_t rows, int64_t columns);
TurnRows turn_rows_base();
TurnRows turn_rows_avx2();
TurnRows turn_rows_avx512();

using TakeStrided = void (*)(float* to, const float* from, int64_t step, int64_t count);
TakeStrided take_strided_base();
TakeStrided take_strided_avx2();
TakeStrided take_strided_avx512();

using Weave = void (*)(float* to, const float* const* from, int64_t parts, int64_t count);
Weave weave_base();
Weave weave_avx2();
Weave weave_avx512();

}  // namespace tierup::kernels
