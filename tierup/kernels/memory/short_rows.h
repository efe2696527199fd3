// Copies of many short rows into one block.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// Rows of fewer elements are worth bringing together: a run of machine code over one of them takes
// longer to begin than to do.
inline constexpr int64_t kShortRow = 32;

// `rows` rows of `count` elements of 1, 2, 4, 8 or 16 bytes, one after another: elements of a row
// lie `step` bytes apart in `from`, rows `row_step`.
void copy_short_rows(char* to, const char* from, int64_t width, int64_t count, int64_t step,
                     int64_t rows, int64_t row_step);

}  // namespace tierup::kernels
