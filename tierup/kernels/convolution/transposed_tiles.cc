#include "tierup/kernels/convolution/transposed_tiles.h"

#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {
namespace {

// The results of `channels` channels from `columns`: for each of them and each number of a window,
// those of all points.
void weave_columns(const ConvGeometry& g, int64_t channels, const float* columns, const float* bias,
                   float* output) {
  const auto weave = plane_kernels().weave;
  const int64_t row = g.in[2];
  parallel_for(
      0, channels * g.out[0] * g.out[1], grain_of(g.out[2]), [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          const int64_t y = line % g.out[1];
          const int64_t z = line / g.out[1] % g.out[0];
          const int64_t channel = line / (g.out[1] * g.out[0]);
          const int64_t window =
              (channel * g.kernel[0] + z % g.kernel[0]) * g.kernel[1] + y % g.kernel[1];
          const int64_t point = (z / g.kernel[0] * g.in[1] + y / g.kernel[1]) * row;
          weave(columns + window * g.kernel[2] * g.in_points() + point, g.in_points(), g.kernel[2],
                row, bias != nullptr ? bias[channel] : -0.0F, output + line * g.out[2]);
        }
      });
}

}  // namespace

bool are_transposed_tiles(const ConvGeometry& g) {
  const ConvGeometry::Triple zeros{0, 0, 0};
  return g.transposed && g.kernel == g.stride && g.dilation == ConvGeometry::Triple{1, 1, 1} &&
         g.padding == zeros && g.padding_after == zeros && g.output_padding == zeros;
}

// columns [O k, points] = transposed W [C, O k] times input [C, points].
void convolve_transposed_tiles(const ConvGeometry& g, const float* input, const float* weight,
                               const float* bias, float* output) {
  const int64_t in = g.in_channels / g.groups;
  const int64_t out = g.out_channels / g.groups;
  const int64_t rows = out * g.kernel_points();
  const Tensor columns = Tensor::empty(IntVector{rows, g.in_points()}, ScalarType::kFloat);
  GemmProblem p;
  p.dtype = ScalarType::kFloat;
  p.m = rows;
  p.n = g.in_points();
  p.k = in;
  p.c = columns.raw();
  p.c_row_stride = p.n;
  p.beta = 0;
  for (int64_t image = 0; image < g.batch * g.groups; ++image) {
    const int64_t group = image % g.groups;
    p.a = {weight + group * in * rows, 0, 1, rows};
    p.b = {input + image * in * p.n, 0, p.n, 1};
    gemm(p);
    weave_columns(g, out, columns.data<float>(), bias != nullptr ? bias + group * out : nullptr,
                  output + image * out * g.out_points());
  }
}

}  // namespace tierup::kernels
