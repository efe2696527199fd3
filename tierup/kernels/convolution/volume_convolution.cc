#include "tierup/kernels/convolution/volume_convolution.h"

#include <algorithm>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {
namespace {

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
  parallel_for(0, depths * each, grain_of(size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % each / taps;
      const int64_t z = (first + i / each) * g.stride[0] - g.padding[0] + i % taps * g.dilation[0];
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
  parallel_for(0, depths * g.out_channels, grain_of(size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t depth = first + i / g.out_channels;
      const int64_t channel = i % g.out_channels;
      std::copy_n(planes + i * size, size, volume + (channel * g.out[0] + depth) * size);
    }
  });
}

// [out][channel][tap][window] as [out][tap][channel][window].
Tensor weight_by_taps(const ConvGeometry& g, const float* weight) {
  const int64_t taps = g.kernel[0];
  const int64_t window = g.kernel[1] * g.kernel[2];
  Tensor turned = Tensor::empty(IntVector{g.weights()}, ScalarType::kFloat);
  float* to = turned.data<float>();
  for (int64_t o = 0; o < g.out_channels; ++o) {
    const float* from = weight + o * g.in_channels * taps * window;
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t c = 0; c < g.in_channels; ++c, to += window)
        std::copy_n(from + (c * taps + t) * window, window, to);
    }
  }
  return turned;
}

// Results of one depth after the other, in one thread: the planes of the depths that they read
// stand in a row, [depth][channel], where each comes once, and the last ones go to the front when
// the row is full.
class DepthRow {
 public:
  DepthRow(const ConvGeometry& g, const float* input)
      : g_(g),
        input_(input),
        depths_(depths_of(g)),
        planes_(Tensor::empty(IntVector{depths_ * depth_numbers()}, ScalarType::kFloat)) {}

  // The planes that depth `z` of image `n`'s result reads.
  const float* planes(int64_t n, int64_t z) {
    const int64_t first = z * g_.stride[0] - g_.padding[0];
    const int64_t end = first + g_.kernel[0];
    if (n != image_ || first < begin_ || first > begin_ + filled_) {
      image_ = n;
      begin_ = first;
      filled_ = 0;
    }
    if (end - begin_ > depths_) move_to_front(first);
    for (; begin_ + filled_ < end; ++filled_) fill(begin_ + filled_, at(begin_ + filled_));
    return at(first);
  }

 private:
  // Room for some windows, so that few planes move; where they are large, for little more than one.
  static int64_t depths_of(const ConvGeometry& g) {
    const int64_t bytes = g.in_channels * g.in[1] * g.in[2] * static_cast<int64_t>(sizeof(float));
    const int64_t fitting = 2 * cache_sizes().second_level / std::max<int64_t>(bytes, 1);
    return std::clamp(fitting, g.kernel[0] + 1, 3 * g.kernel[0]);
  }

  int64_t plane_numbers() const { return g_.in[1] * g_.in[2]; }
  int64_t depth_numbers() const { return g_.in_channels * plane_numbers(); }
  float* at(int64_t depth) { return planes_.data<float>() + (depth - begin_) * depth_numbers(); }
  void move_to_front(int64_t first) {
    const int64_t kept = begin_ + filled_ - first;
    const float* from = at(first);
    std::copy_n(from, kept * depth_numbers(), planes_.data<float>());
    begin_ = first;
    filled_ = kept;
  }
  void fill(int64_t depth, float* to) const {
    if (depth < 0 || depth >= g_.in[0]) {
      std::fill_n(to, depth_numbers(), 0.0F);
      return;
    }
    const int64_t plane = plane_numbers();
    const float* from = input_ + (image_ * g_.in_channels * g_.in[0] + depth) * plane;
    for (int64_t c = 0; c < g_.in_channels; ++c, from += g_.in[0] * plane, to += plane)
      std::copy_n(from, plane, to);
  }

  const ConvGeometry& g_;
  const float* input_;
  const int64_t depths_;  // That there is room for.
  Tensor planes_;
  int64_t image_ = -1;
  int64_t begin_ = 0;   // The depth that stands first.
  int64_t filled_ = 0;  // Depths that stand there.
};

// Where there are depths enough, each thread does its own. How many threads there are must not
// matter: the order of sums is another one.
bool goes_depth_by_depth(const ConvGeometry& g) {
  constexpr int64_t kFewestDepths = 16;
  return g.groups == 1 && g.dilation[0] == 1 && g.kernel[0] > 1 && g.stride[0] <= g.kernel[0] &&
         g.batch * g.out[0] >= kFewestDepths;
}

void convolve_depths(const ConvGeometry& g, const float* input, const float* weight,
                     const float* bias, float* output) {
  const Tensor by_taps = weight_by_taps(g, weight);
  const ConvGeometry plane = plane_geometry(g, 1);
  const int64_t size = g.out[1] * g.out[2];
  parallel_for(0, g.batch * g.out[0], 1, [&](int64_t begin, int64_t end) {
    DepthRow row(g, input);
    const Tensor results = Tensor::empty(IntVector{g.out_channels * size}, ScalarType::kFloat);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / g.out[0];
      const int64_t z = i % g.out[0];
      convolve_planes(plane, row.planes(n, z), by_taps.data<float>(), bias, results.data<float>());
      scatter_planes(g, results.data<float>(), z, 1, output + n * g.out_channels * g.out_points());
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
  if (goes_depth_by_depth(g)) return convolve_depths(g, input, weight, bias, output);
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
