// Distances of rows from the columns of a table, for each instruction set.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// Of the table: [length][kDistanceColumns], of which `count` are wanted.
inline constexpr int64_t kDistanceColumns = 64;
enum class DistanceNorm : uint8_t {
  kCount,    // Of differences that are not zero.
  kOne,      // Sums of magnitudes.
  kTwo,      // Euclid's.
  kLargest,  // Magnitude.
  kPower,    // (sum |x|^power)^(1 / power); of floats only.
};
template <typename T>
struct DistanceRows {
  DistanceNorm norm;
  double power;
  const T* rows;  // [row_count][length].
  int64_t row_count;
  const T* columns;
  int64_t count;
  int64_t length;
  T* out;  // Of the first row.
  int64_t out_stride;
};

#define TIERUP_DISTANCE_ROWS(name)            \
  void name(const DistanceRows<float>& call); \
  void name(const DistanceRows<double>& call);
TIERUP_DISTANCE_ROWS(distance_rows_base)
TIERUP_DISTANCE_ROWS(distance_rows_avx2)
TIERUP_DISTANCE_ROWS(distance_rows_avx512)
// The variant for this processor.
TIERUP_DISTANCE_ROWS(distance_rows)
#undef TIERUP_DISTANCE_ROWS

}  // namespace tierup::kernels
