// Systems with a triangular matrix.
#include "tierup/kernels/gemm/matrix_batch.h"
#include "tierup/kernels/linalg/lapack.h"
#include "tierup/kernels/linalg/linalg_factor.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// op(A) X = B or X op(A) = B; op is 'N', 'T' or 'C'.
Tensor solve_with_triangle(const Tensor& a, const Tensor& b, bool upper, bool left, char op,
                           bool unitriangular) {
  const auto [wide_b, wide_a] = broadcast_batches(b, a);
  const int m = lapack::checked_size(b.size(-2));
  const int n = lapack::checked_size(b.size(-1));
  const int order = lapack::checked_size(a.size(-1));
  const Tensor solution = column_major(wide_b);
  const Tensor triangle = column_major(wide_a);
  if (solution.numel() == 0) return row_view(solution);
  dispatch_matrix(b.dtype(), "linalg.solve_triangular", [&, wide_b = wide_b](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(wide_b), int64_t{m} * n, [&](int64_t i) {
      lapack::trsm<T>(left ? 'L' : 'R', upper ? 'U' : 'L', op, unitriangular ? 'U' : 'N', m, n,
                      triangle.data<T>() + i * order * order, order,
                      solution.data<T>() + i * int64_t{m} * n);
    });
  });
  return row_view(solution);
}

void check_sides(const Tensor& a, const Tensor& b, bool left, std::string_view what) {
  check_square(a, what);
  check_equal_dtypes(a, b, what);
  if (!(b.dim() >= 2 && b.size(left ? -2 : -1) == a.size(-1))) {
    fail(ErrorCode::kInvalidArgument,
         "{}: Incompatible shapes of A and B for the equation {} ({} and {})", what,
         left ? "AX = B" : "XA = B", shape_string(a.sizes()), shape_string(b.sizes()));
  }
}

}  // namespace

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                        bool unitriangular) {
  check_sides(a, b, left, "linalg.solve_triangular");
  return solve_with_triangle(a, b, upper, left, 'N', unitriangular);
}

TwoTensors triangular_solve(const Tensor& b, const Tensor& a, bool upper, bool transpose,
                            bool unitriangular) {
  check_sides(a, b, true, "triangular_solve");
  const Tensor x = solve_with_triangle(a, b, upper, true, transpose ? 'T' : 'N', unitriangular);
  return {x, clone(std::get<0>(broadcast_batches(a, b)))};
}

}  // namespace tierup::kernels
