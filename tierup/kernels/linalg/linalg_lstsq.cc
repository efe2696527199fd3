// Least squares.
#include <limits>

#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

struct LeastSquares {
  Tensor work;      // Column-major A, destroyed.
  Tensor solution;  // Column-major B with max(m, n) rows.
  Tensor rank;
  Tensor singular_values;
};

template <typename T>
void solve_least_squares(LeastSquares& data, std::string_view driver, int m, int n, int columns,
                         double rcond, int64_t count) {
  using R = lapack::Real<T>;
  const int64_t rows = std::max(m, n);
  const int64_t k = std::min(m, n);
  for (int64_t i = 0; i < count; ++i) {
    T* a = data.work.data<T>() + i * m * n;
    T* b = data.solution.data<T>() + i * rows * columns;
    int rank = static_cast<int>(k);
    if (driver == "gels") {
      lapack::gels(m, n, columns, a, b);
    } else if (driver == "gelsy") {
      lapack::gelsy<T>(m, n, columns, a, b, static_cast<R>(rcond), &rank);
    } else {
      lapack::gelsd<T>(driver == "gelsd", m, n, columns, a, b,
                       data.singular_values.data<R>() + i * k, static_cast<R>(rcond), &rank);
    }
    if (driver != "gels") data.rank.data<int64_t>()[i] = rank;
  }
}

// Sums of squares of rows n.. of the solution: what is left over where the system has full rank.
Tensor residuals_of(const Tensor& solution, int64_t m, int64_t n, bool has_residuals) {
  const ScalarType real = real_type_of(solution.dtype());
  if (m <= n || !has_residuals) return Tensor::empty(IntVector{0}, real);
  const Tensor rest = narrow(row_view(solution), -2, n, m - n);
  Tensor squares = Tensor::empty(rest.sizes(), real);
  const Tensor source = contiguous(rest);
  dispatch_matrix(solution.dtype(), "linalg.lstsq", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < source.numel(); ++i) {
      squares.data<lapack::Real<T>>()[i] = std::norm(source.data<T>()[i]);
    }
  });
  return sum(squares, IntVector{-2}, false, std::nullopt);
}

}  // namespace

FourTensors lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                  std::optional<std::string_view> driver) {
  check_matrix(a, "torch.linalg.lstsq");
  check_equal_dtypes(a, b, "torch.linalg.lstsq");
  const std::string_view name = driver.value_or("gelsy");
  require(name == "gels" || name == "gelsy" || name == "gelsd" || name == "gelss",
          ErrorCode::kInvalidArgument,
          "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  const bool vector = b.dim() >= 1 && b.dim() == a.dim() - 1 && b.size(-1) == a.size(-2);
  const Tensor side = vector ? unsqueeze(b, -1) : b;
  require(side.dim() >= 2 && side.size(-2) == a.size(-2), ErrorCode::kInvalidArgument,
          "torch.linalg.lstsq: input.size(-2) should match other.size(-2)");
  const auto [wide_b, wide_a] = broadcast_batches(side, a);
  const int m = lapack::checked_size(a.size(-2));
  const int n = lapack::checked_size(a.size(-1));
  const int columns = lapack::checked_size(side.size(-1));
  const IntVector batch = batch_shape(wide_a);
  const bool svd_driver = name == "gelsd" || name == "gelss";
  LeastSquares data{column_major(wide_a), empty_columns(batch, std::max(m, n), columns, a.dtype()),
                    Tensor::empty(name == "gels" ? IntVector{0} : batch, ScalarType::kLong),
                    Tensor::empty(svd_driver ? batch_with(batch, {std::min(m, n)}) : IntVector{0},
                                  real_type_of(a.dtype()))};
  fill(data.solution, Scalar(0));
  copy_into(narrow(data.solution, -1, 0, m), transpose(wide_b, -2, -1));
  const double epsilon = real_type_of(a.dtype()) == ScalarType::kFloat
                             ? std::numeric_limits<float>::epsilon()
                             : std::numeric_limits<double>::epsilon();
  const double threshold = rcond.value_or(epsilon * std::max(m, n));
  if (data.work.numel() > 0 && columns > 0) {
    dispatch_matrix(a.dtype(), "linalg.lstsq", [&](auto tag) {
      using T = typename decltype(tag)::type;
      solve_least_squares<T>(data, name, m, n, columns, threshold, numel_of(batch));
    });
  } else if (data.rank.numel() > 0) {
    fill(data.rank, Scalar(0));
  }
  bool has_residuals = name != "gelsy";  // PyTorch takes none from that one.
  for (int64_t i = 0; name != "gels" && i < data.rank.numel(); ++i) {
    has_residuals = has_residuals && data.rank.data<int64_t>()[i] == n;
  }
  Tensor residuals = residuals_of(data.solution, m, n, has_residuals);
  Tensor x = narrow(row_view(data.solution), -2, 0, n);
  if (vector) x = squeeze_dim(x, -1);
  return {x, residuals, data.rank, data.singular_values};
}

}  // namespace tierup::kernels
