// Fourier transforms of all lines of tensors along a dimension, a few at a time (line_bundle.h).
//
// Lines of floats whose factors are small are transformed in floats; those that are convolved with
// a chirp, whose errors add up, in doubles as doubles are. Results are divided by `scale`. A line
// comes out the same whatever stands beside it.
#pragma once

#include <cstdint>

#include "tierup/kernels/memory/lane_loop.h"

namespace tierup::kernels {

// Whether lines of n complex numbers of C are bundled; of n real ones of R, in either direction.
template <typename C>
bool bundles_complex(int64_t n);
template <typename R>
bool bundles_real(int64_t n);

// From the loop's first operand to its second. C: complex64 or complex128; R: float or double.
template <typename C>
void bundle_complex(const LaneLoop& loop, int64_t n, bool forward, double scale);
// The half spectrum of n real numbers: an even n by half as many complex ones.
template <typename R>
void bundle_real(const LaneLoop& loop, int64_t n, double scale);
// To n real numbers from a half spectrum, whose first number counts as real, as its last does where
// n is even.
template <typename R>
void bundle_to_real(const LaneLoop& loop, int64_t n, double scale);

}  // namespace tierup::kernels
