// Eigenvalues and eigenvectors.
#include <cmath>
#include <vector>

#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

void check_finite(const Tensor& a, std::string_view what) {
  dispatch_matrix(a.dtype(), what, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = a.data<T>();
    for (int64_t i = 0; i < a.numel(); ++i) {
      require(std::isfinite(std::real(p[i])) && std::isfinite(std::imag(p[i])),
              ErrorCode::kInvalidArgument,
              "{}: The input tensor contains infs or NaNs and can't be decomposed", what);
    }
  });
}

// Eigenvalues of one matrix, into complex form; real matrices pack conjugate pairs of vectors.
template <typename T>
int eigen_one(int n, T* a, std::complex<lapack::Real<T>>* values,
              std::complex<lapack::Real<T>>* vectors) {
  using R = lapack::Real<T>;
  if constexpr (!std::is_floating_point_v<T>) {
    return lapack::geev<T>(n, a, values, nullptr, vectors);
  } else {
    const auto size = static_cast<size_t>(n);
    std::vector<R> real(size);
    std::vector<R> imag(size);
    std::vector<R> packed(vectors != nullptr ? size * size : 0);
    const int info = lapack::geev<T>(n, a, real.data(), imag.data(),
                                     vectors != nullptr ? packed.data() : nullptr);
    for (size_t i = 0; i < size; ++i) values[i] = {real[i], imag[i]};
    if (vectors == nullptr) return info;
    for (size_t c = 0; c < size; ++c) {
      const bool pair = imag[c] != 0 && c + 1 < size;
      for (size_t r = 0; r < size; ++r) {
        const R re = packed[c * size + r];
        const R im = pair ? packed[(c + 1) * size + r] : R(0);
        vectors[c * size + r] = {re, im};
        if (pair) vectors[(c + 1) * size + r] = {re, -im};
      }
      c += pair ? 1 : 0;
    }
    return info;
  }
}

TwoTensors eigen(const Tensor& self, bool want_vectors) {
  check_square(self, "linalg.eig");
  const Tensor work = column_major(self);
  check_finite(work, "linalg.eig");
  const ScalarType type = complex_type_of(self.dtype());
  const int n = lapack::checked_size(self.size(-1));
  const Tensor values = Tensor::empty(batch_with(batch_shape(self), {n}), type);
  const Tensor vectors = want_vectors ? empty_columns(batch_shape(self), n, n, type) : Tensor();
  const Tensor info = Tensor::empty(batch_shape(self), ScalarType::kInt);
  fill(info, Scalar(0));
  if (n > 0) {
    dispatch_matrix(self.dtype(), "linalg.eig", [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = std::complex<lapack::Real<T>>;
      for_each_matrix(batch_count(self), int64_t{n} * n, [&](int64_t i) {
        C* own = want_vectors ? vectors.data<C>() + i * n * n : nullptr;
        info.data<int32_t>()[i] =
            eigen_one<T>(n, work.data<T>() + i * n * n, values.data<C>() + i * n, own);
      });
    });
  }
  check_info(info, "torch.linalg.eig", self.dim() == 2);
  return {values, want_vectors ? row_view(vectors) : vectors};
}

}  // namespace

TwoTensors eigh_full(const Tensor& a, std::string_view uplo, bool compute_vectors) {
  check_square(a, "linalg.eigh");
  require(uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u", ErrorCode::kInvalidArgument,
          "Expected UPLO argument to be 'L' or 'U', but got {}", uplo);
  const Tensor vectors = column_major(a);
  const int n = lapack::checked_size(a.size(-1));
  const Tensor values = Tensor::empty(batch_with(batch_shape(a), {n}), real_type_of(a.dtype()));
  const Tensor info = Tensor::empty(batch_shape(a), ScalarType::kInt);
  fill(info, Scalar(0));
  const char triangle = uplo == "U" || uplo == "u" ? 'U' : 'L';
  if (n > 0) {
    dispatch_matrix(a.dtype(), "linalg.eigh", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_matrix(batch_count(a), int64_t{n} * n, [&](int64_t i) {
        info.data<int32_t>()[i] =
            lapack::heevd<T>(compute_vectors ? 'V' : 'N', triangle, n,
                             vectors.data<T>() + i * n * n, values.data<lapack::Real<T>>() + i * n);
      });
    });
  }
  check_info(info, "linalg.eigh", a.dim() == 2);
  return {values, compute_vectors ? row_view(vectors) : Tensor::empty(IntVector{0}, a.dtype())};
}

TwoTensors eigh(const Tensor& a, std::string_view uplo) { return eigh_full(a, uplo, true); }

Tensor eigvalsh(const Tensor& a, std::string_view uplo) {
  return std::get<0>(eigh_full(a, uplo, false));
}

TwoTensors eig(const Tensor& self) { return eigen(self, true); }

Tensor eigvals(const Tensor& self) { return std::get<0>(eigen(self, false)); }

}  // namespace tierup::kernels
