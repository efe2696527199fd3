#include "tierup/kernels/reduce/scan_backward.h"

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/lane_loop.h"

namespace tierup::kernels {
namespace {

// One line: `x` and `g`, of which `to` are the gradients; all of `n`.
void product_slopes(const double* x, const double* g, int64_t n, double* to) {
  const int64_t zero = std::find(x, x + n, 0.0) - x;
  double product = 1;
  for (int64_t i = 0; i < zero; ++i) {
    product *= x[i];
    to[i] = product * g[i];
  }
  double sum = 0;
  for (int64_t i = zero - 1; i >= 0; --i) {
    sum += to[i];
    to[i] = sum / x[i];
  }
  if (zero == n) return;
  sum = product * g[zero];
  for (int64_t i = zero + 1; i < n; ++i) {
    product *= x[i];
    sum += product * g[i];
  }
  to[zero] = sum;
  std::fill(to + zero + 1, to + n, 0.0);
}

}  // namespace

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim) {
  require(std::ranges::equal(grad.sizes(), self.sizes()), ErrorCode::kInvalidArgument,
          "cumprod_backward: a gradient of sizes {} does not fit {}", shape_string(grad.sizes()),
          shape_string(self.sizes()));
  const ScalarType work = work_type(self.dtype());
  const Tensor x = to_dtype(self, work);
  const Tensor g = to_dtype(grad, work);
  const Tensor out = Tensor::empty(self.sizes(), work);
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t n = self.dim() == 0 ? 1 : self.sizes()[static_cast<size_t>(d)];
  const LaneLoop loop(self.sizes(), d, {&x, &g, &out});
  dispatch_work(work, "cumprod_backward", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    loop.run_ranges(grain_of(n), [&](const auto& for_each_line) {
      std::vector<double> numbers(static_cast<size_t>(3 * n));
      double* const factors = numbers.data();
      double* const gradients = factors + n;
      double* const slopes = gradients + n;
      for_each_line([&](const LaneLoop::Pointers& line) {
        const auto at = [&](size_t operand, int64_t i) -> T& {
          return *reinterpret_cast<T*>(line[operand] + i * loop.step(operand));
        };
        for (int64_t i = 0; i < n; ++i) {
          factors[i] = static_cast<double>(at(0, i));
          gradients[i] = static_cast<double>(at(1, i));
        }
        product_slopes(factors, gradients, n, slopes);
        for (int64_t i = 0; i < n; ++i) at(2, i) = static_cast<T>(slopes[i]);
      });
    });
  });
  return to_dtype(out, self.dtype());
}

}  // namespace tierup::kernels
