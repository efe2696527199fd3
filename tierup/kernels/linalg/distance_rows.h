// Distances of rows from the columns of a table, for each instruction set.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// Of the table: [length][kDistanceColumns], of which `count` are wanted.
inline constexpr int64_t kDistanceColumns = 64;
enum class DistanceNorm : uint8_t { kOne, kTwo };  // Sums of magnitudes, or Euclid's.
struct DistanceRows {
  DistanceNorm norm;
  const float* rows;  // [row_count][length].
  int64_t row_count;
  const float* columns;
  int64_t count;
  int64_t length;
  float* out;  // Of the first row.
  int64_t out_stride;
};

void distance_rows_base(const DistanceRows& call);
void distance_rows_avx2(const DistanceRows& call);
void distance_rows_avx512(const DistanceRows& call);

// The variant for this processor.
void distance_rows(const DistanceRows& call);

}  // namespace tierup::kernels
