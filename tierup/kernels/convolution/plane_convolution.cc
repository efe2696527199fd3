#include "tierup/kernels/convolution/plane_convolution.h"

#include <algorithm>
#include <numeric>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/kernels/onednn/onednn_engine.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

PlaneKernels plane_kernels() {
  return TIERUP_VARIANT(instruction_set(), plane_kernels_base, plane_kernels_avx2,
                        plane_kernels_avx512)();
}

namespace {

PlanePart whole_plane(const ConvGeometry& g) {
  PlanePart p{};
  p.height = g.in[1];
  p.width = g.in[2];
  p.out_height = g.out[1];
  p.out_width = g.out[2];
  p.kernel_height = g.kernel[1];
  p.kernel_width = g.kernel[2];
  p.stride_y = g.stride[1];
  p.stride_x = g.stride[2];
  p.dilation_y = g.dilation[1];
  p.dilation_x = g.dilation[2];
  p.pad_top = g.padding[1];
  p.pad_left = g.padding[2];
  p.in_channels = g.in_channels / g.groups;
  p.plane_step = p.height * p.width;
  p.rows = g.out_channels / g.groups;
  return p;
}

// How one image's group is cut among threads: first by points, as each cut by output channels
// gathers the same points again; but few points are worth more than reading all weights twice.
struct Cut {
  int64_t rows = 1;
  int64_t points = 1;
};

Cut cut_for(const PlanePart& p, int64_t images, int64_t threads) {
  constexpr int64_t kUnit = 16;          // Points and channels of the widest tile, about.
  constexpr int64_t kUnitsOfThread = 6;  // Fewer would be cut unevenly.
  constexpr int64_t kLeastRows = 16;
  const int64_t units = images * ((p.out_points() + kUnit - 1) / kUnit);
  Cut cut;
  if (images >= 4 * threads) return cut;
  const int64_t wanted = threads / std::gcd(threads, images);
  cut.points = std::clamp<int64_t>(units / kUnitsOfThread / images, 1, wanted);
  cut.points = std::min(cut.points, wanted);
  cut.rows = std::clamp<int64_t>(wanted / cut.points, 1, std::max<int64_t>(1, p.rows / kLeastRows));
  return cut;
}

// Part `index` of `count` of [0, size), of whole units.
int64_t cut_at(int64_t size, int64_t unit, int64_t index, int64_t count) {
  const int64_t units = (size + unit - 1) / unit;
  return std::min(size, units * index / count * unit);
}

struct Data {
  const float* input;
  const float* weight;
  const float* bias;
  float* output;
};

// One output channel of an image, whose planes and weights stand at `channel` of all.
PlanePart part_of(const PlanePart& whole, const Data& data, int64_t input_plane, int64_t channel,
                  int64_t output_plane) {
  PlanePart p = whole;
  p.input = data.input + input_plane * p.height * p.width;
  p.weight = data.weight + channel * p.depth();
  p.bias = data.bias != nullptr ? data.bias + channel : nullptr;
  p.output = data.output + output_plane * p.out_points();
  return p;
}

void convolve_dense(const ConvGeometry& g, const Data& data, const PlaneFinish& finish) {
  const PlanePart whole = whole_plane(g);
  const PlanePartFn run = plane_kernels().dense;
  const int64_t images = g.batch * g.groups;
  const Cut cut = cut_for(whole, images, intra_op_threads());
  const int64_t parts = cut.rows * cut.points;
  constexpr int64_t kRowUnit = 8;
  constexpr int64_t kPointUnit = 16;
  parallel_for(0, images * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t image = index / parts;
      const int64_t row_part = index % parts / cut.points;
      const int64_t point_part = index % cut.points;
      const int64_t first = cut_at(whole.rows, kRowUnit, row_part, cut.rows);
      PlanePart p = part_of(whole, data, image * whole.in_channels,
                            image % g.groups * whole.rows + first, image * whole.rows + first);
      p.rows = cut_at(whole.rows, kRowUnit, row_part + 1, cut.rows) - first;
      p.first_point = cut_at(p.out_points(), kPointUnit, point_part, cut.points);
      p.last_point = cut_at(p.out_points(), kPointUnit, point_part + 1, cut.points);
      run(p);
      const int64_t start = p.output - data.output + p.first_point;
      for (int64_t row = 0; finish && row < p.rows; ++row)
        finish(start + row * p.out_points(), p.last_point - p.first_point);
    }
  });
}

// The depths that the windows of one depth of the result reach over, [first, end) of the kernel's.
struct Depths {
  int64_t first, end;
  int64_t plane;  // Of the input, that the first one reads.
};
Depths depths_of(const ConvGeometry& g, int64_t depth) {
  const int64_t at = depth * g.stride[0] - g.padding[0];
  const int64_t step = g.dilation[0];
  const int64_t first = at < 0 ? std::min((-at + step - 1) / step, g.kernel[0]) : 0;
  const int64_t inside = at < g.in[0] ? (g.in[0] - at + step - 1) / step : 0;
  return {first, std::clamp(inside, first, g.kernel[0]), at + first * step};
}

// Each output channel reads one input channel.
void convolve_single(const ConvGeometry& g, const Data& data, const PlaneFinish& finish) {
  const PlanePart whole = whole_plane(g);
  const PlanePartFn run = plane_kernels().single;
  constexpr int64_t kPoints = 4096;  // Of a part, about.
  const int64_t most = std::clamp<int64_t>(kPoints / whole.out_width, 8, whole.out_height + 8);
  const int64_t parts = (whole.out_height + most - 1) / most;
  const int64_t rows = (whole.out_height + parts - 1) / parts;
  parallel_for(0, g.batch * g.out_channels * g.out[0] * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t plane = index / parts;
      const int64_t channel = plane / g.out[0];
      const Depths depths = depths_of(g, plane % g.out[0]);
      PlanePart p = whole;
      p.in_channels = depths.end - depths.first;
      p.plane_step *= g.dilation[0];
      p.input = data.input + (channel / whole.rows * g.in[0] + depths.plane) * p.height * p.width;
      const int64_t window = channel % g.out_channels * g.kernel[0] + depths.first;
      p.weight = data.weight + window * p.kernel_points();
      p.bias = data.bias != nullptr ? data.bias + channel % g.out_channels : nullptr;
      p.output = data.output + plane * p.out_points();
      p.rows = 1;
      p.first_point = index % parts * rows * p.out_width;
      p.last_point = std::min(p.first_point + rows * p.out_width, p.out_points());
      run(p);
      if (finish) finish(plane * p.out_points() + p.first_point, p.last_point - p.first_point);
    }
  });
}

// Whether rows leave lanes idle that planes would fill, and so many planes stay in the nearest
// cache.
bool are_small(const ConvGeometry& g) {
  const int64_t lanes = plane_kernels().lanes;
  if (g.rank > 2 || g.out_channels != g.groups || g.batch * g.groups < lanes) return false;
  return g.in[2] <= lanes && SmallPlanesRoom(whole_plane(g), lanes).floats() <=
                                 cache_sizes().first_level / int64_t{sizeof(float)};
}

void convolve_small(const ConvGeometry& g, const Data& data, const PlaneFinish& finish) {
  const PlaneKernels kernels = plane_kernels();
  const int64_t planes = g.batch * g.groups;
  const PlanePart whole = part_of(whole_plane(g), data, 0, 0, 0);
  const int64_t groups = (planes + kernels.lanes - 1) / kernels.lanes;
  parallel_for(0, groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * kernels.lanes;
      const int64_t last = std::min(first + kernels.lanes, planes);
      kernels.small(whole, g.groups, first, last);
      if (finish) finish(first * whole.out_points(), (last - first) * whole.out_points());
    }
  });
}

// Fewer output channels of a group than a tile has rows are convolved one by one.
constexpr int64_t kLeastRows = 4;

bool is_single(const ConvGeometry& g) {
  return g.in_channels == g.groups && g.out_channels / g.groups < kLeastRows;
}

}  // namespace

bool can_convolve_planes(const ConvGeometry& g) {
  const bool is_volume = g.in[0] != 1 || g.out[0] != 1 || g.kernel[0] != 1 || g.padding[0] != 0;
  if (g.transposed || (is_volume && !is_single(g))) return false;
  return g.kernel_points() <= kMostKernelPoints &&
         std::min(g.stride[2], (g.kernel[2] - 1) * g.dilation[2] + 1) <= kMostPhases;
}

void convolve_planes(const ConvGeometry& g, const float* input, const float* weight,
                     const float* bias, float* output, const PlaneFinish& finish) {
  const ThreadCountScope threads(threads_worth(g.multiplications(), g.numbers()));
  const WeightReading reading(weight, static_cast<size_t>(g.weights()) * sizeof(float),
                              g.multiplications());
  const Data data{input, weight, bias, output};
  if (!is_single(g)) return convolve_dense(g, data, finish);
  if (are_small(g)) return convolve_small(g, data, finish);
  convolve_single(g, data, finish);
}

bool can_correlate_planes(const ConvGeometry& g) {
  return g.rank <= 2 && g.groups > 1 && g.in_channels == g.groups && can_convolve_planes(g);
}

void correlate_planes(const ConvGeometry& g, const float* input, const float* grad, float* weight) {
  const ThreadCountScope threads(threads_worth(g.multiplications(), g.numbers()));
  const PlanePart whole = whole_plane(g);
  const PlanePartFn run = plane_kernels().correlate_single;
  parallel_for(0, g.out_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) {
      for (int64_t n = 0; n < g.batch; ++n) {
        PlanePart p = whole;
        p.input = input + (n * g.in_channels + channel / whole.rows) * p.height * p.width;
        p.weight = grad + (n * g.out_channels + channel) * p.out_points();
        p.output = weight + channel * p.kernel_points();
        run(p);
      }
    }
  });
}

}  // namespace tierup::kernels
