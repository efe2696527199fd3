#include "tierup/kernels/convolution/volume_convolution.h"

#include <algorithm>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kGrain = 32768;  // Numbers worth a thread.

// One depth of the result as an image, whose channels are planes.
ConvGeometry plane_geometry(const ConvGeometry& g, int64_t depths) {
  ConvGeometry p = g;
  p.rank = 2;
  p.batch = depths;
  p.in_channels = g.in_channels * g.kernel[0];
  p.in[0] = p.out[0] = p.kernel[0] = p.stride[0] = p.dilation[0] = 1;
  p.padding[0] = p.padding_after[0] = 0;
  return p;
}

// Depths `first` and so many more of the result: the planes that each reads, [depth][channel][tap].
void gather_planes(const ConvGeometry& g, const float* volume, int64_t first, int64_t depths,
                   float* planes) {
  const int64_t size = g.in[1] * g.in[2];
  const int64_t taps = g.kernel[0];
  const int64_t each = g.in_channels * taps;
  parallel_for(0, depths * each, std::max<int64_t>(1, kGrain / size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t channel = i % each / taps;
                   const int64_t z =
                       (first + i / each) * g.stride[0] - g.padding[0] + i % taps * g.dilation[0];
                   float* to = planes + i * size;
                   if (z < 0 || z >= g.in[0]) {
                     std::fill_n(to, size, 0.0F);
                   } else {
                     std::copy_n(volume + (channel * g.in[0] + z) * size, size, to);
                   }
                 }
               });
}

// [depth][channel] to the result's [channel][depth].
void scatter_planes(const ConvGeometry& g, const float* planes, int64_t first, int64_t depths,
                    float* volume) {
  const int64_t size = g.out[1] * g.out[2];
  parallel_for(0, depths * g.out_channels, std::max<int64_t>(1, kGrain / size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t depth = first + i / g.out_channels;
                   const int64_t channel = i % g.out_channels;
                   std::copy_n(planes + i * size, size,
                               volume + (channel * g.out[0] + depth) * size);
                 }
               });
}

}  // namespace

bool can_convolve_volumes(const ConvGeometry& g) {
  return g.rank == 3 && !g.transposed && can_convolve_planes(plane_geometry(g, 1));
}

// As many depths at a time as leave planes and results in half of the second-level cache; weights
// have the rest.
void convolve_volumes(const ConvGeometry& g, const float* input, const float* weight,
                      const float* bias, float* output) {
  const WeightReading reading(weight, static_cast<size_t>(g.weights()) * sizeof(float),
                              g.multiplications());
  const int64_t most_numbers = cache_sizes().second_level / 2 / static_cast<int64_t>(sizeof(float));
  const int64_t planes_of_depth = g.in_channels * g.kernel[0] * g.in[1] * g.in[2];
  const int64_t results_of_depth = g.out_channels * g.out[1] * g.out[2];
  const int64_t together = std::clamp<int64_t>(
      most_numbers / std::max<int64_t>(1, planes_of_depth + results_of_depth), 1, g.out[0]);
  const Tensor planes = Tensor::empty(IntVector{together, planes_of_depth}, ScalarType::kFloat);
  const Tensor results = Tensor::empty(IntVector{together, results_of_depth}, ScalarType::kFloat);
  for (int64_t n = 0; n < g.batch; ++n) {
    const float* volume = input + n * g.in_channels * g.in_points();
    for (int64_t first = 0; first < g.out[0]; first += together) {
      const int64_t depths = std::min(together, g.out[0] - first);
      gather_planes(g, volume, first, depths, planes.data<float>());
      convolve_planes(plane_geometry(g, depths), planes.data<float>(), weight, bias,
                      results.data<float>());
      scatter_planes(g, results.data<float>(), first, depths,
                     output + n * g.out_channels * g.out_points());
    }
  }
}

}  // namespace tierup::kernels
