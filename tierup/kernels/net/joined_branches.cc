#include "tierup/kernels/net/joined_branches.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels::net {
namespace {

using Triple = ConvGeometry::Triple;

// Where each tap of the branch's window lies among the convolution's, along one dimension: the
// first one's place, and the step between two.
struct TapPlaces {
  int64_t first = 0;
  int64_t step = 1;
};
std::optional<TapPlaces> places_of_taps(const ConvGeometry& g, size_t d, int64_t kernel,
                                        int64_t dilation, int64_t padding) {
  const int64_t offset = g.padding[d] - padding;
  if (offset < 0 || offset % g.dilation[d] != 0) return std::nullopt;
  if (kernel > 1 && dilation % g.dilation[d] != 0) return std::nullopt;
  const TapPlaces places{offset / g.dilation[d], kernel > 1 ? dilation / g.dilation[d] : 1};
  if (places.first + (kernel - 1) * places.step >= g.kernel[d]) return std::nullopt;
  return places;
}

struct Window {
  Triple kernel{1, 1, 1};
  Triple dilation{1, 1, 1};
  Triple padding{0, 0, 0};
};

std::optional<std::array<TapPlaces, 3>> places_in(const ConvGeometry& g, const Window& branch) {
  std::array<TapPlaces, 3> result;
  for (size_t d = 0; d < 3; ++d) {
    const auto places =
        places_of_taps(g, d, branch.kernel[d], branch.dilation[d], branch.padding[d]);
    if (!places) return std::nullopt;
    result[d] = *places;
  }
  return result;
}

// The index of a tap among the convolution's.
int64_t tap_index(const ConvGeometry& g, const std::array<TapPlaces, 3>& places, const Triple& at) {
  int64_t index = 0;
  for (size_t d = 0; d < 3; ++d)
    index = index * g.kernel[d] + places[d].first + at[d] * places[d].step;
  return index;
}

float factor_of(const Layer& layer, int64_t channel) {
  return layer.scale.empty() ? 1 : layer.scale[static_cast<size_t>(channel)];
}
float summand_of(const Layer& layer, int64_t channel) {
  const float shift = layer.shift.empty() ? 0 : layer.shift[static_cast<size_t>(channel)];
  if (!layer.bias.defined()) return shift;
  const float bias = layer.bias.data<float>()[channel * layer.bias.stride(0)];
  return bias * factor_of(layer, channel) + shift;
}

Tensor dense(const Tensor& weight) { return clone(weight, MemoryFormat::kContiguous); }

void add_convolution(const Layer& branch, const ConvGeometry& g,
                     const std::array<TapPlaces, 3>& places, float* weights) {
  const Tensor weight = dense(branch.weight);
  const auto* from = weight.data<float>();
  const ConvGeometry& b = branch.conv;
  const int64_t inputs = g.in_channels / g.groups;
  for (int64_t row = 0; row < g.out_channels * inputs; ++row) {
    float* to = weights + row * g.kernel_points();
    for (int64_t z = 0; z < b.kernel[0]; ++z) {
      for (int64_t y = 0; y < b.kernel[1]; ++y) {
        for (int64_t x = 0; x < b.kernel[2]; ++x)
          to[tap_index(g, places, {z, y, x})] += *from++ * factor_of(branch, row / inputs);
      }
    }
  }
}

void add_factors(const Layer& branch, const ConvGeometry& g, const std::array<TapPlaces, 3>& places,
                 float* weights) {
  const int64_t inputs = g.in_channels / g.groups;
  const int64_t tap = tap_index(g, places, {0, 0, 0});
  for (int64_t c = 0; c < g.out_channels; ++c)
    weights[(c * inputs + c % inputs) * g.kernel_points() + tap] += factor_of(branch, c);
}

// A sum of weights that is none of floats, or a weight that gets lost, is left to the operators.
bool is_fit(const float* weights, int64_t count) {
  return std::all_of(weights, weights + count, [](float w) { return w == 0 || std::isnormal(w); });
}

}  // namespace

std::optional<Layer> joined_branches(const Layer& convolution, const Layer& branch) {
  const ConvGeometry& g = convolution.conv;
  const bool is_convolution = branch.kind == LayerKind::kConv;
  if (convolution.kind != LayerKind::kConv || g.transposed || !convolution.epilogue.empty() ||
      !branch.epilogue.empty() || convolution.inputs != branch.inputs) {
    return std::nullopt;
  }
  if (is_convolution) {
    const ConvGeometry& b = branch.conv;
    if (b.transposed || b.groups != g.groups || b.stride != g.stride || b.out != g.out ||
        b.out_channels != g.out_channels) {
      return std::nullopt;
    }
  } else if (branch.kind != LayerKind::kAffine || branch.axis != 1 || g.stride != Triple{1, 1, 1} ||
             g.out != g.in || g.in_channels != g.out_channels) {
    return std::nullopt;
  }
  const Window window = is_convolution
                            ? Window{branch.conv.kernel, branch.conv.dilation, branch.conv.padding}
                            : Window{};
  const auto places = places_in(g, window);
  if (!places) return std::nullopt;
  Layer joined = convolution;
  joined.weight = Tensor::empty(convolution.weight.sizes(), ScalarType::kFloat);
  auto* weights = joined.weight.data<float>();
  const Tensor own = dense(convolution.weight);
  const int64_t count = own.numel();
  for (int64_t i = 0; i < count; ++i)
    weights[i] = own.data<float>()[i] * factor_of(convolution, i / (count / g.out_channels));
  if (is_convolution) {
    add_convolution(branch, g, *places, weights);
  } else {
    add_factors(branch, g, *places, weights);
  }
  if (!is_fit(weights, count)) return std::nullopt;
  joined.bias = Tensor::empty(IntVector{g.out_channels}, ScalarType::kFloat);
  for (int64_t c = 0; c < g.out_channels; ++c)
    joined.bias.data<float>()[c] = summand_of(convolution, c) + summand_of(branch, c);
  joined.scale.clear();
  joined.shift.clear();
  return joined;
}

}  // namespace tierup::kernels::net
