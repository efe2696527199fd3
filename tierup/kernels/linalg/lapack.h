// LAPACK through OpenBLAS, loaded when the first operator needs it.
//
// No model that does without linear algebra pays for the library. All routines work on column-major
// matrices, for float, double and both complex types; leading dimensions are tight unless given.
// They return LAPACK's info: 0, or what it says about a singular or indefinite matrix. The library
// runs in the calling thread; batches are spread over threads by the callers.
// Throws kUnsupported where the library is missing.
#pragma once

#include <cstdint>

#include "tierup/tensor/dtype.h"

namespace tierup::kernels::lapack {

template <typename T>
struct RealOf {
  using type = T;
};
template <typename R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <typename T>
using Real = typename RealOf<T>::type;

// Matrix sizes are 32-bit in LAPACK; throws kInvalidArgument for a larger one.
int checked_size(int64_t size);

// Cholesky factor, inverse from it, and solution of A X = B.
template <typename T>
int potrf(char uplo, int n, T* a);
template <typename T>
int potri(char uplo, int n, T* a);
template <typename T>
int potrs(char uplo, int n, int nrhs, const T* a, T* b);
// LU with partial pivoting of an m x n matrix; solution with trans 'N', 'T' or 'C'.
template <typename T>
int getrf(int m, int n, T* a, int* pivots);
template <typename T>
int getrs(char trans, int n, int nrhs, const T* a, const int* pivots, T* b);
// QR by Householder vectors; the product of k of them; Q applied to an m x n matrix c.
template <typename T>
int geqrf(int m, int n, T* a, T* tau);
template <typename T>
int orgqr(int m, int n, int k, T* a, const T* tau);
template <typename T>
int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c);
// Singular values, and vectors: job 'N' none, 'S' thin, 'A' all. Destroys a.
template <typename T>
int gesdd(char job, int m, int n, T* a, Real<T>* s, T* u, T* vt);
// Eigenvalues of a Hermitian matrix; with job 'V' vectors replace a.
template <typename T>
int heevd(char job, char uplo, int n, T* a, Real<T>* w);
// Eigenvalues of a general matrix and, if `vectors` is not null, right eigenvectors (complex for
// complex T; else in LAPACK's packed form). Destroys a. For real T, `imag` takes imaginary parts.
template <typename T>
int geev(int n, T* a, T* values, T* imag, T* vectors);
// Bunch-Kaufman factor of a symmetric or Hermitian matrix (lower triangle), and solution.
template <typename T>
int sytrf(bool hermitian, int n, T* a, int* pivots);
template <typename T>
int sytrs(bool hermitian, int n, int nrhs, const T* a, const int* pivots, T* b);
// Least squares: gels (full rank), gelsy (QR with pivoting), gelsd and gelss (SVD). b has
// max(m, n) rows. `rank` and `s` as the routine gives them.
template <typename T>
int gels(int m, int n, int nrhs, T* a, T* b);
template <typename T>
int gelsy(int m, int n, int nrhs, T* a, T* b, Real<T> rcond, int* rank);
template <typename T>
int gelsd(bool divide, int m, int n, int nrhs, T* a, T* b, Real<T>* s, Real<T> rcond, int* rank);
// BLAS: solves op(A) X = B (side 'L') or X op(A) = B (side 'R') with a triangle, in place of b.
template <typename T>
void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b);

}  // namespace tierup::kernels::lapack
