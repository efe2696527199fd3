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

// The other way round: rows of so many bytes, one after another in `from`, `step` bytes apart.
void spread_short_rows(char* to, int64_t step, const char* from, int64_t bytes, int64_t rows);
// Rows of more bytes are as well copied by a call for each.
inline constexpr int64_t kMostSpread = 64;

}  // namespace tierup::kernels
