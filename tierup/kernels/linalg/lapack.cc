#include "tierup/kernels/linalg/lapack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tierup/kernels/linalg/lapack_library.h"
#include "tierup/kernels/linalg/small_matrices.h"

namespace tierup::kernels::lapack {
namespace {

template <typename T>
inline constexpr bool kComplex = !std::is_same_v<T, Real<T>>;

// Calls a Fortran routine: all arguments by address, then the lengths of the strings.
template <typename T, typename... A>
void call(Routine routine, A... args) {
  auto* const function = reinterpret_cast<void (*)(A...)>(find_routine(routine, kDTypeOf<T>));
  const std::unique_lock<std::mutex> entered = enter_library();
  function(args...);
}

constexpr size_t kOne = 1;  // The length of a one-letter string.

int tight(int rows) { return std::max(rows, 1); }

// The workspace that a query asked for.
template <typename T>
int work_size(const T& answer) {
  return std::max(1, static_cast<int>(std::real(answer)));
}

// The arguments' sizes are right, so LAPACK refuses one for what is in it: some routines look for
// NaN. Everything else is the matrix's business.
int checked(int info) {
  require(info >= 0, ErrorCode::kInvalidArgument,
          "LAPACK refuses argument {}: the input matrix contained non-finite values", -info);
  return info;
}

enum class Numbers : uint8_t { kFinite, kInfinite, kNan };

// The worst of them.
template <typename T>
Numbers kind_of(const T* a, int64_t count) {
  Numbers kind = Numbers::kFinite;
  for (int64_t i = 0; i < count; ++i) {
    const double re = std::real(a[i]);
    const double im = std::imag(a[i]);
    if (std::isfinite(re) && std::isfinite(im)) continue;
    if (std::isnan(re) || std::isnan(im)) return Numbers::kNan;
    kind = Numbers::kInfinite;
  }
  return kind;
}

[[noreturn]] void refuse_non_finite() {
  fail(ErrorCode::kInvalidArgument,
       "The algorithm failed to converge because the input matrix contained non-finite values.");
}

}  // namespace

int checked_size(int64_t size) {
  require(size <= std::numeric_limits<int>::max(), ErrorCode::kInvalidArgument,
          "a matrix of size {} is too large for LAPACK", size);
  return static_cast<int>(size);
}

template <typename T>
int potrf(char uplo, int n, T* a) {
  if (is_small(n)) return factor_small_positive(uplo == 'U', n, a);
  int info = 0;
  const int lda = tight(n);
  call<T>(Routine::kPotrf, &uplo, &n, a, &lda, &info, kOne);
  return checked(info);
}

template <typename T>
int potri(char uplo, int n, T* a) {
  int info = 0;
  const int lda = tight(n);
  call<T>(Routine::kPotri, &uplo, &n, a, &lda, &info, kOne);
  return checked(info);
}

template <typename T>
int potrs(char uplo, int n, int nrhs, const T* a, T* b) {
  int info = 0;
  const int ld = tight(n);
  call<T>(Routine::kPotrs, &uplo, &n, &nrhs, a, &ld, b, &ld, &info, kOne);
  return checked(info);
}

template <typename T>
int getrf(int m, int n, T* a, int* pivots) {
  if (is_small(std::max(m, n))) return factor_small(m, n, a, pivots);
  int info = 0;
  const int lda = tight(m);
  call<T>(Routine::kGetrf, &m, &n, a, &lda, pivots, &info);
  return checked(info);
}

template <typename T>
int getrs(char trans, int n, int nrhs, const T* a, const int* pivots, T* b) {
  if (is_small(n) && trans == 'N') {
    solve_small(n, nrhs, a, pivots, b);
    return 0;
  }
  int info = 0;
  const int ld = tight(n);
  call<T>(Routine::kGetrs, &trans, &n, &nrhs, a, &ld, pivots, b, &ld, &info, kOne);
  return checked(info);
}

template <typename T>
int geqrf(int m, int n, T* a, T* tau) {
  int info = 0;
  const int lda = tight(m);
  int lwork = -1;
  T answer{};
  call<T>(Routine::kGeqrf, &m, &n, a, &lda, tau, &answer, &lwork, &info);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  call<T>(Routine::kGeqrf, &m, &n, a, &lda, tau, work.data(), &lwork, &info);
  return checked(info);
}

template <typename T>
int orgqr(int m, int n, int k, T* a, const T* tau) {
  int info = 0;
  const int lda = tight(m);
  int lwork = -1;
  T answer{};
  call<T>(Routine::kOrgqr, &m, &n, &k, a, &lda, tau, &answer, &lwork, &info);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  call<T>(Routine::kOrgqr, &m, &n, &k, a, &lda, tau, work.data(), &lwork, &info);
  return checked(info);
}

template <typename T>
int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c) {
  int info = 0;
  const int ldc = tight(m);
  int lwork = -1;
  T answer{};
  call<T>(Routine::kOrmqr, &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, &answer, &lwork, &info,
          kOne, kOne);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  call<T>(Routine::kOrmqr, &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work.data(), &lwork,
          &info, kOne, kOne);
  return checked(info);
}

template <typename T>
int gesdd(char job, int m, int n, T* a, Real<T>* s, T* u, T* vt) {
  int info = 0;
  const int k = std::min(m, n);
  const int lda = tight(m);
  const int ldvt = tight(job == 'A' ? n : k);
  const Numbers kind = kind_of(a, int64_t{m} * n);
  if (kind == Numbers::kNan) refuse_non_finite();
  if (kind == Numbers::kInfinite) {  // LAPACK might go on for ever.
    const T nan = std::numeric_limits<Real<T>>::quiet_NaN();
    std::fill_n(s, k, std::real(nan));
    if (job != 'N') std::fill_n(u, int64_t{m} * (job == 'A' ? m : k), nan);
    if (job != 'N') std::fill_n(vt, int64_t{ldvt} * n, nan);
    return 0;
  }
  std::vector<int> iwork(static_cast<size_t>(8 * std::max(k, 1)));
  const auto wide = static_cast<size_t>(std::max(m, n));
  const auto thin = static_cast<size_t>(std::max(k, 1));
  std::vector<Real<T>> rwork(kComplex<T> ? thin * std::max(5 * thin + 7, 2 * wide + 2 * thin + 1)
                                         : 0);
  int lwork = -1;
  T answer{};
  const auto run = [&](T* work) {
    if constexpr (kComplex<T>) {
      call<T>(Routine::kGesdd, &job, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &lwork,
              rwork.data(), iwork.data(), &info, kOne);
    } else {
      call<T>(Routine::kGesdd, &job, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &lwork,
              iwork.data(), &info, kOne);
    }
  };
  run(&answer);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  run(work.data());
  return checked(info);
}

template <typename T>
int heevd(char job, char uplo, int n, T* a, Real<T>* w) {
  int info = 0;
  const int lda = tight(n);
  int lwork = -1;
  int lrwork = -1;
  int liwork = -1;
  T answer{};
  Real<T> real_answer{};
  int int_answer = 0;
  const auto run = [&](T* work, Real<T>* rwork, int* iwork) {
    if constexpr (kComplex<T>) {
      call<T>(Routine::kHeevd, &job, &uplo, &n, a, &lda, w, work, &lwork, rwork, &lrwork, iwork,
              &liwork, &info, kOne, kOne);
    } else {
      call<T>(Routine::kHeevd, &job, &uplo, &n, a, &lda, w, work, &lwork, iwork, &liwork, &info,
              kOne, kOne);
    }
  };
  run(&answer, &real_answer, &int_answer);
  lwork = work_size(answer);
  lrwork = work_size(real_answer);
  liwork = std::max(1, int_answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  std::vector<Real<T>> rwork(static_cast<size_t>(lrwork));
  std::vector<int> iwork(static_cast<size_t>(liwork));
  run(work.data(), rwork.data(), iwork.data());
  return checked(info);
}

template <typename T>
int geev(int n, T* a, T* values, T* imag, T* vectors) {
  int info = 0;
  const char left = 'N';
  const char right = vectors != nullptr ? 'V' : 'N';
  const int ld = tight(n);
  std::vector<Real<T>> rwork(kComplex<T> ? static_cast<size_t>(2 * ld) : 0);
  int lwork = -1;
  T answer{};
  T unused{};
  T* right_vectors = vectors != nullptr ? vectors : &unused;
  const auto run = [&](T* work) {
    if constexpr (kComplex<T>) {
      call<T>(Routine::kGeev, &left, &right, &n, a, &ld, values, &unused, &ld, right_vectors, &ld,
              work, &lwork, rwork.data(), &info, kOne, kOne);
    } else {
      call<T>(Routine::kGeev, &left, &right, &n, a, &ld, values, imag, &unused, &ld, right_vectors,
              &ld, work, &lwork, &info, kOne, kOne);
    }
  };
  run(&answer);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  run(work.data());
  return checked(info);
}

template <typename T>
int sytrf(bool hermitian, int n, T* a, int* pivots) {
  int info = 0;
  const char uplo = 'L';
  const int lda = tight(n);
  const Routine routine = hermitian ? Routine::kHetrf : Routine::kSytrf;
  int lwork = -1;
  T answer{};
  call<T>(routine, &uplo, &n, a, &lda, pivots, &answer, &lwork, &info, kOne);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  call<T>(routine, &uplo, &n, a, &lda, pivots, work.data(), &lwork, &info, kOne);
  return checked(info);
}

template <typename T>
int sytrs(bool hermitian, int n, int nrhs, const T* a, const int* pivots, T* b) {
  int info = 0;
  const char uplo = 'L';
  const int ld = tight(n);
  call<T>(hermitian ? Routine::kHetrs : Routine::kSytrs, &uplo, &n, &nrhs, a, &ld, pivots, b, &ld,
          &info, kOne);
  return checked(info);
}

template <typename T>
int gels(int m, int n, int nrhs, T* a, T* b) {
  int info = 0;
  const char trans = 'N';
  const int lda = tight(m);
  const int ldb = tight(std::max(m, n));
  int lwork = -1;
  T answer{};
  call<T>(Routine::kGels, &trans, &m, &n, &nrhs, a, &lda, b, &ldb, &answer, &lwork, &info, kOne);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  call<T>(Routine::kGels, &trans, &m, &n, &nrhs, a, &lda, b, &ldb, work.data(), &lwork, &info,
          kOne);
  return checked(info);
}

template <typename T>
int gelsy(int m, int n, int nrhs, T* a, T* b, Real<T> rcond, int* rank) {
  int info = 0;
  const int lda = tight(m);
  const int ldb = tight(std::max(m, n));
  std::vector<int> pivots(static_cast<size_t>(tight(n)), 0);
  std::vector<Real<T>> rwork(kComplex<T> ? static_cast<size_t>(2 * tight(n)) : 0);
  int lwork = -1;
  T answer{};
  const auto run = [&](T* work) {
    if constexpr (kComplex<T>) {
      call<T>(Routine::kGelsy, &m, &n, &nrhs, a, &lda, b, &ldb, pivots.data(), &rcond, rank, work,
              &lwork, rwork.data(), &info);
    } else {
      call<T>(Routine::kGelsy, &m, &n, &nrhs, a, &lda, b, &ldb, pivots.data(), &rcond, rank, work,
              &lwork, &info);
    }
  };
  run(&answer);
  lwork = work_size(answer);
  std::vector<T> work(static_cast<size_t>(lwork));
  run(work.data());
  return checked(info);
}

template <typename T>
int gelsd(bool divide, int m, int n, int nrhs, T* a, T* b, Real<T>* s, Real<T> rcond, int* rank) {
  if (kind_of(a, int64_t{m} * n) != Numbers::kFinite) refuse_non_finite();
  int info = 0;
  const int lda = tight(m);
  const int ldb = tight(std::max(m, n));
  int lwork = -1;
  T answer{};
  Real<T> real_answer{};
  int int_answer = 0;
  const auto run = [&](T* work, Real<T>* rwork, int* iwork) {
    if constexpr (kComplex<T>) {
      if (divide) {
        call<T>(Routine::kGelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork,
                rwork, iwork, &info);
      } else {
        call<T>(Routine::kGelss, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork,
                rwork, &info);
      }
    } else if (divide) {
      call<T>(Routine::kGelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork,
              iwork, &info);
    } else {
      call<T>(Routine::kGelss, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork,
              &info);
    }
  };
  run(&answer, &real_answer, &int_answer);
  lwork = work_size(answer);
  const int k = tight(std::min(m, n));
  const int real_size = std::max(work_size(real_answer), 5 * k);
  std::vector<T> work(static_cast<size_t>(lwork));
  std::vector<Real<T>> rwork(static_cast<size_t>(real_size));
  std::vector<int> iwork(static_cast<size_t>(std::max(1, int_answer)));
  run(work.data(), rwork.data(), iwork.data());
  return checked(info);
}

template <typename T>
void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b) {
  const T one(1);
  const int ldb = tight(m);
  call<T>(Routine::kTrsm, &side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, kOne, kOne,
          kOne, kOne);
}

#define TIERUP_LAPACK(T)                                                         \
  template int potrf<T>(char, int, T*);                                          \
  template int potri<T>(char, int, T*);                                          \
  template int potrs<T>(char, int, int, const T*, T*);                           \
  template int getrf<T>(int, int, T*, int*);                                     \
  template int getrs<T>(char, int, int, const T*, const int*, T*);               \
  template int geqrf<T>(int, int, T*, T*);                                       \
  template int orgqr<T>(int, int, int, T*, const T*);                            \
  template int ormqr<T>(char, char, int, int, int, const T*, int, const T*, T*); \
  template int gesdd<T>(char, int, int, T*, Real<T>*, T*, T*);                   \
  template int heevd<T>(char, char, int, T*, Real<T>*);                          \
  template int geev<T>(int, T*, T*, T*, T*);                                     \
  template int sytrf<T>(bool, int, T*, int*);                                    \
  template int sytrs<T>(bool, int, int, const T*, const int*, T*);               \
  template int gels<T>(int, int, int, T*, T*);                                   \
  template int gelsy<T>(int, int, int, T*, T*, Real<T>, int*);                   \
  template int gelsd<T>(bool, int, int, int, T*, T*, Real<T>*, Real<T>, int*);   \
  template void trsm<T>(char, char, char, char, int, int, const T*, int, T*)
TIERUP_LAPACK(float);
TIERUP_LAPACK(double);
TIERUP_LAPACK(complex64);
TIERUP_LAPACK(complex128);
#undef TIERUP_LAPACK

}  // namespace tierup::kernels::lapack
