#include "tierup/kernels/net/convolution_forms.h"

#include <algorithm>
#include <utility>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/convolution/volume_convolution.h"

namespace tierup::kernels::net {
namespace {

// Multiplications that take some tenths of a millisecond at least: a hundredth of that is told.
constexpr int64_t kWorkToTry = 25'000'000;
// Numbers that take about as long on their way through memory.
constexpr int64_t kNumbersToTry = 1'000'000;

int64_t parts_to_hold(int64_t count, int64_t each) { return (count + each - 1) / each; }

}  // namespace

ConvGeometry as_planes(ConvGeometry g) {
  const auto is_point = [&](size_t d) {
    return g.kernel[d] == 1 && g.stride[d] == 1 && g.padding[d] == 0 && g.padding_after[d] == 0;
  };
  if (g.rank != 3) return g;
  if (is_point(0)) {
    g.rank = 2;
    g.batch *= g.in[0];
    g.in[0] = g.out[0] = 1;
  } else if (is_point(1) && is_point(2)) {
    g.rank = 2;
    g.in = {1, g.in[0], g.in[1] * g.in[2]};
    g.out = {1, g.out[0], g.out[1] * g.out[2]};
    for (auto* triple : {&g.kernel, &g.stride, &g.dilation, &g.padding, &g.padding_after})
      std::swap((*triple)[0], (*triple)[1]);
  }
  return g;
}

bool has_winograd_windows(const ConvGeometry& g) {
  const ConvGeometry::Triple ones{1, 1, 1};
  return g.kernel == ConvGeometry::Triple{1, 3, 3} && g.stride == ones && g.dilation == ones;
}

Winograd winograd_problem(const ConvGeometry& given, Algorithm algorithm) {
  const ConvGeometry g = as_planes(given);
  return {g.batch,
          g.in[1],
          g.in[2],
          g.in_channels,
          g.out[1],
          g.out[2],
          g.out_channels,
          g.padding[1],
          g.padding[2],
          algorithm == Algorithm::kWinograd2 ? 2 : 4,
          algorithm == Algorithm::kWinogradFew};
}

// A line from top to bottom lies as one from left to right does.
PanelConvolution panel_problem(const ConvGeometry& given) {
  ConvGeometry g = as_planes(given);
  if (g.in[2] == 1 && g.out[2] == 1 && g.kernel[2] == 1) {
    for (auto* triple : {&g.in, &g.out, &g.kernel, &g.stride, &g.dilation, &g.padding})
      std::swap((*triple)[1], (*triple)[2]);
  }
  return {g.batch,     g.in[1],        g.in[2],       g.in_channels, g.out[1],
          g.out[2],    g.out_channels, g.kernel[1],   g.kernel[2],   g.stride[1],
          g.stride[2], g.dilation[1],  g.dilation[2], g.padding[1],  g.padding[2]};
}

PanelConvolution panel_product_problem(int64_t rows, int64_t depth, int64_t columns) {
  return {1, 1, rows, depth, 1, rows, columns, 1, 1, 1, 1, 1, 1, 0, 0};
}

IntVector image_sizes(const ConvGeometry& g, int64_t channels, const ConvGeometry::Triple& points) {
  IntVector sizes{g.batch, channels};
  sizes.insert(sizes.end(), points.end() - g.rank, points.end());
  return sizes;
}

bool gives_few_planes(const ConvGeometry& g) {
  constexpr int64_t kMostResults = 3;
  return g.rank <= 2 && g.groups == 1 && g.out_channels <= kMostResults && g.kernel_points() > 1 &&
         can_convolve_planes(g);
}

std::vector<Algorithm> panels_and_onednn(int64_t out_channels) {
  if (out_channels % kConvolutionChannels == 0) return {Algorithm::kPanels, Algorithm::kOneDnn};
  return {Algorithm::kOneDnn, Algorithm::kPanels};
}

// Winograd's tiles and the panels' blocks go by points.
ConvGeometry part_to_try(ConvGeometry g) {
  // As many rows of a product as any tile has, some times over. Winograd's algorithm makes one of
  // 16 points, and packs its weights four times as large as the window's.
  const int64_t fewest = has_winograd_windows(g) ? 512 : 256;
  // Windows over each channel wait for memory, not for multiplications.
  const int64_t enough = g.groups > 1 ? kNumbersToTry / (g.in_channels + g.out_channels)
                                      : kWorkToTry / std::max<int64_t>(g.weights(), 1);
  const int64_t wanted = std::max(fewest, enough);
  g.batch = std::min(g.batch, parts_to_hold(wanted, g.out_points()));
  const size_t axis = g.out[1] > 1 ? 1 : 2;
  const int64_t rows = parts_to_hold(wanted, g.out_points() / g.out[axis]);
  const int64_t window = g.dilation[axis] * (g.kernel[axis] - 1) + 1;
  const int64_t read = (rows - 1) * g.stride[axis] + window - g.padding[axis];
  if (g.batch > 1 || rows >= g.out[axis] || read < 1 || read > g.in[axis]) return g;
  g.out[axis] = rows;
  g.in[axis] = read;
  g.padding_after[axis] = 0;
  return g;
}

PanelConvolution part_to_try(const PanelConvolution& product) {
  constexpr int64_t kFewestRows = 96;
  constexpr int64_t kFewestColumns = 2 * kConvolutionChannels;
  const int64_t numbers = 2 * cache_sizes().second_level / static_cast<int64_t>(sizeof(float));
  const int64_t fitting = numbers / product.depth() / kConvolutionChannels * kConvolutionChannels;
  const int64_t columns = std::min(std::max(kFewestColumns, fitting), product.out_channels);
  const int64_t rows = std::max(kFewestRows, kWorkToTry / (product.depth() * columns));
  return panel_product_problem(std::min(rows, product.rows()), product.depth(), columns);
}

std::optional<std::vector<StoreStep>> store_steps(const Layer& layer) {
  std::vector<StoreStep> steps;
  for (const Epilogue& e : layer.epilogue) {
    const Activation& a = e.activation;
    if (e.summand >= 0) {
      steps.push_back({StoreStep::Kind::kSum});
    } else if (a.function == Function::kRelu) {
      const auto kind = a.alpha == 0 ? StoreStep::Kind::kRelu : StoreStep::Kind::kLeakyRelu;
      steps.push_back({kind, a.alpha});
    } else if (a.function == Function::kElu) {
      steps.push_back({StoreStep::Kind::kElu, a.alpha});
    } else if (a.function == Function::kTanh) {
      steps.push_back({StoreStep::Kind::kTanh});
    } else if (a.function == Function::kSigmoid) {
      steps.push_back({StoreStep::Kind::kSigmoid});
    } else if (a.function == Function::kClip) {
      steps.push_back({StoreStep::Kind::kClip, a.alpha, a.beta});
    } else if (a.function == Function::kLinear) {
      steps.push_back({StoreStep::Kind::kLinear, a.alpha, a.beta});
    } else if (a.function == Function::kSwish && a.alpha == 1) {
      steps.push_back({StoreStep::Kind::kSwish});
    } else if (a.function == Function::kHardswish) {
      steps.push_back({StoreStep::Kind::kHardswish});
    } else if (a.function == Function::kGeluErf) {
      steps.push_back({StoreStep::Kind::kGeluErf});
    } else if (a.function == Function::kGeluTanh) {
      steps.push_back({StoreStep::Kind::kGeluTanh});
    } else {
      return std::nullopt;
    }
  }
  return steps;
}

bool ends_with_large_swish(const Layer& layer) {
  constexpr int64_t kLarge = 16384;
  return !layer.epilogue.empty() && layer.epilogue.back().summand < 0 &&
         layer.conv.batch * layer.conv.out_channels * layer.conv.out_points() >= kLarge &&
         layer.epilogue.back().activation.function == Function::kSwish &&
         layer.epilogue.back().activation.alpha == 1;
}

Layer without_swish(Layer layer) {
  layer.epilogue.pop_back();
  return layer;
}

bool can_convolve_as_planes(const ConvGeometry& g) {
  return can_convolve_planes(g) || can_convolve_volumes(g);
}

void convolve_as_planes(const ConvGeometry& g, const float* input, const float* weight,
                        const float* bias, float* output, const PlaneFinish& finish) {
  if (can_convolve_planes(g)) return convolve_planes(g, input, weight, bias, output, finish);
  convolve_volumes(g, input, weight, bias, output);
  constexpr int64_t kNumbersOfBlock = 4096;
  const int64_t count = g.batch * g.out_channels * g.out_points();
  parallel_for(0, count, kNumbersOfBlock,
               [&](int64_t begin, int64_t end) { finish(begin, end - begin); });
}

}  // namespace tierup::kernels::net
