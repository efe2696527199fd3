#include "tierup/kernels/net/convolution_forms.h"

namespace tierup::kernels::net {

Winograd winograd_problem(const ConvGeometry& g, Algorithm algorithm) {
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

PanelConvolution panel_problem(const ConvGeometry& g) {
  return {g.batch,     g.in[1],        g.in[2],       g.in_channels, g.out[1],
          g.out[2],    g.out_channels, g.kernel[1],   g.kernel[2],   g.stride[1],
          g.stride[2], g.dilation[1],  g.dilation[2], g.padding[1],  g.padding[2]};
}

PanelConvolution panel_product_problem(int64_t rows, int64_t depth, int64_t columns) {
  return {1, 1, rows, depth, 1, rows, columns, 1, 1, 1, 1, 1, 1, 0, 0};
}

std::vector<Algorithm> panels_and_onednn(int64_t out_channels) {
  if (out_channels % kConvolutionChannels == 0) return {Algorithm::kPanels, Algorithm::kOneDnn};
  return {Algorithm::kOneDnn, Algorithm::kPanels};
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

}  // namespace tierup::kernels::net
