// Products of a matrix that was packed before, panel by panel; see gemm.h.
#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

void turn_lines(int64_t n, int64_t k, const float* lines, int64_t line, float* turned) {
  gemm_block_kernels().turn_f32({n, k, lines, line, turned});
}

int64_t row_panel_count(int64_t n) { return (n + kRowPanel - 1) / kRowPanel; }

void pack_row_panels(const float* b, int64_t row_stride, int64_t col_stride, int64_t k, int64_t n,
                     float* panels) {
  for (int64_t first = 0; first < n; first += kRowPanel) {
    const int64_t count = std::min(kRowPanel, n - first);
    if (row_stride == 1 && count == kRowPanel) {
      turn_lines(count, k, b + first * col_stride, col_stride, panels);
      panels += k * kRowPanel;
      continue;
    }
    for (int64_t p = 0; p < k; ++p, panels += kRowPanel) {
      const float* row = b + p * row_stride + first * col_stride;
      for (int64_t j = 0; j < count; ++j) panels[j] = row[j * col_stride];
      std::fill(panels + count, panels + kRowPanel, 0.0F);
    }
  }
}

void multiply_row_panels(int64_t k, int64_t n, const float* x, const float* panels,
                         const float* bias, float* out) {
  constexpr int64_t kElementsForOne = 65536;  // Fewer are read before another thread has begun.
  const GemmRowFn run = gemm_block_kernels().row_f32;
  const int64_t grain = std::max<int64_t>(1, kElementsForOne / (kRowPanel * k));
  parallel_for(0, row_panel_count(n), grain, [&](int64_t begin, int64_t end) {
    // Another core has just written the row, and read the result: one wait for all lines of them.
    constexpr int64_t kLineFloats = 16;
    for (int64_t p = 0; p < k; p += kLineFloats) __builtin_prefetch(x + p);
    for (int64_t j = begin * kRowPanel; j < std::min(end * kRowPanel, n); j += kLineFloats)
      __builtin_prefetch(out + j, 1);
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kRowPanel;
      run({std::min(kRowPanel, n - first), k, x, panels + first * k, kRowPanel, 1,
           bias == nullptr ? nullptr : bias + first, out + first});
    }
  });
}

void multiply_panels(int64_t m, int64_t k, int64_t n, const float* a, const float* panels,
                     float* out) {
  constexpr int64_t kWorkForOne = 65536;  // Less is done before another thread has begun.
  const GemmPanelFn run = gemm_block_kernels().panel_f32;
  const int64_t grain = std::max<int64_t>(1, kWorkForOne / std::max<int64_t>(kRowPanel * k * m, 1));
  parallel_for(0, row_panel_count(n), grain, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kRowPanel;
      run({m, std::min(kRowPanel, n - first), k, a, k, panels + first * k, out + first, n});
    }
  });
}

}  // namespace tierup::kernels
