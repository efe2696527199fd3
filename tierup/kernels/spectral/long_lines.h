// Fourier transforms of lines that are too long for a cache, as tables of rows and columns that are
// bundled (bundled_lines.h): each column is transformed, turned by powers of the line's root of
// unity, and then each row. Threads share a single line, too.
#pragma once

#include <cstdint>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Whether lines of n numbers of C (complex64 or complex128) are no bundles but such tables.
template <typename C>
bool has_table(int64_t n);

// All lines along dimension d, divided by `scale`. `from` and `to` may be the same tensor. Throws
// kOutOfMemory.
template <typename C>
void transform_by_table(const Tensor& from, const Tensor& to, int64_t d, bool forward,
                        double scale);
// The half spectra, [n / 2 + 1] each, of an even number n of real numbers of which pairs are
// tables; and the way back, by which the first and the last number of a half spectrum count as
// real.
template <typename R>
void transform_real_by_table(const Tensor& from, const Tensor& to, int64_t d, double scale);
template <typename R>
void transform_to_real_by_table(const Tensor& from, const Tensor& to, int64_t d, double scale);

}  // namespace tierup::kernels
