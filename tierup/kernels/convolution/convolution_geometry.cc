#include "tierup/kernels/convolution/convolution_geometry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// Spreads one number or `rank` numbers over the last places of a triple.
ConvGeometry::Triple spread(IntSpan values, int rank, int64_t missing, const char* name) {
  if (!(values.size() == 1 || values.size() == static_cast<size_t>(rank))) {
    fail(kBad,
         "expected {} to be a single integer value or a list of {} values to match the convolution "
         "dimensions, but got {}={}",
         name, rank, name, shape_string(values));
  }
  ConvGeometry::Triple result{missing, missing, missing};
  for (int i = 0; i < rank; ++i) {
    result[static_cast<size_t>(3 - rank + i)] =
        values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
  }
  return result;
}

void check_numbers(const ConvGeometry& g) {
  for (size_t d = 0; d < 3; ++d) {
    constexpr int64_t kLimit = int64_t{1} << 31;
    require(g.kernel[d] > 0, kBad, "kernel size should be greater than zero");
    require(g.stride[d] > 0, kBad, "non-positive stride is not supported");
    require(g.dilation[d] > 0, kBad, "dilation should be greater than zero");
    require(g.padding[d] >= 0, kBad, "negative padding is not supported");
    require(g.output_padding[d] >= 0, kBad, "negative output_padding is not supported");
    require(g.stride[d] < kLimit && g.dilation[d] < kLimit && g.padding[d] < kLimit, kBad,
            "convolution: stride, dilation or padding is too large");
    require(g.kernel[d] < kLimit && g.in[d] < (g.transposed ? kLimit : int64_t{1} << 62), kBad,
            "convolution: kernel or input is too large");
    require(!g.transposed || g.output_padding[d] < g.stride[d] ||
                g.output_padding[d] < g.dilation[d] || g.output_padding[d] == 0,
            kBad, "output padding must be smaller than either stride or dilation");
  }
}

int64_t padded_size(const ConvGeometry& g, size_t d) {
  return g.in[d] + g.padding[d] + g.padding_after[d];
}

int64_t kernel_extent(const ConvGeometry& g, size_t d) {
  return g.dilation[d] * (g.kernel[d] - 1) + 1;
}

[[noreturn]] void fail_too_small(const ConvGeometry& g) {
  std::vector<int64_t> input;
  std::vector<int64_t> kernel;
  for (size_t d = 3 - static_cast<size_t>(g.rank); d < 3; ++d) {
    input.push_back(padded_size(g, d));
    kernel.push_back(kernel_extent(g, d));
  }
  fail(kBad,
       "Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel size can't be "
       "greater than actual input size",
       fmt::join(input, " x "), fmt::join(kernel, " x "));
}

void set_output_sizes(ConvGeometry& g) {
  for (size_t d = 0; d < 3; ++d) {
    const int64_t extent = kernel_extent(g, d);
    if (g.transposed) {
      g.out[d] = (g.in[d] - 1) * g.stride[d] - 2 * g.padding[d] + extent + g.output_padding[d];
      require(g.out[d] > 0, kBad, "convolution: calculated output size {} is too small", g.out[d]);
      continue;
    }
    const int64_t padded = padded_size(g, d);
    if (padded < extent) fail_too_small(g);
    g.out[d] = (padded - extent) / g.stride[d] + 1;
  }
}

}  // namespace

ConvGeometry conv_geometry(IntSpan input, IntSpan weight, IntSpan stride, IntSpan padding,
                           IntSpan dilation, bool transposed, IntSpan output_padding,
                           int64_t groups) {
  ConvGeometry g;
  require(weight.size() >= 3 && weight.size() <= 5, kBad,
          "convolution: weight should have at least three dimensions");
  if (input.size() != weight.size()) {
    fail(kBad,
         "Expected {}D (unbatched) or {}D (batched) input to conv{}d, but got input of size: {}",
         weight.size() - 1, weight.size(), weight.size() - 2, shape_string(input));
  }
  require(groups > 0, kBad, "non-positive groups is not supported");
  int64_t grouped_channels = 0;
  require(!__builtin_mul_overflow(weight[1], groups, &grouped_channels), kBad,
          "convolution: {} groups of {} channels are too many", groups, weight[1]);
  g.rank = static_cast<int>(weight.size()) - 2;
  g.transposed = transposed;
  g.groups = groups;
  g.batch = input[0];
  g.in_channels = input[1];
  g.out_channels = transposed ? grouped_channels : weight[0];
  g.stride = spread(stride, g.rank, 1, "stride");
  g.padding = spread(padding, g.rank, 0, "padding");
  g.dilation = spread(dilation, g.rank, 1, "dilation");
  if (transposed) g.output_padding = spread(output_padding, g.rank, 0, "output_padding");
  for (int i = 0; i < g.rank; ++i) {
    g.in[static_cast<size_t>(3 - g.rank + i)] = input[static_cast<size_t>(2 + i)];
    g.kernel[static_cast<size_t>(3 - g.rank + i)] = weight[static_cast<size_t>(2 + i)];
  }
  const int64_t expected = transposed ? weight[0] : grouped_channels;
  if (!(weight[0] >= groups && weight[0] % groups == 0)) {
    fail(kBad,
         "Given groups={}, expected weight to be at least {} at dimension 0 and divisible by it, "
         "but "
         "got weight of size {} instead",
         groups, groups, shape_string(weight));
  }
  if (g.in_channels != expected) {
    fail(kBad,
         "Given {}groups={}, weight of size {}, expected input{} to have {} channels, but got {} "
         "channels instead",
         transposed ? "transposed=1, " : "", groups, shape_string(weight), shape_string(input),
         expected, g.in_channels);
  }
  require(g.out_channels > 0, kBad, "convolution: the weight has no output channels");
  g.padding_after = g.padding;
  check_numbers(g);
  set_output_sizes(g);
  return g;
}

ConvGeometry conv_geometry_same(IntSpan input, IntSpan weight, IntSpan stride, IntSpan dilation,
                                int64_t groups) {
  for (const int64_t step : stride) {
    require(step == 1, kBad, "padding='same' is not supported for strided convolutions");
  }
  // Wide enough for any kernel to pass the size check; the real padding is set below.
  IntVector wide;
  for (size_t d = 2; d < weight.size(); ++d) {
    const int64_t spread =
        dilation[dilation.size() == 1 ? 0 : std::min(d - 2, dilation.size() - 1)];
    constexpr int64_t kMost = int64_t{1} << 30;
    wide.push_back(std::clamp<int64_t>(spread, 1, kMost) * std::min(weight[d], kMost));
  }
  ConvGeometry g = conv_geometry(input, weight, stride, wide, dilation, false, {}, groups);
  for (size_t d = 0; d < 3; ++d) {
    const int64_t total = g.dilation[d] * (g.kernel[d] - 1);
    g.padding[d] = total / 2;
    g.padding_after[d] = total - total / 2;
  }
  set_output_sizes(g);
  return g;
}

}  // namespace tierup::kernels
