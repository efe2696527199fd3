// Singular values.
#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/slicing.h"

namespace tierup::kernels {
namespace {

void set_identity(const Tensor& columns) {
  fill(columns, Scalar(0));
  if (columns.numel() > 0) fill(diagonal(columns, 0, -2, -1), Scalar(1));
}

}  // namespace

ThreeTensors svd_full(const Tensor& a, bool full_matrices, bool compute_uv,
                      std::optional<std::string_view> driver) {
  check_matrix(a, "linalg.svd");
  require(!driver, ErrorCode::kInvalidArgument,
          "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
          "cuSOLVER backend.");
  const int m = lapack::checked_size(a.size(-2));
  const int n = lapack::checked_size(a.size(-1));
  const int64_t k = std::min(m, n);
  const IntVector batch = batch_shape(a);
  const Tensor work = column_major(a);
  const Tensor s = Tensor::empty(batch_with(batch, {k}), real_type_of(a.dtype()));
  const Tensor info = Tensor::empty(batch, ScalarType::kInt);
  fill(info, Scalar(0));
  const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
  const int64_t left = full_matrices ? m : k;
  const int64_t right = full_matrices ? n : k;
  const Tensor u = empty_columns(batch, compute_uv ? m : 0, compute_uv ? left : 0, a.dtype());
  const Tensor vh = empty_columns(batch, compute_uv ? right : 0, compute_uv ? n : 0, a.dtype());
  if (k == 0) {
    set_identity(u);
    set_identity(vh);
  } else {
    dispatch_matrix(a.dtype(), "linalg.svd", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_matrix(batch_count(a), int64_t{m} * n, [&](int64_t i) {
        info.data<int32_t>()[i] = lapack::gesdd<T>(job, m, n, work.data<T>() + i * m * n,
                                                   s.data<lapack::Real<T>>() + i * k,
                                                   u.data<T>() + (compute_uv ? i * m * left : 0),
                                                   vh.data<T>() + (compute_uv ? i * right * n : 0));
      });
    });
  }
  check_info(info, "linalg.svd", a.dim() == 2);
  if (!compute_uv) {
    const Tensor none = Tensor::empty(IntVector{0}, a.dtype());
    return {none, s, none};
  }
  return {row_view(u), s, row_view(vh)};
}

ThreeTensors svd(const Tensor& a, bool full_matrices, std::optional<std::string_view> driver) {
  return svd_full(a, full_matrices, true, driver);
}

Tensor svdvals(const Tensor& a, std::optional<std::string_view> driver) {
  return std::get<1>(svd_full(a, false, false, driver));
}

ThreeTensors svd_legacy(const Tensor& self, bool some, bool compute_uv) {
  check_matrix(self, "linalg.svd");
  if (compute_uv) {
    const auto [u, s, vh] = svd_full(self, !some, true, std::nullopt);
    return {u, s, conjugate_transpose(vh)};
  }
  const Tensor s = svdvals(self, std::nullopt);
  const auto zeros = [&](int64_t n) {
    Tensor square = Tensor::empty(batch_with(batch_shape(self), {n, n}), self.dtype());
    fill(square, Scalar(0));
    return square;
  };
  return {zeros(self.size(-2)), s, zeros(self.size(-1))};
}

}  // namespace tierup::kernels
