// What LAPACK does with matrices of at most 16 rows and columns, by plain loops: a call of OpenBLAS
// takes as long as some thousand multiplications, and locks those of other threads out while it
// looks for a buffer. Column by column, dense, as LAPACK has them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tierup::kernels::lapack {

inline bool is_small(int side) { return side <= 16; }

namespace detail {

template <typename T>
T conjugate(const T& number) {
  if constexpr (std::is_floating_point_v<T>) {
    return number;
  } else {
    return std::conj(number);
  }
}

// What LAPACK compares pivots by.
template <typename T>
auto pivot_size(const T& number) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(number);
  } else {
    return std::abs(number.real()) + std::abs(number.imag());
  }
}

}  // namespace detail

// getrf: the factors in place of a (m x n); returns 0, or the number of the first pivot that is 0.
template <typename T>
int factor_small(int m, int n, T* a, int* pivots) {
  using detail::pivot_size;
  int info = 0;
  for (int j = 0; j < std::min(m, n); ++j) {
    T* const column = a + int64_t{j} * m;
    int pivot = j;
    for (int i = j + 1; i < m; ++i) {
      if (pivot_size(column[i]) > pivot_size(column[pivot])) pivot = i;
    }
    pivots[j] = pivot + 1;
    if (column[pivot] != T{0}) {
      for (int c = 0; c < n && pivot != j; ++c)
        std::swap(a[int64_t{c} * m + j], a[int64_t{c} * m + pivot]);
      for (int i = j + 1; i < m; ++i) column[i] /= column[j];
    } else if (info == 0) {
      info = j + 1;
    }
    for (int c = j + 1; c < n; ++c) {
      T* const other = a + int64_t{c} * m;
      for (int i = j + 1; i < m; ++i) other[i] -= column[i] * other[j];
    }
  }
  return info;
}

// getrs, not transposed: solutions in place of b (n x nrhs), from what factor_small gave.
template <typename T>
void solve_small(int n, int nrhs, const T* a, const int* pivots, T* b) {
  for (int c = 0; c < nrhs; ++c, b += n) {
    for (int j = 0; j < n; ++j) std::swap(b[j], b[pivots[j] - 1]);
    for (int j = 0; j < n; ++j) {
      for (int i = j + 1; i < n; ++i) b[i] -= a[int64_t{j} * n + i] * b[j];
    }
    for (int j = n - 1; j >= 0; --j) {
      b[j] /= a[int64_t{j} * n + j];
      for (int i = 0; i < j; ++i) b[i] -= a[int64_t{j} * n + i] * b[j];
    }
  }
}

// potrf: the factor in place of a's upper or lower triangle; returns 0, or the number of the first
// row that shows that the matrix is not positive.
template <typename T>
int factor_small_positive(bool upper, int n, T* a) {
  // Of the lower factor; the upper one is its adjoint.
  const auto element = [&](int row, int column) -> T& {
    return upper ? a[int64_t{row} * n + column] : a[int64_t{column} * n + row];
  };
  for (int j = 0; j < n; ++j) {
    auto square = std::real(element(j, j));
    for (int k = 0; k < j; ++k) square -= std::norm(element(j, k));
    element(j, j) = square;
    if (!(square > 0)) return j + 1;
    const auto root = std::sqrt(square);
    element(j, j) = root;
    for (int i = j + 1; i < n; ++i) {
      T sum = element(i, j);
      for (int k = 0; k < j; ++k) {
        // The adjoint's sum is the conjugate of this one.
        sum -= upper ? detail::conjugate(element(j, k)) * element(i, k)
                     : element(i, k) * detail::conjugate(element(j, k));
      }
      element(i, j) = sum / root;
    }
  }
  return 0;
}

}  // namespace tierup::kernels::lapack
