// The Fourier transform of one line of complex numbers, of any length, that can be stopped.
//
// KissFFT does the work where it is quick: short lengths of small prime factors. It takes n * p
// steps for a prime factor p, so lengths with a large one become a convolution with a chirp
// (Bluestein), which is done by transforms of a length that has none. Long lengths are cut into a
// table of columns and rows, each a short line. Between short lines, and between blocks of other
// work, the thread's interrupt is asked. Results of one length always come out the same.
#pragma once

#include <memory>

#include "tierup/tensor/dtype.h"

namespace tierup::kernels {

class FourierLine {
 public:
  // For lines of n >= 1 numbers; `inverse` without a divisor. Throws kOutOfMemory.
  static std::unique_ptr<FourierLine> make(int64_t n, bool inverse);
  // Whether KissFFT does such a line alone.
  static bool is_plain(int64_t n);
  // The length of the lines by which n numbers are convolved with their chirp: at least 2n - 1,
  // with small factors only.
  static int64_t chirp_length(int64_t n);
  // A divisor near the root of n, of its prime factors up to kPlainPrime; 1 if there is a larger
  // one.
  static int64_t table_columns(int64_t n);

  virtual ~FourierLine() = default;
  FourierLine(const FourierLine&) = delete;
  FourierLine& operator=(const FourierLine&) = delete;
  // From n numbers to n others, apart from each other. One thread at a time: the line has scratch
  // memory. Throws what the thread's interrupt throws.
  virtual void transform(const complex128* in, complex128* out) = 0;

 protected:
  FourierLine() = default;
};

}  // namespace tierup::kernels
