// What is done with each of many dense rows: softmax and layer norm, for operators and nets alike.
//
// Short rows are turned, so that many of them stand side by side in registers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tierup::kernels {

// Some short rows, turned: number i of row r stands at [i * kTogether + r].
class TurnedRows {
 public:
  static constexpr int64_t kTogether = 64;  // Rows.
  // What is done across a register takes as long as turning rows of so many numbers.
  static constexpr int64_t kMostSize = 63;

  // Whether so many rows are short, and enough to fill registers side by side.
  static bool pay(int64_t rows, int64_t size) {
    return size > 0 && size <= kMostSize && rows >= size;
  }
  // Calls body(first, count) for pieces of the rows from `begin` to `end`.
  template <typename Body>
  static void for_pieces(int64_t begin, int64_t end, const Body& body) {
    for (int64_t i = begin; i < end; i += kTogether) body(i, std::min(kTogether, end - i));
  }

  float* data() { return numbers_.data(); }
  // At most kTogether rows of `size` numbers, one after another.
  void load(const float* x, int64_t size, int64_t rows);
  void store(float* y, int64_t size, int64_t rows) const;

 private:
  std::array<float, static_cast<size_t>(kTogether* kMostSize)> numbers_;
};

// The softmax of each of `rows` rows of `size` numbers, or its logarithm. By several threads; y may
// be x.
void softmax_rows(const float* x, int64_t rows, int64_t size, bool log, float* y);

// What layer norm takes and gives: gamma and beta have a number for each of a row, or are null;
// mean and rstd get one for each row, unless they are null. y may be x.
template <typename T>
struct NormRows {
  const T* x;
  const T* gamma;
  const T* beta;
  T* y;
  T* mean;
  T* rstd;
};
// y = (x - mean) * rstd * gamma + beta with rstd = 1 / sqrt(variance + eps). By several threads.
template <typename T>
void normalize_rows(int64_t rows, int64_t size, T eps, const NormRows<T>& data);
extern template void normalize_rows(int64_t, int64_t, float, const NormRows<float>&);
extern template void normalize_rows(int64_t, int64_t, double, const NormRows<double>&);

}  // namespace tierup::kernels
